package render_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/render"
	"github.com/mcpgen/mcpgen/gen/schema"
)

// TestClosedInputs checks that misspelt properties are errors, and that objects whose schemas allow other properties accept them.
func TestClosedInputs(t *testing.T) {
	tool := render.Tool{ID: "s__t", Name: "t"}
	tool.Input, _ = schema.Convert(json.RawMessage(`{"type": "object", "properties": {
		"a": {"type": "string"}, "inner": {"type": "object", "properties": {"b": {"type": "string"}}},
		"data": {"type": "object"}, "open": {"type": "object", "properties": {"c": {"type": "string"}}, "additionalProperties": true}}}`))
	output, _ := schema.Convert(json.RawMessage(`{"type": "object", "properties": {"d": {"type": "string"}}, "additionalProperties": true}`))
	tool.Output = &output
	for closed, want := range map[bool][2]string{
		false: {`inner?: { b?: string; [key: string]: unknown } data?: Record<string, unknown> ` +
			`open?: { c?: string; [key: string]: unknown } [key: string]: unknown }`, "**extra: Any"},
		true: {`inner?: { b?: string } data?: Record<string, unknown> ` +
			`open?: { c?: string; [key: string]: unknown } }`, "open: TOpen | Extra | None = ...,\n) ->"},
	} {
		result, err := render.Render([]render.Server{{Key: "s", Dir: "s", Tools: []render.Tool{tool}, ClosedInputs: closed}}, languages())
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(strings.Fields(string(result.Tree["s/t.ts"])), " "); !strings.Contains(got, want[0]) || !strings.Contains(got, "[key: string]: unknown };") {
			t.Errorf("closed %t: got\n%s\nwant\n%s", closed, got, want[0])
		}
		if got := string(result.Tree["s/t.py"]); !strings.Contains(got, want[1]) {
			t.Errorf("closed %t: got\n%s\nwant\n%s", closed, got, want[1])
		}
	}
}
