package chain

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/script"
)

// library is a server with resources and prompts.
type library struct{ answerer }

func (library) ListResources(context.Context, string) ([]json.RawMessage, error) {
	return []json.RawMessage{json.RawMessage(`{"uri":"a"}`), json.RawMessage(`{"uri":"b"}`)}, nil
}
func (library) ListResourceTemplates(context.Context, string) ([]json.RawMessage, error) {
	return nil, nil
}
func (library) ReadResource(_ context.Context, server, uri string, _ *upstream.CallOptions) (json.RawMessage, error) {
	return json.RawMessage(`{"contents":[{"uri":"` + uri + `","text":"` + server + `"}]}`), nil
}
func (library) ListPrompts(context.Context, string) ([]json.RawMessage, error) {
	return nil, &upstream.ProtocolError{Code: codeMethodNotFound, Message: "Method not found"}
}
func (library) GetPrompt(_ context.Context, _, name string, args map[string]string, _ *upstream.CallOptions) (json.RawMessage, error) {
	return json.Marshal(map[string]any{"messages": []string{name, args["a"]}})
}

func TestRequests(t *testing.T) {
	w := newTestCalls(t, library{}, nil, Settings{}, "")
	w.run.Import = func(_ context.Context, specifier, from string) (string, string, error) {
		if specifier == "bad" {
			return "", "", &script.Error{Problems: []script.Problem{{Text: "no such module"}}}
		}
		return "id-" + specifier, from, nil
	}
	answer := w.Answerer()
	for _, c := range []struct{ method, params, want string }{
		{"resources/list", `{"server":"crm"}`, `[{"uri":"a"},{"uri":"b"}]`},
		{"resources/templates", `{"server":"crm"}`, `[]`},
		{"resources/read", `{"server":"crm","uri":"x"}`, `{"contents":[{"uri":"x","text":"crm"}]}`},
		{"resources/read", `{"server":"crm"}`, "argument: resources/read: a resource's uri must be 1 to"},
		{"resources/read", `{"server":"crn","uri":"x"}`, `argument: no server "crn" in the tree; did you mean crm?`},
		{"resources/read", `{"server":["crm"]}`, "argument: resources/read: server is array; it must be a string"},
		{"prompts/list", `{"server":"crm"}`, "protocol: the server has no prompts"},
		{"prompts/get", `{"server":"crm","name":"p","arguments":{"a":"1"}}`, `{"messages":["p","1"]}`},
		{"prompts/get", `{"server":"crm","name":"p","arguments":{"a":1}}`, "argument: prompts/get: arguments.a is 1; it must be a string"},
		{"prompts/get", `{"server":"crm"}`, "argument: prompts/get: the prompt's name"},
		{"import", `{"specifier":"s","from":"f"}`, `{"code":"f","id":"id-s"}`},
		{"import", `{"specifier":"bad","from":"f"}`, `argument: no such module`},
		{"import", `{"specifier":1}`, `argument: import: the parameters`},
		{"tools/list", `{}`, `argument: unknown method "tools/list"`},
	} {
		value, err := answer(t.Context(), &call.Ask{Method: c.method, Params: json.RawMessage(c.params)})
		wants(t, outcomeOf(&call.Result{Value: value}, err), c.want)
	}
	list, total := w.Finish().Calls, w.Finish().Count
	if total != 5 || list[0].Tool != "crm__resources/list" || list[3].Outcome != "protocol" {
		t.Errorf(`%d: %+v, want 5, Tool "crm__resources/list" and Outcome "protocol"`, total, list)
	}
}
