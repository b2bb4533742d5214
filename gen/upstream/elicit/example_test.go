package elicit_test

import (
	"encoding/json"
	"fmt"

	"github.com/mcpgen/mcpgen/gen/upstream/elicit"
)

func ExampleQuestion_Check() {
	q, err := elicit.Parse("tickets", json.RawMessage(`{"message":"How urgent?","requestedSchema":
		{"type":"object","required":["level"],"properties":{"level":{"type":"integer","minimum":1,"maximum":3}}}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _, err = q.Check(json.RawMessage(`{"level":5}`))
	fmt.Println(err)
	// Output: "level" must be at most 3
}
