package workflow

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/durable"
	"github.com/mcpgen/mcpgen/runner/journal"
)

const hostileText = "</style></span><script>alert(1)</script><img src=x onerror=alert(2)>\" style='x' \x1b[31m\u202etxt"

// samplePage returns the page of a workflow that has slept, failed a step, and waits for a value and an answer.
func samplePage(t *testing.T, name string) string {
	t.Helper()
	began := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return began.Add(time.Duration(minutes) * time.Minute) }
	step := func(kind journal.StepKind, name string, from, to int, out *journal.Outcome) journal.Kept {
		k := journal.Kept{Step: journal.Step{Kind: kind, Name: name, Topic: name, Began: at(from)}, Outcome: out}
		if out != nil {
			k.Ended = at(to)
		}
		return k
	}
	asks := step(journal.StepAsk, name, 90, 0, nil)
	asks.Until = at(24 * 60)
	reads := step(journal.StepRun, "read", 0, 2, &journal.Outcome{Value: []byte(`"secret value"`)})
	reads.Input = []byte(`"secret input"`)
	s := &Status{
		ID: "onboard-42", Name: name, Customer: name, State: durable.Waiting, Created: began, Calls: map[string]int{name: 2},
		Steps: []journal.Kept{
			reads,
			step(journal.StepRun, name, 2, 10, &journal.Outcome{Error: &call.Error{Message: "secret error"}}),
			step(journal.StepSleep, "", 10, 70, &journal.Outcome{Value: []byte("null")}),
			step(journal.StepWait, name, 80, 0, nil), asks,
		},
	}
	var b strings.Builder
	if err := s.Page(&b, at(100)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestPage checks what the page says, that hostile texts become no markup, and that it has no values.
func TestPage(t *testing.T) {
	text := samplePage(t, hostileText)
	tree, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, tag := range strings.Fields("html head meta title style body h1 h2 p div span i code") {
		known[tag] = true
	}
	var bars []string
	for n := range tree.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if !known[n.Data] {
			t.Errorf("the page has the element <%s>", n.Data)
		}
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "src" || a.Key == "href" || a.Key == "style" && n.Data != "i" {
				t.Errorf("<%s> has %s=%q", n.Data, a.Key, a.Val)
			}
			if a.Key == "style" {
				bars = append(bars, a.Val)
			}
		}
	}
	want := "left:0.000%;width:2.000% left:2.000%;width:8.000% left:10.000%;width:60.000% left:80.000%;width:20.000% left:90.000%;width:10.000%"
	if got := strings.Join(bars, " "); got != want {
		t.Errorf("bars are %s, want %s", got, want)
	}
	for _, part := range []string{"default-src &#39;none&#39;", "8m 0s, failed", "1h 0m", "20m 0s so far", "mcprun workflow answer onboard-42", "until 2026-07-02 12:00:00", "14 B", "started 2026-07-01 12:00:00"} {
		if !strings.Contains(text, part) {
			t.Errorf("the page lacks %q", part)
		}
	}
	for _, part := range []string{"secret", "\x1b", "\u202e"} {
		if strings.Contains(text, part) {
			t.Errorf("the page has %q", part)
		}
	}
}
