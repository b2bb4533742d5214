package learn

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func infer(t *testing.T, replies ...string) string {
	t.Helper()
	var values []Reply
	for _, r := range replies {
		values = append(values, Reply{Value: json.RawMessage(r)})
	}
	out, err := Infer(values, nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestInfer(t *testing.T) {
	tests := []struct {
		name    string
		replies []string
		want    string
	}{
		{"always seen", []string{`{"b":1,"a":"x"}`, `{"a":"y","b":2}`}, `{"type":"object","properties":{"b":{"type":"integer"},"a":{"type":"string"}},"required":["b","a"]}`},
		{"not always seen", []string{`{"a":1}`, `{}`}, `{"type":"object","properties":{"a":{"type":"integer"}}}`},
		{"added later", []string{`{"a":1}`, `{"a":1,"b":null}`}, `{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"null"}},"required":["a"]}`},
		{"kinds join", []string{`{"a":1}`, `{"a":null}`, `{"a":1.5}`, `{"a":"x"}`}, `{"type":"object","properties":{"a":{"type":["string","number","null"]}},"required":["a"]}`},
		{"list", []string{`[{"a":1},{"b":2}]`}, `{"type":"array","items":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}}}}`},
		{"empty list", []string{`[]`}, `{"type":"array"}`},
		{"empty list, then one", []string{`[]`, `[1]`}, `{"type":"array","items":{"type":"integer"}}`},
		{"empty object", []string{`{}`}, `{"type":"object"}`},
		{"text", []string{`"x"`}, `{"type":"string"}`},
		{"object or nothing", []string{`{"a":true}`, `null`}, `{"type":["object","null"],"properties":{"a":{"type":"boolean"}},"required":["a"]}`},
		{"same name twice", []string{`{"a":1,"a":"x"}`}, `{"type":"object","properties":{"a":{"type":["string","integer"]}},"required":["a"]}`},
		{"addresses are data", []string{`{"ada@example.org":{"n":1},"bob@example.org":{"n":2}}`}, `{"type":"object","additionalProperties":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}`},
		{"ids are data", []string{`{"4ac0b1f2-1234-4abc-8def-0123456789ab":1}`}, `{"type":"object","additionalProperties":{"type":"integer"}}`},
		{"dates are data", []string{`{"2026-11-21":1.5}`}, `{"type":"object","additionalProperties":{"type":"number"}}`},
		{"numbered names are data", []string{`{"item_01":1,"item_02":2}`}, `{"type":"object","additionalProperties":{"type":"integer"}}`},
		{"a digest is a property", []string{`{"sha256":"x","size":1}`}, `{"type":"object","properties":{"sha256":{"type":"string"},"size":{"type":"integer"}},"required":["sha256","size"]}`},
		{"a map and an object", []string{`{"1":"x"}`, `{"a":1}`}, `{"type":"object","additionalProperties":{"type":["string","integer"]}}`},
		{"large integers", []string{`9007199254740993`}, `{"type":"integer"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := infer(t, tt.replies...); got != tt.want {
				t.Errorf("\ngot  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// What the caller takes for data is in no shape, at any depth, also where it was learned before.
func TestNamesThatTheCallerTakesForData(t *testing.T) {
	isData := func(name string) bool { return name == "hush" }
	reply := json.RawMessage(`{"a":[{"hush":1,"b":"x"}],"c":true}`)
	want := `{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","additionalProperties":{"type":["string","integer"]}}},"c":{"type":"boolean"}},"required":["a","c"]}`
	if got, err := Infer([]Reply{{Value: reply}}, isData); err != nil || string(got) != want {
		t.Errorf("%s %v, want %v and no error", got, err, want)
	}
}

func TestManyNamesThatComeAndGo(t *testing.T) {
	var replies []string
	for i := range 30 {
		replies = append(replies, fmt.Sprintf(`{"name%c%c":1}`, 'a'+i%26, 'a'+i/26))
	}
	if got := infer(t, replies...); got != `{"type":"object","additionalProperties":{"type":"integer"}}` {
		t.Error(got)
	}
}

// What was learned at different times is what would have been learned at once, and no value is in it.
func TestMergeIsInferenceOfAll(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		var all []Reply
		var merged json.RawMessage
		for range 1 + r.IntN(5) {
			all = append(all, Reply{Value: random(r, 0)})
			one, err := Infer(all[len(all)-1:], nil)
			if err != nil {
				t.Fatal(err)
			}
			if merged == nil {
				merged = one
			} else if merged, err = Merge(merged, one); err != nil {
				t.Fatal(err)
			}
		}
		whole, err := Infer(all, nil)
		if err != nil {
			t.Fatal(err)
		}
		if string(whole) != string(merged) {
			t.Fatalf("of %v, want %v\nat once %s\nmerged  %s", all, string(merged), whole, merged)
		}
		if strings.Contains(string(whole), "secret") {
			t.Fatalf(`a value is in the shape: %s, want no "secret" in it`, whole)
		}
	}
}

func random(r *rand.Rand, depth int) json.RawMessage {
	kinds := 8
	if depth > 3 {
		kinds = 5
	}
	var v any
	switch r.IntN(kinds) {
	case 0:
		v = nil
	case 1:
		v = r.IntN(2) == 0
	case 2:
		v = r.IntN(100)
	case 3:
		v = 1.5
	case 4:
		v = "secret"
	case 5:
		list := []json.RawMessage{}
		for range r.IntN(3) {
			list = append(list, random(r, depth+1))
		}
		v = list
	default:
		object := map[string]json.RawMessage{}
		for range r.IntN(4) {
			object[string(rune('a'+r.IntN(5)))] = random(r, depth+1)
		}
		v = object
	}
	b, _ := json.Marshal(v)
	return b
}

func TestRefused(t *testing.T) {
	for _, reply := range []string{``, `{`, `{"a":}`, `1 2`, strings.Repeat("[", 1_000_000)} {
		if _, err := Infer([]Reply{{Value: json.RawMessage(reply)}}, nil); err == nil {
			t.Errorf("%.20q is taken for a reply: got no error, want an error", reply)
		}
	}
	if _, err := Infer(nil, nil); err == nil {
		t.Error("nothing is taken for a reply: got no error, want an error")
	}
	for _, shape := range []string{`{"type":"object","properties":[]}`, `{"type":"x"}`, `{"type":3}`, `x`} {
		if _, err := Merge(json.RawMessage(shape), json.RawMessage(`{}`)); err == nil {
			t.Errorf("%s is taken for a shape: got no error, want an error", shape)
		}
	}
}

func TestDeep(t *testing.T) {
	deep := strings.Repeat(`{"a":[`, 100) + "1" + strings.Repeat("]}", 100)
	if got := infer(t, deep); strings.Count(got, "properties") != maxDepth/2 {
		t.Error(got)
	}
	again, err := Merge(json.RawMessage(infer(t, deep)), json.RawMessage(infer(t, deep)))
	if err != nil || string(again) != infer(t, deep) {
		t.Errorf("%s %v", again, err)
	}
}
