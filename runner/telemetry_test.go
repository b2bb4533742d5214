package runner_test

import (
	"testing"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/telemetry"
	"github.com/mcpgen/mcpgen/runner/telemetry/telemetrytest"
)

// TestTelemetry: each launch has a span with its outcome, and its calls are below it.
func TestTelemetry(t *testing.T) {
	tel := func() (*telemetrytest.Collector, *telemetry.Telemetry) {
		c := telemetrytest.New(t)
		tel, err := telemetry.New(telemetry.Options{Lookup: c.Lookup})
		if err != nil {
			t.Fatal(err)
		}
		return c, tel
	}
	launch := func(tel *telemetry.Telemetry, s runner.Script, opt runner.LaunchOptions) error {
		up := &fakeUpstreams{answers: map[string]*upstream.CallResult{"calculator/add": {Structured: []byte(`{"result":3}`)}}}
		r, err := runner.New(&runner.Options{Tree: "../servers", Upstreams: up, Telemetry: tel})
		if err != nil {
			t.Fatal(err)
		}
		defer tel.Close()
		_, err = r.Launch(t.Context(), &s, opt)
		return err
	}

	c, on := tel()
	b := &fakeBackend{name: "gvisor", status: sandbox.Status{Usable: true, Languages: []sandbox.Language{sandbox.LangPython}}, guest: func(g *guest) sandbox.Exit {
		g.begin()
		g.call(1, "calculator__add", object{"numbers": []int{1, 2}})
		g.done(nil)
		return sandbox.Exit{}
	}}
	if err := launch(on, runner.Script{Name: "secret.py", Code: "secret = 1", Language: sandbox.LangPython}, runner.LaunchOptions{Sandboxes: []sandbox.Backend{b}}); err != nil {
		t.Fatal(err)
	}
	run, call := c.Span(t, telemetry.RunSpan), c.Span(t, "tools/call add")
	if string(call.ParentSpanId) != string(run.SpanId) {
		t.Error("the call is not below the run")
	}
	got := telemetrytest.Attributes(run.Attributes)
	for name, want := range map[string]any{"mcprun.run.language": "python", "mcprun.run.sandbox": "gvisor", "mcprun.run.success": true, "mcprun.run.calls": int64(1), "error.type": nil} {
		if got[name] != want {
			t.Errorf("the run has %s = %v, want %v", name, got[name], want)
		}
	}
	if event := telemetrytest.Attributes(run.Events[0].Attributes); run.Events[0].Name != "code_execution" || event["mcprun.run.success"] != true || event["mcprun.run.risk"] == nil || event["mcprun.run.duration"] == nil {
		t.Errorf("the event is %s %v, want code_execution with success, risk and duration", run.Events[0].Name, event)
	}

	for want, s := range map[string]runner.Script{
		"refused": {Name: "s.ts", Code: `import { execSync } from "node:child_process"; execSync("ls")`, Language: sandbox.LangTypeScript},
		"sandbox": {Name: "s.ts", Code: `1`, Language: sandbox.LangTypeScript},
	} {
		c, on := tel()
		if err := launch(on, s, runner.LaunchOptions{Policy: newPolicy(t, config.PolicyPart{Level: "read_only"})}); err == nil {
			t.Fatalf("the script of %q started", want)
		}
		if got := telemetrytest.Attributes(c.Span(t, telemetry.RunSpan).Attributes); got["error.type"] != want || got["mcprun.run.success"] != false {
			t.Errorf("the run has %v, want error.type %s and no success", got, want)
		}
	}
	if n := len(c.Spans()); n != 2 {
		t.Errorf("%d spans, want the run and its call", n)
	}
}
