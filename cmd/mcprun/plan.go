package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/bridge"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
)

// plan is one run, after flags, environment and settings were settled: all there is to know to make it. Its paths are
// absolute.
type plan struct {
	Source    source
	Sandbox   string // a name, or runner.Auto
	Risk      runner.Risk
	Workspace string
	Timeout   time.Duration
	Limits    sandbox.Limits
	Vars      map[string]json.RawMessage
	Calls     callPlan
	MaxOutput int // characters; 0: no bound
	// Capture keeps what is printed in the result. Whole is for a caller that reads the result as one object: a script
	// that cannot be loaded is a result too.
	Capture, Whole bool
	// Brief leaves out what is usual: a model that reads what is said pays for each line.
	Brief bool
}

// talk is how a run speaks with those who asked for it. Only what its comment allows to be nil may be.
type talk struct {
	Stdin          io.Reader           // nil: empty
	Stdout, Stderr io.Writer           // nil: nowhere
	Elicit         upstream.ElicitFunc // nil: every question is declined
	Watch          func(runner.Event)  // nil: nobody watches
	Say            func(line string)   // for people, clean, without the program's name
	// Answers are what the script may ask the host for beside calls. Nil: nothing.
	Answers map[string]hostAnswer
}

// site is where runs are made: what outlives one of them.
type site struct {
	runner   *runner.Runner
	backends []sandbox.Backend
}

// run makes the run. An error says that it could not be made.
func (p *plan) run(ctx context.Context, at *site, t talk) (*runner.Result, error) {
	choice, err := runner.Choose(ctx, at.backends, runner.Wish{Name: p.Sandbox, Language: p.Source.Language, Risk: p.Risk})
	if err != nil {
		return nil, err
	}
	if choice.Reason != "" && !(p.Brief && choice.Usual) {
		t.Say(fmt.Sprintf("sandbox %s (%s)", choice.Backend.Name(), cli.CleanLine(choice.Reason)))
	}
	s := p.script(choice.Backend, t)
	files, err := p.Calls.open(&s.Calls)
	if err != nil {
		return nil, err
	}
	res, err := at.runner.Run(ctx, s)
	if err := files.Close(); err != nil {
		t.Say(cli.CleanLine(err.Error()))
	}
	if bad, ok := errors.AsType[*script.Error](err); ok && p.Whole {
		return unloadable(bad, choice.Backend, p.Source.Language), nil
	}
	return res, err
}

// script is the run as the runner takes it.
func (p *plan) script(b sandbox.Backend, t talk) runner.Script {
	s := runner.Script{
		Name: p.Source.Name, Code: p.Source.Code, Language: p.Source.Language, Dir: p.Source.Dir, Args: p.Source.Args,
		Backend: b, Timeout: p.Timeout, Limits: p.Limits, Workspace: p.Workspace,
		Vars: p.Vars, Calls: p.Calls.settings(), Elicit: t.Elicit, Watch: t.Watch, Answers: t.Answers, MaxOutput: p.MaxOutput,
		Stdout: t.Stdout, Stderr: t.Stderr, Capture: p.Capture,
	}
	if !p.Source.Stdin {
		s.Stdin = t.Stdin
	}
	return s
}

// unloadable is the result of a script that the bundler refuses. With --json it is an object like that of a Python
// script which cannot be compiled, so that callers read one kind of answer for both.
func unloadable(bad *script.Error, b sandbox.Backend, lang sandbox.Language) *runner.Result {
	rt, _ := b.Runtime(lang)
	return &runner.Result{
		ExitCode: bad.ExitCode(), Cause: runner.CauseError, Sandbox: b.Name(), Runtime: string(rt), Stderr: bad.Error() + "\n",
		Error:     &bridge.ScriptError{Name: "LoadError", Message: bad.Error()},
		LimitsHit: []string{}, Calls: []runner.CallRecord{}, Files: []string{},
	}
}
