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

func TestMax(t *testing.T) {
	if got := Max(Low, High, Medium); got != High {
		t.Errorf("Max = %v, want high", got)
	}
	if got := Max(); got != None {
		t.Errorf("Max() = %v, want none", got)
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
