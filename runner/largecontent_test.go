package runner

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/call"
)

// TestLargeContent: of a large answer that lies in a file the guest is told whether it holds content.
func TestLargeContent(t *testing.T) {
	block := json.RawMessage(`{"type":"image","data":"` + strings.Repeat("QUJD", 100) + `"}`)
	whole := json.RawMessage(`{"content":[` + string(block) + `]}`)
	for _, c := range []struct {
		res  *upstream.CallResult
		raw  bool
		want bool
	}{
		{&upstream.CallResult{Content: []json.RawMessage{block}, Raw: whole}, false, true},
		{&upstream.CallResult{Content: []json.RawMessage{block}, Raw: whole}, true, true},
		{&upstream.CallResult{Structured: block, Raw: whole}, false, false},
	} {
		up := answerer(func(context.Context, string, json.RawMessage, *upstream.CallOptions) (*upstream.CallResult, error) {
			return c.res, nil
		})
		w := newWay(t, up, nil, CallSettings{MaxResult: 100}, t.TempDir())
		res, err := w.handler(t.Context(), &call.Request{Tool: "crm__put", Args: json.RawMessage(`{}`), Raw: c.raw})
		if err != nil {
			t.Fatal(err)
		}
		var h handle
		if err := json.Unmarshal(res.Value, &h); err != nil || res.As != call.AsHandle || h.Content != c.want {
			t.Errorf("%+v: as %q %s", c, res.As, res.Value)
		}
	}
}
