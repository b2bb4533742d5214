package record_test

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/record"
)

// A call is recorded, and a later run gets its answer from the recording.
func Example() {
	var file bytes.Buffer
	w, err := record.NewWriter(&file, record.Mask{})
	if err != nil {
		fmt.Println(err)
		return
	}
	args := json.RawMessage(`{"id":1}`)
	if err := w.Write(record.Entry{Call: 1, Tool: "crm__get", Args: args, Value: json.RawMessage(`{"name":"Bern"}`)}); err != nil {
		fmt.Println(err)
		return
	}

	player, err := record.Read(&file, false, record.Mask{})
	if err != nil {
		fmt.Println(err)
		return
	}
	entry, err := player.Answer(&call.Request{Tool: "crm__get", Args: args}, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(entry.Value))
	// Output: {"name":"Bern"}
}
