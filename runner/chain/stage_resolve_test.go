package chain

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/runner/call"
)

// TestManyUnknownTools: to find names that are alike takes long among thousands, so that a script does not get them for
// any number of calls.
func TestManyUnknownTools(t *testing.T) {
	server, _ := catalog.NewServer("drive", "", "", []json.RawMessage{json.RawMessage(`{"name":"get_document","inputSchema":{"type":"object"}}`)})
	known, err := catalog.New([]catalog.Server{server})
	if err != nil {
		t.Fatal(err)
	}
	resolve := (&Calls{chain: &Chain{catalog: known}}).resolve(nil)
	for i := range maxExplained + 1 {
		_, err := resolve(t.Context(), &request{Request: call.Request{Tool: "drive__get_documnt"}})
		var e *call.Error
		if !errors.As(err, &e) || e.Kind != call.KindArgument || !strings.Contains(e.Message, `unknown tool "drive__get_documnt"`) {
			t.Fatal(err)
		}
		if explained := strings.Contains(e.Message, "did you mean drive__get_document?"); explained != (i < maxExplained) {
			t.Fatalf("call %d: %s", i+1, e.Message)
		}
	}
}
