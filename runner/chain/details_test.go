package chain

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/call"
)

// TestDetails: they have no personal data, and a bounded size, and belong to the calls that have them.
func TestDetails(t *testing.T) {
	up := answerer(func(_ context.Context, tool string, args json.RawMessage, _ *upstream.CallOptions) (*upstream.CallResult, error) {
		if strings.Contains(string(args), "fail") {
			return &upstream.CallResult{Content: []json.RawMessage{json.RawMessage(`{"type":"text","text":"no jane.doe@example.com"}`)}, IsError: true}, nil
		}
		return structured(`{"to":"jane.doe@example.com","text":"` + strings.Repeat("x", 2*maxDetail) + `"}`), nil
	})
	w := newTestCalls(t, up, nil, Settings{Details: true}, "")
	w.details.script, w.details.lines = "s.ts", []string{"first", `  put({ mail: "jane.doe@example.com" });`}
	for _, c := range []struct{ tool, args, at string }{
		{"crm__put", `{"mail":"jane.doe@example.com"}`, "s.ts:2"},
		{"crm__put", `{"fail":true}`, "helper.ts:2"},
		{"crm__none", `{}`, "s.ts:99"},
	} {
		_, _ = w.handler(t.Context(), &call.Request{Tool: c.tool, Args: json.RawMessage(c.args), At: c.at})
	}
	calls := w.Finish().Calls
	if len(calls) != 3 {
		t.Fatalf("%d calls, want 3", len(calls))
	}
	put, fail, none := calls[0].Details, calls[1].Details, calls[2].Details
	if put.At != "s.ts:2" || put.Line != `put({ mail: "[EMAIL_1]" });` || put.Arguments != `{"mail":"[EMAIL_1]"}` || !strings.HasPrefix(put.Result, `{"to":"[EMAIL_1]"`) || len(put.Result) > maxDetail+len("…") {
		t.Errorf("details of put: %+v", put)
	}
	if fail.At != "helper.ts:2" || fail.Line != "" || fail.Result != "" || fail.Error != "no [EMAIL_1]" {
		t.Errorf("details of a failed call: %+v", fail)
	}
	if none.Line != "" || none.Arguments != "{}" || none.Error == "" {
		t.Errorf("details of an unknown tool: %+v", none)
	}
	if text, err := json.Marshal(calls); err != nil || strings.Contains(string(text), "EMAIL_1") {
		t.Errorf("details are in the JSON: %s, %v", text, err)
	}

	w.details.kept = maxDetails
	_, _ = w.handler(t.Context(), &call.Request{Tool: "crm__put", Args: json.RawMessage(`{}`), At: "s.ts:1"})
	if calls := w.Finish().Calls; calls[3].Details.Arguments != "" || calls[3].Details.Line != "first" {
		t.Errorf("details beyond the bound: %+v", calls[3].Details)
	}
}

// TestNoDetails: nothing is kept unless it is asked for.
func TestNoDetails(t *testing.T) {
	w := newTestCalls(t, always(`{"n":1}`), nil, Settings{}, "")
	w.do(t.Context(), "crm__get", `{}`)
	if calls := w.Finish().Calls; calls[0].Details != nil {
		t.Errorf("Details = %+v, want nil", calls[0].Details)
	}
}
