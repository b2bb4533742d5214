package approve

import (
	"context"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/risk"
)

func starting(code string) *Question {
	return &Question{
		Script: "wipe.py", Code: code, Risk: risk.Critical, Rule: `rule "critical scripts ask"`, Reason: "why",
		Start: &Start{Why: "it calls os.system", Files: []string{"a.txt", "b\x1b[2J"}, Hosts: []string{"x.example"}, Commands: nil, Tools: []string{"crm__send"}, Reversible: "no"},
	}
}

// TestStart shows what a script affects, and the beginning of its text.
func TestStart(t *testing.T) {
	q := starting("import os\nmail = 'ann@example.com'\n" + strings.Repeat("é", 300))
	v, err := q.View(MaxTerminal)
	if err != nil {
		t.Fatal(err)
	}
	text := q.Title() + "\n" + strings.Join(v.Lines, "\n")
	for _, want := range []string{
		"The script wipe.py needs your approval to start\nAction: run the script wipe.py\n",
		"\nAffects: 2 files (a.txt, b\\x1b[2J), 1 host (x.example), 0 commands\nCalls: 1 tool (crm__send)\nReversible: no\nCode, its first 200 characters of 335:\n  import os\n  mail = 'ann@example.com'\n  é",
		"\nRisk: critical\nFound: it calls os.system\nAsked by: rule \"critical scripts ask\": why",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not shown:\n%s", want, text)
		}
	}
	if n := strings.Count(text, "é"); n != 200-35 || len(v.Scopes) != 1 || v.Scopes[0] != Once {
		t.Errorf("%d characters of the last line, scopes %q, want %d, len(v.Scopes) 1 and v.Scopes[0] %v", n, v.Scopes, 200-35, Once)
	}
	for reversible, want := range map[string]string{"yes": "Reversible: yes", "unknown": "Reversible: no (not known)", "": "Reversible: no (not known)"} {
		if q.Start.Reversible = reversible; q.lines()[3] != want {
			t.Errorf("%q: %q", reversible, q.lines()[3])
		}
	}
	form := Elicit(func(_ context.Context, asked *upstream.Question) (*upstream.Reply, error) {
		if strings.Contains(asked.Message, "ann@") || !strings.Contains(asked.Message, "[EMAIL_1]") || !strings.Contains(string(asked.Schema), `"Run the script"`) {
			t.Errorf("%s, want no \"ann@\" in it, \"[EMAIL_1]\" in it and %q in it\n%s", asked.Message, `"Run the script"`, asked.Schema)
		}
		return &upstream.Reply{Action: upstream.ActionAccept, Content: []byte(`{"answer":"once"}`)}, nil
	}, "user")
	if a, err := New(0, form).Approve(t.Context(), q); err != nil || a.Scope != Once {
		t.Errorf("%+v, %v, want Scope %v and no error", a, err, Once)
	}
}
