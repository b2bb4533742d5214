package permit

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner/approve"
)

// appAt returns an app at a terminal where a person types.
func appAt(typed string, env map[string]string) (*cli.App, *bytes.Buffer) {
	var shown bytes.Buffer
	return &cli.App{
		Stdin: strings.NewReader(typed), Stderr: &shown, Terminal: cli.Terminal{Stdin: true, Stderr: true},
		LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	}, &shown
}

func TestAtTerminal(t *testing.T) {
	for _, c := range []struct {
		run  map[string]string
		env  map[string]string
		want bool
	}{
		{nil, nil, true},
		{map[string]string{"approve": "auto"}, nil, true},
		{map[string]string{"approve": "page,terminal"}, nil, true},
		{map[string]string{"approve": "none"}, nil, false},
		{map[string]string{"approve": "page"}, nil, false},
		{map[string]string{"approve_command": "/bin/ask"}, nil, false},
		{nil, map[string]string{"CI": "true"}, false},
	} {
		run := config.RunSettings{}
		for key, value := range c.run {
			run[key] = config.RunSetting{Value: value}
		}
		app, _ := appAt("", c.env)
		if got := atTerminal(app, run); got != c.want {
			t.Errorf("atTerminal(%v, %v) = %v, want %v", c.run, c.env, got, c.want)
		}
	}
	if got := atTerminal(&cli.App{LookupEnv: func(string) (string, bool) { return "", false }}, nil); got {
		t.Error("atTerminal() without a terminal = true, want false")
	}
}

func TestApprove(t *testing.T) {
	q := &approve.Question{Tool: "crm__list", Arguments: json.RawMessage(`{"city":"Oslo"}`), Rule: `rule "lists"`}
	for typed, want := range map[string]approve.Scope{"y\n": approve.Once, "n\n": approve.Refused, "\n": approve.Refused, "": approve.Refused} {
		app, shown := appAt(typed, nil)
		answer, err := (&terminal{app, true}).Approve(t.Context(), q)
		if err != nil || answer.Scope != want || answer.By != "terminal" {
			t.Errorf("typed %q: %+v, %v, want scope %q", typed, answer, err, want)
		}
		for _, text := range []string{"crm__list needs your approval", "Oslo", `rule "lists"`, "Make this call? [y/N]"} {
			if !strings.Contains(shown.String(), text) {
				t.Errorf("%q is not shown in:\n%s", text, shown)
			}
		}
	}
	app, shown := appAt("y\n", nil)
	if answer, err := (&terminal{app, false}).Approve(t.Context(), q); err != nil || answer.Scope != approve.Refused || shown.Len() > 0 {
		t.Errorf("nobody to ask: %+v, %v, shown %q, want Scope %v, shown.Len() at most 0 and no error", answer, err, shown, approve.Refused)
	}
}
