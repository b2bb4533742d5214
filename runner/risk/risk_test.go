package risk

import (
	"encoding/json"
	"fmt"
	"testing"
)

func TestParse(t *testing.T) {
	for _, want := range append(All(), None) {
		if got, err := Parse(want.String()); err != nil || got != want {
			t.Errorf("Parse(%q) = %v, %v", want, got, err)
		}
	}
	for _, name := range []string{"Low", "extreme", "low "} {
		if got, err := Parse(name); err == nil {
			t.Errorf("Parse(%q) = %v, want an error", name, got)
		}
	}
}

func TestAssessment(t *testing.T) {
	for _, c := range []struct {
		a      Assessment
		want   Risk
		reason string
	}{
		{Assessment{}, None, ""},
		{Assessment{Shown: Medium, Why: "it writes"}, Medium, "it writes"},
		{Assessment{Set: Medium, Shown: Medium, Why: "it writes"}, Medium, "it writes"},
		{Assessment{Set: High, Shown: Medium, Why: "it writes"}, High, "it was set"},
	} {
		if got, reason := c.a.Overall(), c.a.Reason(); got != c.want || reason != c.reason {
			t.Errorf("%+v: Overall() = %v, Reason() = %q, want %v, %q", c.a, got, reason, c.want, c.reason)
		}
	}
}

func TestJSON(t *testing.T) {
	type report struct {
		Risk Risk `json:"risk,omitempty"`
	}
	data, err := json.Marshal(report{Critical})
	if err != nil || string(data) != `{"risk":"critical"}` {
		t.Errorf("Marshal = %s, %v, want %q and no error", data, err, `{"risk":"critical"}`)
	}
	var r report
	if err := json.Unmarshal([]byte(`{"risk":"high"}`), &r); err != nil || r.Risk != High {
		t.Errorf("Unmarshal = %v, %v, want %v and no error", r.Risk, err, High)
	}
	if err := json.Unmarshal([]byte(`{"risk":"some"}`), &r); err == nil {
		t.Error("Unmarshal of an unknown risk is no error")
	}
}

func Example() {
	r, _ := Parse("medium")
	fmt.Println(max(r, High))
	// Output: high
}
