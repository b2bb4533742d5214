package runner_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/approve"
	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/journal"
	"github.com/mcpgen/mcpgen/runner/pii"
	"github.com/mcpgen/mcpgen/runner/pii/piitest"
	"github.com/mcpgen/mcpgen/runner/plugin"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

// hook is a plugin as a function.
type hook func(e *plugin.Event) plugin.Answer

func (h hook) Decide(_ context.Context, e *plugin.Event) (*plugin.Answer, error) {
	answer := h(e)
	return &answer, nil
}

// set returns a set with the hook.
func (h hook) set() *plugin.Set { return plugin.New(plugin.Plugin{Name: "rule", Hook: h}) }

// nobody notes that it was asked.
type nobody bool

func (n *nobody) Approve(context.Context, *approve.Question) (approve.Answer, error) {
	*n = true
	return approve.Answer{}, nil
}

// says is a guest that prints its variable who and returns it.
func says(t *testing.T) func(*guest) sandbox.Exit {
	return func(g *guest) sandbox.Exit {
		var vars map[string]json.RawMessage
		if err := json.Unmarshal(g.begin()["vars"], &vars); err != nil {
			t.Error(err)
		}
		fmt.Fprintf(g.spec.Stdout, "hello %s", vars["who"])
		g.done(object{"result": vars["who"]})
		return sandbox.Exit{}
	}
}

func TestPluginsAroundRuns(t *testing.T) {
	log, m := newLog(t)
	var seen []plugin.Event
	var shown bytes.Buffer
	s := &runner.Script{Code: "print(who)", Args: []string{"one"}, Vars: map[string]json.RawMessage{"who": json.RawMessage(`"ann"`)}, Stdout: &shown}
	s.Calls.Audit, s.Calls.Subject.Customer = log, "acme"
	s.Calls.Plugins = hook(func(e *plugin.Event) plugin.Answer {
		seen = append(seen, *e)
		if e.Hook == plugin.RunEnd {
			if shown.Len() > 0 {
				t.Error("the output was shown before the plugin has allowed it")
			}
			return plugin.Answer{Decision: plugin.Change, Value: json.RawMessage(`"changed"`)}
		}
		return plugin.Answer{Decision: plugin.Change, Value: json.RawMessage(`{"who":"bob"}`)}
	}).set()
	res, err := launchRecorded(t, nil, s, runner.LaunchOptions{}, says(t))
	if err != nil || string(res.Value) != `"changed"` || shown.String() != `hello "bob"` || s.Stdout != &shown {
		t.Fatalf("result %s, shown %q, %v; want the plugin's result, and the output with its variable", res.Value, shown.String(), err)
	}
	if len(seen) != 2 || seen[0].Script != "s.py" || seen[0].Language != "python" || seen[0].Code != "print(who)" || seen[0].Risk == "" || seen[0].Customer != "acme" || !slices.Equal(seen[0].Args, []string{"one"}) || seen[0].Run == "" || seen[0].Run != seen[1].Run {
		t.Errorf("the plugin saw %+v", seen)
	}
	if end := seen[1].End; end == nil || end.Cause != "exit" || end.StdoutBytes != 11 || string(seen[1].Result) != `"bob"` {
		t.Errorf("at the end, the plugin saw %+v, %s", end, seen[1].Result)
	}
	if len(res.Plugins) != 2 || res.Plugins[0].String() != "plugin rule: changed the variables" || res.Plugins[1].String() != "plugin rule: changed the result" {
		t.Errorf("the result says %+v, want both changes", res.Plugins)
	}
	_, end := row[audit.RunEnd](t, m, audit.KindRunEnd)
	if !slices.Equal(end.Plugins, res.Plugins) || string(end.Result) != `"changed"` || len(end.Violations) != 0 {
		t.Errorf("the record has %+v, result %s, violations %v", end.Plugins, end.Result, end.Violations)
	}
}

func TestPluginsRefuseRuns(t *testing.T) {
	log, m := newLog(t)
	asked := nobody(false)
	s := &runner.Script{Code: "print(1)", Confirm: true}
	s.Calls.Audit, s.Calls.Approver = log, &asked
	s.Calls.Plugins = hook(func(*plugin.Event) plugin.Answer {
		return plugin.Answer{Decision: plugin.Deny, Reason: "not on Mondays"}
	}).set()
	_, err := launchRecorded(t, nil, s, runner.LaunchOptions{}, func(*guest) sandbox.Exit { t.Error("the script has started"); return sandbox.Exit{} })
	if bad, ok := errors.AsType[*runner.PluginError](err); !ok || err.Error() != "s.py was not run: plugin rule: refused: not on Mondays" || exit.Of(bad, 0) != exit.Refused || bool(asked) {
		t.Errorf("Launch() = %v, a person was asked: %v; want a refusal that nobody is asked about", err, asked)
	}
	_, end := row[audit.RunEnd](t, m, audit.KindRunEnd)
	if len(end.Plugins) != 1 || end.ExitCode != exit.Refused || !slices.Equal(end.Violations, []string{"plugin rule: refused: not on Mondays"}) {
		t.Errorf("the record has %+v", end)
	}
	if run := runner.LoggedFailure(s, err); len(run.Plugins) != 1 || run.Plugins[0].Decision != "deny" {
		t.Errorf("the session's log has %+v", run.Plugins)
	}
}

// TestPluginsOfParts: a part of a workflow that waits has no end that plugins could refuse, and shows nothing that they have not allowed. It did not
// fail.
func TestPluginsOfParts(t *testing.T) {
	state, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	log, m := newLog(t)
	var asked []plugin.Point
	var shown bytes.Buffer
	s := &runner.Script{Code: "print(1)", Stdout: &shown}
	s.Calls.Audit, s.Calls.Suspend = log, time.Second
	s.Calls.Plugins = hook(func(e *plugin.Event) plugin.Answer {
		if asked = append(asked, e.Hook); e.Hook == plugin.RunEnd {
			return plugin.Answer{Decision: plugin.Deny}
		}
		return plugin.Answer{Decision: plugin.Allow}
	}).set()
	if s.Calls.Journal, err = journal.Open(t.Context(), state, store.Key{Kind: "journal", Name: "run-1"}, make([]byte, 32)); err != nil {
		t.Fatal(err)
	}
	res, err := launchRecorded(t, nil, s, runner.LaunchOptions{}, func(g *guest) sandbox.Exit {
		g.begin()
		fmt.Fprint(g.spec.Stdout, "half")
		g.send(object{"type": "request", "id": 1, "method": "workflow/wait", "params": object{"topic": "paid"}})
		return g.killed()
	})
	if err != nil || res.Cause != runner.CauseSuspended || res.Stdout != "" || shown.Len() > 0 || !slices.Equal(asked, []plugin.Point{plugin.Run}) {
		t.Errorf("cause %q, %q shown, plugins asked at %q, %v; want a suspended run, nothing shown, and plugins asked at its start", res.Cause, shown.String(), asked, err)
	}
	if _, end := row[audit.RunEnd](t, m, audit.KindRunEnd); !end.Success || end.Error != "" || end.Cause != "suspended" {
		t.Errorf("the record has %+v, want a success", end)
	}
}

func TestPluginsWithholdResults(t *testing.T) {
	var shown bytes.Buffer
	s := &runner.Script{Code: "print(1)", Vars: map[string]json.RawMessage{"who": json.RawMessage(`"the secret"`)}, Stdout: &shown}
	s.Calls.Plugins = hook(func(e *plugin.Event) plugin.Answer {
		if e.Hook == plugin.RunEnd {
			return plugin.Answer{Decision: plugin.Deny, Reason: "private"}
		}
		return plugin.Answer{Decision: plugin.Allow}
	}).set()
	res, err := launchRecorded(t, nil, s, runner.LaunchOptions{}, says(t))
	if err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(res)
	if strings.Contains(string(text)+shown.String(), "the secret") || res.Cause != runner.CauseDenied || res.ExitCode != exit.Refused || res.Message != "plugin rule: refused: private; the script has run, and its result is withheld" {
		t.Errorf("the result is %s, and %q was shown; want it withheld", text, shown.String())
	}
}

// TestPluginsSeeNoPersonalData: in a mode that hides personal data, neither the code nor variables nor results that plugins see have any.
func TestPluginsSeeNoPersonalData(t *testing.T) {
	for _, mode := range []config.PIIMode{config.PIIOutput, config.PIIBridge} {
		s := &runner.Script{Code: `print("bob@example.com")`, Args: []string{"eve@example.com"}, Vars: map[string]json.RawMessage{"who": json.RawMessage(`"ann@example.com"`)}}
		s.Calls.Personal = &chain.Personal{Outlet: pii.NewOutlet(piitest.Vault(t), pii.OutletSettings{}), Mode: mode}
		s.Calls.Plugins = hook(func(e *plugin.Event) plugin.Answer {
			if text, _ := json.Marshal(e); strings.Contains(string(text), "@example") || !strings.Contains(string(text), "EMAIL_") {
				t.Errorf("%s: the plugin saw %s, want tokens", mode, text)
			}
			if e.Hook == plugin.Run {
				return plugin.Answer{Decision: plugin.Change, Value: json.RawMessage(strings.Replace(string(e.Value()), `"[EMAIL`, `"to [EMAIL`, 1))}
			}
			return plugin.Answer{Decision: plugin.Allow}
		}).set()
		res, err := launchRecorded(t, nil, s, runner.LaunchOptions{}, func(g *guest) sandbox.Exit {
			var vars map[string]string
			if err := json.Unmarshal(g.begin()["vars"], &vars); err != nil {
				t.Error(err)
			}
			if got := vars["who"]; mode == config.PIIOutput && got != "to ann@example.com" || mode == config.PIIBridge && !strings.HasPrefix(got, "to [EMAIL_") {
				t.Errorf("%s: the script has %q", mode, got)
			}
			g.done(object{"result": vars["who"]})
			return sandbox.Exit{}
		})
		if err != nil || !strings.HasPrefix(string(res.Value), `"to [EMAIL_`) {
			t.Errorf("%s: result %s, %v", mode, res.Value, err)
		}
	}
}

func TestStrictGuardrails(t *testing.T) {
	strict, lax := config.DefaultGuardrails(), config.DefaultGuardrails()
	strict.Strict = true
	unchecked := strict
	unchecked.Checks.Security = false
	for code, finding := range map[string]string{
		`import { writeFileSync } from "node:fs"; writeFileSync("a.txt", "x")`:                                            "file-write",
		`import { addNumbers } from "./servers/calculator"; console.log(1)`:                                               "",
		`import { callMCPTool } from "mcprun"; for (const t of ["calculator__add"]) await callMCPTool(t, {numbers: []});`: "", // the policy decides about tools
		`console.log("hello")`: "",
	} {
		launch := func(g config.Guardrails) error {
			var ran []string
			s := &runner.Script{Name: "s.ts", Code: code, Language: sandbox.LangTypeScript}
			_, err := newRunner(t, nil).Launch(t.Context(), s, runner.LaunchOptions{Sandboxes: working("process", &ran), Guardrails: g})
			if (err == nil) != (len(ran) == 1) {
				t.Errorf("%s: %v, and %d runs", code, err, len(ran))
			}
			return err
		}
		for _, g := range []config.Guardrails{{}, lax, unchecked} {
			if err := launch(g); err != nil {
				t.Errorf("%s with %+v: %v", code, g, err)
			}
		}
		err := launch(strict)
		bad, refused := errors.AsType[*runner.FindingsError](err)
		if refused != (finding != "") || refused && (len(bad.Findings) != 1 || bad.Findings[0].Rule != finding || exit.Of(err, 0) != exit.Refused) {
			t.Errorf("%s, strict: %v, want %q", code, err, finding)
		}
	}
}

// TestGuardrailCeilings: the lower one of policy and guardrails counts.
func TestGuardrailCeilings(t *testing.T) {
	g := config.DefaultGuardrails()
	for _, c := range []struct {
		policy     config.PolicyCeilings
		guardrails config.Guardrails
		timeout    time.Duration
		memory     int64
		lowered    string
	}{
		{config.PolicyCeilings{}, config.Guardrails{}, 10 * time.Minute, 1_000_000_000, ""},
		{config.PolicyCeilings{}, g, 300 * time.Second, 512_000_000, "timeout memory"},
		{config.PolicyCeilings{Timeout: time.Minute, Memory: "1GB"}, g, time.Minute, 512_000_000, "timeout memory"},
		{config.PolicyCeilings{Timeout: 7 * time.Minute, Memory: "100MB"}, g, 300 * time.Second, 100_000_000, "timeout memory"},
		{config.PolicyCeilings{Timeout: 7 * time.Minute}, config.Guardrails{}, 7 * time.Minute, 1_000_000_000, "timeout"},
	} {
		var ran, lowered []string
		s := &runner.Script{Name: "s.ts", Code: "1", Language: sandbox.LangTypeScript, Timeout: 10 * time.Minute}
		s.Limits.Memory = 1_000_000_000
		_, err := newRunner(t, nil).Launch(t.Context(), s, runner.LaunchOptions{
			Sandboxes: working("process", &ran), Guardrails: c.guardrails, Policy: newPolicy(t, config.PolicyPart{Ceilings: c.policy}),
			Starting: func(_ runner.Choice, names []string) error { lowered = names; return nil },
		})
		if err != nil || s.Timeout != c.timeout || s.Limits.Memory != c.memory || strings.Join(lowered, " ") != c.lowered {
			t.Errorf("%+v and %+v: %v and %d, lowered %v, %v", c.policy, c.guardrails, s.Timeout, s.Limits.Memory, lowered, err)
		}
	}
}
