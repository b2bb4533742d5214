package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/plugin"
)

// PluginError refuses a script that a plugin does not let start.
type PluginError struct {
	Script string
	Denied *plugin.DeniedError
}

func (e *PluginError) Error() string { return fmt.Sprintf("%s was not run: %v", e.Script, e.Denied) }

// Unwrap returns what the plugin has said.
func (e *PluginError) Unwrap() error { return e.Denied }

// ExitCode returns the exit code for a script that was refused before it ran.
func (e *PluginError) ExitCode() int { return exit.Refused }

// askPlugins asks plugins whether the script may start, and sets the variables that they have changed. Where a mode hides personal data, they
// see tokens, as whoever wrote the script does; in changed variables, tokens count as in given ones.
func (r *Runner) askPlugins(ctx context.Context, s *Script) error {
	if !s.Calls.Plugins.Fits(plugin.Run, "", "") {
		return nil
	}
	e := s.event(plugin.Run, s.trail.id)
	e.Language, e.Risk, e.Vars = string(s.Language), s.Risk.Overall().String(), s.Vars
	e.Code, e.Args = s.Code, s.Args
	if p := s.Calls.Personal; p.Of("") != config.PIIOff {
		e.Code, e.Args, e.Vars = p.Mask(s.Code), nil, make(map[string]json.RawMessage, len(s.Vars))
		for _, arg := range s.Args {
			e.Args = append(e.Args, p.Mask(arg))
		}
		for name, value := range s.Vars {
			e.Vars[name] = p.MaskJSON(value)
		}
	}
	done, err := r.ask(ctx, s, e)
	if denied, ok := errors.AsType[*plugin.DeniedError](err); ok {
		return &PluginError{s.Name, denied}
	}
	for i := range done {
		if done[i].Decision == string(plugin.Change) {
			s.Vars = e.Vars
		}
	}
	return err
}

// ask asks plugins about a script, and notes what they did.
func (r *Runner) ask(ctx context.Context, s *Script, e *plugin.Event) ([]audit.Plugin, error) {
	mask := r.chain.RecordMask(&s.Calls)
	done, err := s.Calls.Plugins.Ask(ctx, e, plugin.Place{Mask: mask.Value})
	for i := range done {
		done[i].Reason = audit.Text(s.Calls.Personal.Mask(string(done[i].Reason)))
	}
	s.trail.plugins = append(s.trail.plugins, done...)
	for _, text := range plugin.Unchecked(done, err) {
		r.log.Warn(text, "hook", e.Hook)
		if s.trail.unchecked = append(s.trail.unchecked, text); s.Watch != nil {
			s.Watch(chain.Event{Kind: chain.EventWarning, Message: text})
		}
	}
	return done, err
}

// holdOutput keeps the output until plugins have allowed it, if they are asked when the script ends. The function that it returns sets the
// streams again.
func (s *Script) holdOutput() (reset func()) {
	if !s.Calls.Plugins.Fits(plugin.RunEnd, "", "") {
		return func() {}
	}
	stdout, stderr := s.Stdout, s.Stderr
	s.Capture, s.Stdout, s.Stderr = true, nil, nil
	s.release = func(res *Result) {
		for _, stream := range []struct {
			to   io.Writer
			text string
		}{{stdout, res.Stdout}, {stderr, res.Stderr}} {
			if stream.to != nil {
				_, _ = io.WriteString(stream.to, stream.text) // whoever is behind it reports its own errors
			}
		}
	}
	return func() { s.Stdout, s.Stderr, s.release = stdout, stderr, nil }
}

// askAfter asks plugins about the result of a script. They may change it, or withhold it with the output. A part of a workflow that goes
// on has not ended: what it has printed is held, since the next part prints it again.
func (r *Runner) askAfter(ctx context.Context, s *Script, res *Result) {
	switch {
	case s.release == nil:
	case res.Cause == CauseSuspended, res.Cause == CauseInterrupted && s.Calls.Workflow != "":
		res.Stdout, res.Stderr = "", ""
	default:
		e := s.event(plugin.RunEnd, s.trail.id)
		e.Result = s.Calls.Personal.MaskJSON(res.Value) // which hide has masked already
		e.End = &plugin.End{ExitCode: res.ExitCode, Cause: string(res.Cause), Calls: res.CallCount, StdoutBytes: int64(len(res.Stdout)) + res.StdoutCut, StderrBytes: int64(len(res.Stderr)) + res.StderrCut}
		if _, err := r.ask(context.WithoutCancel(ctx), s, e); err != nil {
			res.Value, res.Error, res.Stdout, res.Stderr, res.TypeErrors, res.Warnings = nil, nil, "", "", nil, nil
			res.ExitCode, res.Cause, res.Message = exit.Refused, CauseDenied, s.Calls.Personal.Mask(fmt.Sprintf("%v; the script has run, and its result is withheld", err))
		} else {
			res.Value = e.Result
			s.release(res)
		}
	}
	res.Plugins, res.Warnings = s.trail.plugins, append(res.Warnings, s.trail.unchecked...)
}

// logged returns the denial for a session's log.
func (e *PluginError) logged() []audit.Plugin {
	p := audit.Plugin{Name: e.Denied.Plugin, Hook: string(plugin.Run), Decision: string(plugin.Deny), Reason: audit.Text(e.Denied.Reason)}
	if e.Denied.Failed {
		p.Decision = string(plugin.Failed)
	}
	return []audit.Plugin{p}
}

// event returns what plugins see of a script at any point.
func (s *Script) event(at plugin.Point, run string) *plugin.Event {
	return &plugin.Event{Hook: at, Run: run, Customer: s.Calls.Subject.Customer, Session: s.Calls.Subject.Session, Script: s.Name}
}
