package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/runner/internal/hint"
	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/risk"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/script/judge"
)

// LaunchOptions are the conditions under which a script may start, and where. With the zero value nothing runs, since there is no sandbox.
type LaunchOptions struct {
	// Sandboxes are the sandboxes to choose from. If empty, every launch fails with a *BackendError.
	Sandboxes []sandbox.Backend
	// Sandbox is the name of one of Sandboxes. Empty: [Auto].
	Sandbox string
	// Trust says who wrote the script. A sandbox that is too weak for its author is refused. Zero: any is strong enough.
	Trust Trust
	// Policy decides whether the script starts, lowers its limits, and decides about its calls. If nil, every script starts with its own
	// limits, and policy.Default() decides about its calls.
	//
	// If Script.Calls.Policy is set, it decides about the calls instead. It wraps this policy with approvals that a person gave beforehand.
	Policy *policy.Policy
	// Guardrails may refuse scripts with findings, and lower limits. With the zero value they do neither. Plugins are in Script.Calls.Plugins.
	Guardrails config.Guardrails
	// Network is what runs that ask for a network may have of it. Nil: nothing.
	Network *Network
	// Starting is called once the script is allowed, with its sandbox and the names of the limits that policy and guardrails have lowered. It is called
	// again if the script starts in another sandbox because that one does not work. It may still change Script.Calls. An error ends the
	// launch. May be nil.
	Starting func(choice Choice, lowered []string) error
}

// Launch judges a script, asks the policy whether it may start, chooses a sandbox, asks a person if the policy wants that, runs the
// script there, and returns when nothing of it is left. It sets Backend, Risk and Start of s, and lowers its limits to the
// ceilings of the policy.
//
// For a script that fails, is killed or times out, Launch returns a Result. An error means that it did not start: a *RestrictedError
// *policy.RunError, *FindingsError or *PluginError if it was refused, a *BackendError if no sandbox is strong enough or usable, a *script.Error if it cannot be
// read. When ctx ends, the run ends with CauseInterrupted.
//
// With Script.Calls.Audit, the record has the script before its sandbox starts, and how it ended before Launch returns. If it cannot be
// written, the script does not start, with a *RecordError.
func (r *Runner) Launch(ctx context.Context, s *Script, opt LaunchOptions) (*Result, error) {
	s.launched = true
	asked, capture := s.Calls.Approver, s.Capture
	s.trail = r.newTrail("run-", &s.Calls)
	s.Capture = s.Capture || s.Calls.Audit != nil // for output and tokens
	defer s.holdOutput()()
	defer func() { s.trail, s.Calls.Approver, s.Capture = nil, asked, capture }()
	ctx, span := r.opt.Telemetry.Run(ctx)
	res, err := r.launch(ctx, s, opt)
	span.End(outcomeOf(s, res, err))
	s.trail.end(ctx, s, res, err)
	return res, err
}

// launch is Launch without the end of the run's trail.
func (r *Runner) launch(ctx context.Context, s *Script, opt LaunchOptions) (*Result, error) {
	program, unusable := r.read(ctx, s)
	defer func() { s.was = nil }() // its files may change before the next launch
	bad, _ := errors.AsType[*script.Error](unusable)
	if bad == nil && unusable != nil || program == nil && s.Restricted {
		return nil, unusable
	}
	var report *judge.Report
	if program != nil {
		var err error
		if report, err = r.assess(ctx, s, program, &opt); err != nil {
			return nil, err
		}
		if err := admit(s, report, opt.Policy); err != nil {
			return nil, err
		}
		if opt.Guardrails.RefusesFindings() {
			if err := refuseFindings(s.Name, report); err != nil {
				return nil, err
			}
		}
	}
	need := Need{Name: cmp.Or(opt.Sandbox, Auto), Language: s.Language, Risk: s.Risk}
	need.Risk.Set = max(need.Risk.Set, opt.Trust.Risk())
	choice, err := Choose(ctx, opt.Sandboxes, need)
	if err != nil {
		return nil, err
	}
	s.Backend = choice.Backend
	if bad != nil {
		if h := hint.OtherLanguage(s.Language, s.Code); h != "" && s.Language == sandbox.LangTypeScript {
			bad.Problems[0].Text += "; " + h
		}
		return nil, bad
	}
	if s.Calls.Policy == nil && opt.Policy != nil {
		s.Calls.Policy = opt.Policy
	}
	lowered, err := lower(s, &opt)
	if err != nil {
		return nil, err
	}
	reach, err := grant(s, &opt)
	if err != nil {
		return nil, err
	}
	if err := r.askPlugins(ctx, s); err != nil {
		return nil, err
	}
	if err := r.consent(ctx, s, report); err != nil {
		return nil, err
	}
	end, err := r.inherit(ctx, s, report, opt.Policy)
	if err != nil {
		return nil, err
	}
	var res *Result
	defer func() { end(res) }()
	res, err = r.start(ctx, s, &opt, choice, lowered, reach)
	if choice.Raised && notUsable(err) && ctx.Err() == nil { // nothing of the script has run
		need.Risk.Shown = risk.None
		if usual, none := Choose(ctx, opt.Sandboxes, need); none == nil {
			usual.Usual, usual.Reason = false, fmt.Sprintf("sandbox %s does not start here: %v", choice.Backend.Name(), err)
			s.Backend = usual.Backend
			res, err = r.start(ctx, s, &opt, usual, lowered, reach)
		}
	}
	return res, err
}

// assess judges a script and sets its risk.
func (r *Runner) assess(ctx context.Context, s *Script, program *script.Program, opt *LaunchOptions) (*judge.Report, error) {
	report, err := r.judge(ctx, s, program, opt.Sandboxes, judge.Options{
		Restricted: s.Restricted, Commands: opt.Policy.Commands(s.Calls.Subject.Customer),
		Quick: (opt.Policy == nil || !opt.Policy.NeedsProgram()) && !opt.Guardrails.RefusesFindings() && !s.Restricted && s.Risk.Set == risk.None,
	})
	if err != nil {
		return nil, err
	}
	s.Risk.Shown, s.Risk.Why = report.Risk, report.Reason
	return report, nil
}

// admit refuses a script that the policy forbids, or that must be restricted and is not. It sets s.Start, which says whether a person must
// be asked.
func admit(s *Script, report *judge.Report, p *policy.Policy) error {
	s.Start = p.DecideRun(s.Calls.Subject, &policy.Program{Risk: s.Risk, Operations: report.Operations, Network: s.Network, Unread: report.Unread()})
	if s.Confirm && s.Start.Effect == policy.Allow {
		s.Start = policy.Decision{Effect: policy.Ask, Rule: ConfirmRule}
	}
	if s.Start.Effect == policy.Deny {
		return &policy.RunError{Script: s.Name, Decision: s.Start}
	}
	if s.Restricted {
		return refuse(s.Name, report)
	}
	return nil
}

// start announces the sandbox and runs the script there.
func (r *Runner) start(ctx context.Context, s *Script, opt *LaunchOptions, choice Choice, lowered []string, reach *granted) (*Result, error) {
	if opt.Starting != nil {
		if err := opt.Starting(choice, lowered); err != nil {
			return nil, err
		}
	}
	if err := s.trail.begin(ctx, s); err != nil {
		return nil, err
	}
	res, err := r.run(ctx, *s, s.was.program, reach)
	if err == nil {
		r.askAfter(ctx, s, res)
	}
	return res, err
}

// notUsable reports whether a run failed because its sandbox does not work here.
func notUsable(err error) bool { return exit.Of(err, 0) == exit.NoBackend }

// lower lowers the limits of a script to the ceilings of the policy and the guardrails, and returns the names of those that it has changed.
func lower(s *Script, opt *LaunchOptions) (lowered []string, err error) {
	maxTime, maxMemory := opt.Guardrails.Ceilings()
	if opt.Policy == nil && maxTime == 0 {
		return nil, nil
	}
	top := config.PolicyCeilings{}
	if opt.Policy != nil {
		top = opt.Policy.Ceilings(s.Calls.Subject.Customer)
	}
	note := func(name string, changed bool) {
		if changed {
			lowered = append(lowered, name)
		}
	}
	s.Timeout, s.Limits = s.timeout(), s.Limits.WithDefaults()
	isLate := lowerTo(&s.Timeout, top.Timeout)
	note("timeout", lowerTo(&s.Timeout, maxTime) || isLate)
	if top.CPU > 0 && s.Limits.CPU == 0 {
		s.Limits.CPU = top.CPU
	}
	note("cpu", lowerTo(&s.Limits.CPU, top.CPU))
	note("processes", lowerTo(&s.Limits.Processes, top.Processes))
	for _, size := range []struct {
		name, text string
		limit      *int64
	}{{"memory", top.Memory, &s.Limits.Memory}, {"disk", top.Disk, &s.Limits.Disk}} {
		if size.text == "" {
			continue
		}
		most, err := config.ParseSize(size.text)
		if err != nil {
			return nil, fmt.Errorf("policy.ceilings.%s: %w", size.name, err)
		}
		note(size.name, lowerTo(size.limit, most))
	}
	if lowerTo(&s.Limits.Memory, maxMemory) && !slices.Contains(lowered, "memory") {
		lowered = append(lowered, "memory")
	}
	return lowered, nil
}

// lowerTo lowers a limit to a ceiling. A ceiling of zero means no ceiling.
func lowerTo[T cmp.Ordered](limit *T, ceiling T) bool {
	var none T
	if ceiling == none || *limit <= ceiling {
		return false
	}
	*limit = ceiling
	return true
}
