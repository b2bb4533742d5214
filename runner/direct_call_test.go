package runner_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/chain"
)

func TestDirectCall(t *testing.T) {
	raw := json.RawMessage(`{"content":[{"type":"text","text":"3"}],"structuredContent":{"result":9007199254740993}}`)
	up := &fakeUpstreams{answers: map[string]*upstream.CallResult{"calculator/add": {Raw: raw}}}
	r := newRunner(t, up)
	res, rec, _, err := r.Call(t.Context(), runner.DirectCall{Tool: "calculator__add", Args: json.RawMessage(`{"numbers":[1,2]}`), Calls: chain.Settings{AllowDrift: true}})
	if err != nil {
		t.Fatal(err)
	}
	if string(res.Raw) != string(raw) || rec.Outcome != chain.OutcomeOK || rec.Tool != "calculator__add" {
		t.Errorf("result %s, record %+v", res.Raw, rec)
	}
	if len(up.seen) != 1 {
		t.Errorf("seen %q", up.seen)
	}
}

func TestDirectCallIsChecked(t *testing.T) {
	up := &fakeUpstreams{}
	r := newRunner(t, up)
	for tool, want := range map[string]string{"calculator__ad": "calculator__add", "calculator__add": "nombers"} {
		_, rec, _, err := r.Call(t.Context(), runner.DirectCall{Tool: tool, Args: json.RawMessage(`{"nombers":[1]}`)})
		var bad *call.Error
		if !errors.As(err, &bad) || bad.Kind != call.KindArgument || !strings.Contains(bad.Message, want) || rec.Outcome != string(call.KindArgument) {
			t.Errorf("%s: %v, record %+v", tool, err, rec)
		}
	}
	if !slices.Equal(up.seen, nil) {
		t.Errorf("sent %q", up.seen)
	}
}
