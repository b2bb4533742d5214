package form_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mcpgen/mcpgen/runner/form"
)

func ExampleForm_Fill() {
	dir, err := os.MkdirTemp("", "forms")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	err = os.WriteFile(filepath.Join(dir, "lead.yaml"), []byte(`
schema:
  type: object
  required: [name, due]
  properties:
    name: {type: string}
    due: {type: string, format: date}
    seats: {type: integer}
map:
  name: [Full name, contact.name]
submit: {tool: crm__create_lead}
`), 0o600)
	if err != nil {
		panic(err)
	}
	f, err := form.NewFolder(dir).Read("lead")
	if err != nil {
		panic(err)
	}
	x, err := f.Fill(json.RawMessage(`{"Full name": " Ann Lee ", "Due": "soon", "seats": "42"}`), nil)
	fmt.Println(string(x.Values()), x.Problems[0].Message, x.Missing, err)
	// Output: {"name":"Ann Lee","due":"soon","seats":42} due: expected a text of the format date, got string "soon" [] <nil>
}
