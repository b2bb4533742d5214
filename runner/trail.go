package runner

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/approve"
	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/egress"
	"github.com/mcpgen/mcpgen/runner/pii"
	"github.com/mcpgen/mcpgen/runner/plugin"
	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/record"
	"github.com/mcpgen/mcpgen/runner/script"
)

// RecordError says that the record of runs cannot be written, so that a script was not started.
type RecordError struct {
	Script string
	Err    error
}

func (e *RecordError) Error() string {
	return fmt.Sprintf("%s was not run, because the record of runs cannot be written: %v", e.Script, e.Err)
}

// Hint says how to go on.
func (*RecordError) Hint() string {
	return "make room for the database that --state names, or make it reachable; --audit=false runs without a record"
}

// ExitCode returns the exit code of a run for which mcprun could not do its work.
func (*RecordError) ExitCode() int { return exit.Runner }

func (e *RecordError) Unwrap() error { return e.Err }

// Bounds of a run's rows in the record. Texts and JSON are in bytes.
const (
	maxRowOutput     = 16 << 10
	maxRowValue      = 32 << 10
	maxRowText       = 2 << 10
	maxRowName       = 300
	maxRowFiles      = 500
	maxRowViolations = 20
)

// trailTime bounds how long the end of a run waits for its rows to be durable.
const trailTime = 10 * time.Second

// trail is what the record has of one run, or of one call without a script. A nil trail records nothing.
type trail struct {
	id      string
	log     *audit.Log // nil: nothing is recorded
	set     chain.Settings
	mask    record.Mask
	code    record.Mask // of the script's code alone, so that the same code has the same digest
	began   time.Time
	program audit.Program
	clear   map[string]int  // personal data that left as it is, by type
	read    *script.Program // nil: nothing was read
	started bool            // the intent is in the record
	plugins []audit.Plugin  // what plugins did about the script
	// unchecked are warnings about plugins that let it pass without an answer.
	unchecked []string
}

// newTrail returns the trail of a run with the settings. Its answers of people are in the record from now on.
func (r *Runner) newTrail(prefix string, set *chain.Settings) *trail {
	t := &trail{id: newID(prefix), log: set.Audit, began: time.Now()}
	if t.log != nil {
		t.mask, t.code = r.chain.RecordMask(set), r.chain.RecordMask(&chain.Settings{Personal: set.Personal})
		for _, told := range []*audit.Text{&set.Who.Client, &set.Who.ClientVersion, &set.Who.Model, &set.Who.ModelVersion} { // by a client
			*told = t.text(string(*told), maxRowName)
		}
		set.Approver = approve.Recorded(set.Approver, t.log, t.entry)
	}
	t.set = *set
	return t
}

// entry returns an entry of the record about the run.
func (t *trail) entry(kind audit.Kind, body any) audit.Entry { return t.set.Entry(kind, t.id, body) }

// text returns a text for the record: with tokens, and at most so many bytes of it. It is masked whole, since half of an address would not be
// recognized.
func (t *trail) text(text string, most int) audit.Text {
	if text == "" {
		return ""
	}
	return audit.Text(ident.Clip(t.mask.String(text), most))
}

// name returns who answered, or a rule: words of an operator, which the record has as they are.
func name(text string) audit.Text { return audit.Text(ident.Clip(text, maxRowText)) }

// value is text for JSON.
func (t *trail) value(raw json.RawMessage, most int) json.RawMessage {
	return audit.Clip(t.mask.Value(raw), most)
}

// begin adds to the record that a script is about to start, durably. A *RecordError means that it must not.
func (t *trail) begin(ctx context.Context, s *Script) error {
	if t.log == nil || t.started {
		return nil
	}
	err := t.describe(ctx, s)
	if err == nil {
		err = t.log.Append(ctx, t.entry(audit.KindRun, audit.RunStart{Program: t.program, Sandbox: audit.Text(s.Backend.Name())}))
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return &RecordError{Script: s.Name, Err: err}
	}
	t.started = true
	return nil
}

// describe sets what the record has of a script at its start and at its end.
func (t *trail) describe(ctx context.Context, s *Script) error {
	digest, err := t.log.Code(ctx, t.code.String(s.Code))
	t.program = audit.Program{
		Action: "execute_code", PII: t.mode(), Machine: t.set.Machine, Modules: []audit.Module{}, Name: t.text(s.Name, maxRowName), Language: audit.Text(s.Language), Code: audit.Text(digest), Input: t.input(s),
		Risk: audit.Text(s.Risk.Overall().String()), RiskReason: t.text(s.Risk.Reason(), maxRowText),
	}
	if s.was == nil || s.was.program == nil {
		return err
	}
	t.read = s.was.program
	return cmp.Or(err, t.modules(ctx))
}

// modules adds the files and skills that the script has imported so far to the record.
func (t *trail) modules(ctx context.Context) error {
	if t.read == nil {
		return nil
	}
	texts := t.read.Imported()
	for _, file := range slices.Sorted(maps.Keys(texts)) {
		known := func(m audit.Module) bool { return m.Name == file }
		if len(t.program.Modules) == maxRowFiles || slices.ContainsFunc(t.program.Modules, known) {
			continue
		}
		digest, err := t.log.Code(ctx, t.code.String(texts[file]))
		if err != nil {
			return err
		}
		t.program.Modules = append(t.program.Modules, audit.Module{Name: file, Digest: digest})
	}
	return nil
}

// mode describes what is done with personal data.
func (t *trail) mode() audit.Text { return name(t.set.Personal.String()) }

// options returns what is recorded of calls' settings too.
func (t *trail) options() map[string]any {
	options := map[string]any{}
	if t.set.Unguarded {
		options["guardrails"] = false
	}
	return options
}

// input returns the arguments, variables and options of a script.
func (t *trail) input(s *Script) json.RawMessage {
	options := t.options()
	options["timeoutMs"], options["memoryBytes"] = s.timeout().Milliseconds(), s.limits().Memory
	for name, on := range map[string]bool{"network": s.Network, "restricted": s.Restricted, "dryRun": s.Calls.DryRun, "replay": s.Calls.Replay != nil} {
		if on {
			options[name] = true
		}
	}
	if s.Calls.Workflow != "" {
		options["workflow"] = s.Calls.Workflow
	}
	part := func(v any, most int) json.RawMessage {
		raw, err := json.Marshal(v)
		if err != nil {
			return nil // the caller's variables are JSON
		}
		return t.value(raw, most)
	}
	return part(map[string]any{"arguments": part(s.Args, maxRowValue/2), "variables": part(s.Vars, maxRowValue/2), "options": options}, 2*maxRowValue)
}

// end adds how a script ended, or why it did not start, to the record, and waits until all rows of the run are durable. If they are not,
// the result says so.
func (t *trail) end(ctx context.Context, s *Script, res *Result, failed error) {
	if t.log == nil {
		return
	}
	done, cancel := context.WithTimeout(context.WithoutCancel(ctx), trailTime)
	defer cancel()
	if !t.started {
		_ = t.describe(done, s) // the flush has its error
	} else if t.read != nil && t.read.Import != nil {
		_ = t.modules(done) // those with computed paths
	}
	row := t.result(s, res)
	if failed != nil {
		t.failure(&row, s, failed)
	}
	if cause := context.Cause(ctx); cause != nil && (res == nil || res.Cause == CauseInterrupted) {
		row.ExitCode = exit.Of(cause, row.ExitCode) // that of the signal
	}
	row.Success = row.ExitCode == 0 && res.Succeeded()
	if t.started && !notUsable(failed) {
		row.Approved, row.AutoApproved = true, s.Start.Effect != policy.Ask
	}
	t.finish(done, row, res)
}

// NotStarted adds to the record, with Script.Calls.Audit, that a script was not started: for what fails before [Runner.Launch], such as a plan
// that was made for another script. It does nothing once Launch was called, or if failed is nil.
func (r *Runner) NotStarted(ctx context.Context, s *Script, failed error) {
	if failed == nil || s.launched {
		return
	}
	set := s.Calls
	r.newTrail("run-", &set).end(ctx, s, nil, failed)
}

// Refused adds to the record, with Settings.Audit, that a script or a call without a script was refused before there was one, such as by its
// arguments or for lack of room. action is that of an [audit.Program], and name that of the script or the tool. It costs one row, which has no
// code, and does not wait until that is durable.
func (r *Runner) Refused(set chain.Settings, action, name, reason string) {
	t := r.newTrail("run-", &set)
	if t.log == nil {
		return
	}
	t.request(action, name, r.chain)
	row := t.result(&Script{}, nil)
	row.ExitCode, row.Error = exit.Refused, t.text(reason, maxRowText)
	t.log.Later(t.entry(audit.KindRunEnd, row))
}

// finish adds the last rows, and waits for all of them.
func (t *trail) finish(ctx context.Context, row audit.RunEnd, res *Result) {
	switch {
	case res == nil:
	case t.set.Personal != nil:
		texts := append([]string{res.Stdout, res.Stderr, string(res.Value), res.Message}, append(res.Warnings, res.TypeErrors...)...)
		if res.Error != nil {
			texts = append(texts, res.Error.Name, res.Error.Message, res.Error.Stack)
		}
		t.personal(audit.Personal{Tokens: pii.CountTokens(texts...)})
	default:
		t.personal(audit.Personal{Tokens: map[string]int{}, Clear: t.clear})
	}
	t.log.Later(t.entry(audit.KindRunEnd, row))
	if err := t.log.FlushRun(ctx, t.id); err != nil && res != nil {
		res.Warnings = append(res.Warnings, "the record of this run is incomplete; whoever started mcprun is told why")
	}
}

// personal adds to the record how much personal data left, if any.
func (t *trail) personal(row audit.Personal) {
	if len(row.Tokens)+len(row.Clear) > 0 {
		t.log.Later(t.entry(audit.KindPersonal, row))
	}
}

// stream returns the end of an output stream for the record, and the length and the digest of what was masked. It counts what left as it is.
func (t *trail) stream(out string) (end audit.Text, size int, hash audit.Text) {
	if out == "" {
		return "", 0, ""
	}
	out = t.mask.String(out)
	t.left(out)
	if len(out) <= maxRowOutput {
		return audit.Text(out), len(out), ""
	}
	return audit.Text("…" + ident.Tail(out, maxRowOutput)), len(out), audit.Text(fmt.Sprintf("%x", sha256.Sum256([]byte(out))))
}

// left counts the personal data in a masked text that left as it is.
func (t *trail) left(masked string) {
	if t.set.Personal != nil {
		return
	}
	if t.clear == nil {
		t.clear = map[string]int{}
	}
	for kind, n := range pii.CountPrivate(masked) {
		t.clear[kind] += n
	}
}

// result returns the row for a result, which may be nil.
func (t *trail) result(s *Script, res *Result) audit.RunEnd {
	row := audit.RunEnd{
		Program: t.program, Sandbox: "none", Cause: string(CauseFailed), DurationMS: ms(time.Since(t.began)), By: name(s.Start.By), Violations: []string{}, Files: []string{},
	}
	if s.Start.Rule != "" {
		row.Rule = name(s.Start.Source())
	}
	for _, p := range t.plugins {
		p.Reason = t.text(string(p.Reason), maxRowText)
		row.Plugins = append(row.Plugins, p)
	}
	if res == nil {
		return row
	}
	row.Sandbox, row.ExitCode, row.Cause, row.DurationMS, row.Calls = res.Sandbox, res.ExitCode, string(res.Cause), res.DurationMS, res.CallCount
	row.Output, row.OutputBytes, row.OutputHash = t.stream(res.Stdout)
	row.Stderr, row.StderrBytes, row.StderrHash = t.stream(res.Stderr)
	result := t.mask.Value(res.Value)
	t.left(string(result))
	row.Result = audit.Clip(result, maxRowValue)
	switch {
	case res.Error != nil:
		row.Error = t.text(res.Error.Name+": "+res.Error.Message, maxRowText)
	case !res.Succeeded():
		row.Error = t.text(cmp.Or(res.Message, fmt.Sprintf("exit code %d", res.ExitCode)), maxRowText)
	}
	t.left(string(row.Error))
	if res.Tokens != nil {
		row.TokensUsed, row.TokensSaved = &res.Tokens.Used, &res.Tokens.Saved
	}
	for _, f := range res.Files[:min(len(res.Files), maxRowFiles)] {
		row.Files = append(row.Files, string(t.text(f, maxRowName)))
	}
	row.Violations = t.violations(res)
	return row
}

// violations lists the calls and connections that rules refused, each once.
func (t *trail) violations(res *Result) []string {
	out, seen := []string{}, map[string]bool{}
	for i := range res.Plugins {
		if p := &res.Plugins[i]; p.Decision != string(plugin.Change) {
			out = append(out, string(t.text(p.String(), maxRowText)))
		}
	}
	add := func(text string) {
		if text = t.mask.String(text); len(out) < maxRowViolations && !seen[text] {
			seen[text] = true
			out = append(out, ident.Clip(text, maxRowText))
		}
	}
	for i := range res.Calls {
		if c := &res.Calls[i]; c.Policy != nil && c.Policy.Effect == policy.Deny && c.Outcome == string(call.KindDenied) {
			add("call of " + c.Tool + ": " + c.Policy.Source())
		}
	}
	for i := range res.Calls {
		for _, p := range res.Calls[i].Plugins {
			if p.Decision != string(plugin.Change) {
				add("call of " + res.Calls[i].Tool + ": " + p.String())
			}
		}
	}
	for i := range res.Connections {
		if e := &res.Connections[i]; e.Check != "" {
			add(fmt.Sprintf("connection to %s:%d: %s", e.Host, e.Port, e.Check))
		}
	}
	return out
}

// failure adds to a row why a script did not start.
func (t *trail) failure(row *audit.RunEnd, s *Script, failed error) {
	row.ExitCode, row.Error = exit.Of(failed, exit.Runner), t.text(failed.Error(), maxRowText)
	if t.started && !notUsable(failed) {
		row.Sandbox = s.Backend.Name()
	}
	refused, byRule := errors.AsType[*policy.RunError](failed)
	restricted, isRestricted := errors.AsType[*RestrictedError](failed)
	denied, byPlugin := errors.AsType[*PluginError](failed)
	switch {
	case byPlugin:
		row.Violations = []string{string(t.text(denied.Denied.Error(), maxRowText))}
	case byRule:
		row.By, row.Rule = name(refused.Decision.By), name(refused.Decision.Source())
		row.Violations = []string{string(row.Error)}
	case isRestricted:
		row.Rule = "restricted"
		for _, f := range restricted.Findings[:min(len(restricted.Findings), maxRowViolations)] {
			row.Violations = append(row.Violations, string(t.text(f.String(), maxRowText)))
		}
	case row.ExitCode == exit.Refused:
		row.Violations = []string{string(row.Error)}
	}
}

// connection adds a connection of the run to the record.
func (t *trail) connection(e egress.Event) {
	if t == nil || t.log == nil {
		return
	}
	hideConnection(t.mask.String, &e)
	t.log.Later(t.entry(audit.KindConnection, e))
}

// beginCall adds to the record that a call is about to be made without a script. The row is durable with the call's own.
func (t *trail) beginCall(tool string, ch *chain.Chain) {
	if t.log == nil {
		return
	}
	t.request("call_tool", tool, ch)
	t.log.Later(t.entry(audit.KindRun, audit.RunStart{Program: t.program}))
}

// request records a script or a tool by its name alone, and the risk of a tool.
func (t *trail) request(action, name string, ch *chain.Chain) {
	t.program = audit.Program{Action: action, Name: t.text(name, maxRowName), PII: t.mode(), Machine: t.set.Machine, Modules: []audit.Module{}}
	if options := t.options(); len(options) > 0 {
		t.program.Input, _ = json.Marshal(map[string]any{"options": options}) // names and truth values
	}
	if hints, known := ch.Hints(name); known {
		level, why := hints.Risk()
		t.program.Risk, t.program.RiskReason = audit.Text(level.String()), audit.Text(why)
	}
}

// endCall adds to the record how a call without a script ended.
func (t *trail) endCall(res *call.Result, rec *chain.CallRecord, failed error) {
	if t.log == nil {
		return
	}
	row := audit.RunEnd{
		Program: t.program, Sandbox: "none", Cause: string(CauseExit), DurationMS: ms(time.Since(t.began)), Violations: []string{}, Files: []string{}, Calls: 1,
		Approved: !slices.Contains([]string{"", chain.OutcomeDry, string(call.KindDenied), string(call.KindArgument)}, rec.Outcome) || audit.Answered(rec.Plugins),
	}
	row.AutoApproved = row.Approved
	if d := rec.Policy; d != nil {
		row.By, row.Rule, row.AutoApproved = name(d.By), name(d.Source()), row.Approved && d.Effect != policy.Ask
	}
	row.Violations = t.violations(&Result{Calls: []chain.CallRecord{*rec}})
	switch bad, isCall := errors.AsType[*call.Error](failed); {
	case isCall:
		row.ExitCode, row.Cause, row.Error = bad.Kind.ExitCode(exit.Runner), string(CauseError), t.text(bad.Error(), maxRowText)
	case failed != nil:
		row.ExitCode, row.Cause, row.Error = exit.Of(failed, exit.Runner), string(CauseFailed), t.text(failed.Error(), maxRowText)
	case rec.ToolError:
		row.ExitCode, row.Cause, row.Error = exit.Failed, string(CauseError), "the tool reported a failure in its result"
	}
	row.Success = row.ExitCode == 0
	if t.set.Personal != nil && res != nil {
		t.personal(audit.Personal{Tokens: pii.CountTokens(string(res.Value))})
	}
	t.log.Later(t.entry(audit.KindRunEnd, row))
}
