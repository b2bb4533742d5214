package learn

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestInferUnseen(t *testing.T) {
	for reply, want := range map[string]string{
		`{"anna":3,"bob":5}`:                      `{"type":"object","additionalProperties":{"type":"integer"}}`,
		`{"total":2,"users":{"anna":{"id":1}}}`:   `{"type":"object","properties":{"total":{"type":"integer"},"users":{"type":"object","additionalProperties":{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}}},"required":["total","users"]}`,
		`{"id":1,"title":"x","zorp":true}`:        `{"type":"object","additionalProperties":{"type":"boolean"},"properties":{"id":{"type":"integer"},"title":{"type":"string"}},"required":["id","title"]}`,
		`{"total":2,"active":1,"anna":3,"bob":5}`: `{"type":"object","additionalProperties":{"type":"integer"},"properties":{"total":{"type":"integer"},"active":{"type":"integer"}},"required":["total","active"]}`,
		`{"gribble":1}`:                           `{"type":"object","properties":{"gribble":{"type":"integer"}},"required":["gribble"]}`,
		`{}`:                                      `{"type":"object"}`,
	} {
		got, err := InferUnseen([]Reply{{Value: json.RawMessage(reply)}}, nil, map[string]bool{"gribble": true})
		if err != nil || string(got) != want {
			t.Errorf("%s: got %s %v\nwant %s", reply, got, err, want)
		}
	}
}

// A secret that is the name of a member stays out, whatever it looks like.
func TestInferUnseenKeepsNoSecret(t *testing.T) {
	for i, secret := range secrets(2000) {
		next := func() string { return secret }
		got, err := InferUnseen([]Reply{{Value: json.RawMessage(plant(i, secret, next))}}, nil, nil)
		if err != nil || strings.Contains(string(got), secret) {
			t.Errorf("%q is in %s (%v)", secret, got, err)
		}
	}
}
