package learn

import (
	"encoding/json"
	"testing"
)

func TestInferUnseen(t *testing.T) {
	for reply, want := range map[string]string{
		`{"anna":3,"bob":5}`:                    `{"type":"object","additionalProperties":{"type":"integer"}}`,
		`{"total":2,"users":{"anna":{"id":1}}}`: `{"type":"object","properties":{"total":{"type":"integer"},"users":{"type":"object","additionalProperties":{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}}},"required":["total","users"]}`,
		`{"id":1,"title":"x","zorp":true}`:      `{"type":"object","properties":{"id":{"type":"integer"},"title":{"type":"string"},"zorp":{"type":"boolean"}},"required":["id","title","zorp"]}`,
		`{"gribble":1}`:                         `{"type":"object","properties":{"gribble":{"type":"integer"}},"required":["gribble"]}`,
		`{}`:                                    `{"type":"object"}`,
	} {
		got, err := InferUnseen([]Reply{{Value: json.RawMessage(reply)}}, nil, map[string]bool{"gribble": true})
		if err != nil || string(got) != want {
			t.Errorf("%s: got %s %v\nwant %s", reply, got, err, want)
		}
	}
}
