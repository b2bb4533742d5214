package customer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestDecisionsStay: many calls do not push a decision out of the log, and their arguments do not make its line too long.
func TestDecisionsStay(t *testing.T) {
	r, _ := openTest(t, 0)
	s := session(t, customer(t, r, "acme"), "")
	run := &Run{Language: "python", Code: "1"}
	long := strings.Repeat("x", 5000)
	decided := func(effect string) *Decision { return &Decision{Effect: effect, Rule: "r", By: "ann"} }
	for i := range 3 * maxCalls {
		c := Call{Tool: fmt.Sprintf("a__%d", i), Outcome: "ok"}
		if i >= maxCalls {
			c.Decision, c.Arguments = decided("allow"), long
		}
		run.Calls = append(run.Calls, c)
	}
	run.Calls = append(run.Calls, Call{Tool: "a__asked", Outcome: "ok", Decision: decided("ask"), Arguments: long}, Call{Tool: "a__denied", Outcome: "denied", Decision: decided("deny")})
	if err := s.Append(Record{Kind: KindRun, Run: run}); err != nil {
		t.Fatal(err)
	}
	list, _ := records(t, s)
	got := list[1].Run
	last := got.Calls[len(got.Calls)-2:]
	if len(got.Calls) != maxCalls || got.Calls[0].Tool != "a__1000" || last[0].Tool != "a__asked" || last[1].Tool != "a__denied" || last[0].Arguments == "" || *last[0].Decision != *decided("ask") || !got.Cut {
		t.Errorf("Append() kept %d calls, from %+v to %+v", len(got.Calls), got.Calls[0], last)
	}
	if want := "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"; got.Digest != want {
		t.Errorf("digest %q, want %q", got.Digest, want)
	}

	for i := range run.Calls { // names that do not fit into any line
		run.Calls[i].Tool = strings.Repeat("\x01", maxName)
		if i < len(run.Calls)-2 {
			run.Calls[i].Decision = nil
		}
	}
	if err := s.Append(Record{Kind: KindRun, Run: run}); err != nil {
		t.Fatal(err)
	}
	if list, _ = records(t, s); len(list[2].Run.Calls) != 2 || list[2].Run.Calls[0].Decision.Effect != "ask" {
		t.Errorf(`a line that is too long has %+v, want len(list[2].Run.Calls) 2 and list[2].Run.Calls[0].Decision.Effect "ask"`, list[2].Run.Calls)
	}
}

// TestMaskOfRun: the record has one token for each value, the one used in the arguments.
func TestMaskOfRun(t *testing.T) {
	rest := func(v json.RawMessage) json.RawMessage { return bytes.ReplaceAll(v, []byte("secret"), []byte("[S]")) }
	run := &Run{Language: "python", Code: "send('ann@x.org', secret)", Calls: []Call{{Tool: "t", Arguments: "[EMAIL_7]"}}}
	run.Mask = func(v json.RawMessage) json.RawMessage {
		return bytes.ReplaceAll(v, []byte("ann@x.org"), []byte("[EMAIL_7]"))
	}
	for _, mask := range []func(json.RawMessage) json.RawMessage{rest, nil} {
		line, err := lineOf(Record{Kind: KindRun, Run: run}, mask)
		if err != nil || bytes.Contains(line, []byte("ann@x.org")) || bytes.Count(line, []byte("[EMAIL_7]")) != 2 || bytes.Contains(line, []byte("secret")) == (mask != nil) {
			t.Errorf("lineOf() = %s, %v", line, err)
		}
	}
}

func TestDecisions(t *testing.T) {
	mask := func(v json.RawMessage) json.RawMessage { return bytes.ReplaceAll(v, []byte("hide"), []byte("****")) }
	run := &Run{Name: "a.py", Language: "python", Code: "hide()", Output: "printed", Result: json.RawMessage("1"), Calls: []Call{
		{Tool: "free", Outcome: "ok"}, {Tool: "asked", Outcome: "denied", Decision: &Decision{Effect: "ask", Rule: "r"}, Arguments: `{"a":"hide"}`},
	}}
	got := run.Decisions(mask)
	if got.Code != "****()" || got.Output != "" || got.Result != nil || len(got.Calls) != 1 || got.Calls[0].Arguments != `{"a":"****"}` || got.Calls[0].Decision.Rule != "r" {
		t.Errorf("Decisions() = %+v", got)
	}
	if run.Code != "hide()" || len(run.Calls) != 2 || run.Calls[1].Arguments != `{"a":"hide"}` {
		t.Errorf("Decisions() changed the run: %+v", run)
	}
}
