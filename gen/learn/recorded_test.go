package learn

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRecorded(t *testing.T) {
	var replies []json.RawMessage
	for _, line := range []string{
		`{"a":0}`,
		`{"mcprun":"recording","version":1}`,
		`{"call":1,"tool":"s__get","args":{},"ms":1,"value":{"a":1,"content":[]}}`,
		`{"call":2,"tool":"s__get","args":{},"ms":1,"value":"{\"a\":2}"}`,
		`{"call":3,"tool":"s__put","args":{},"ms":1,"value":{"b":1}}`,
		`{"call":4,"tool":"s__get","args":{},"ms":1,"raw":true,"value":{"content":[],"structuredContent":{"a":3}}}`,
		`{"call":5,"tool":"s__get","args":{},"ms":1,"value":[{"type":"text","text":"x"},{"type":"text","text":"y"}],"as":"content"}`,
		`{"call":6,"tool":"s__get","args":{},"ms":1,"error":{"kind":"tool","message":"no"}}`,
		`{"call":7,"tool":"s__get","args":{},"ms":1,"error":{"kind":"timeout","message":"no"}}`,
		`{"a":8}`,
	} {
		replies = append(replies, json.RawMessage(line))
	}
	out, seen := Recorded(replies, "s__get")
	var got []string
	for _, raw := range out {
		r, err := ReadReply(raw)
		if err != nil {
			got = append(got, err.Error())
			continue
		}
		got = append(got, string(r.Value))
	}
	want := []string{`{"a":0}`, `{"a":1,"content":[]}`, `{"a":2}`, `{"a":3}`, `[{"type":"text","text":"x"},{"type":"text","text":"y"}]`, ErrFailed.Error(), `{"a":8}`}
	if diff := cmp.Diff(want, got); diff != "" || !seen {
		t.Errorf("seen %v (-want +got):\n%s", seen, diff)
	}
	if out, seen := Recorded(replies[:1], "s__get"); seen || len(out) != 1 {
		t.Errorf("%s %v", out, seen)
	}
}
