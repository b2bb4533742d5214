package report

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/store"
)

// Outcomes of runs and, but for Removed, of calls.
const (
	OK      = "ok"
	Waits   = "waits" // it is a part of a workflow that goes on; the calls of a run do not wait
	Failed  = "failed"
	Refused = "refused" // it was not started, or not sent
	Unknown = "unknown" // it has begun, and the record has no end of it
	Removed = "removed" // retention has removed what the record knew
)

// Run is what the record knows about a run. A nil or empty value is unknown, and null in JSON.
type Run struct {
	ID   string    `json:"run"`
	Time time.Time `json:"time"` // when it began, or was refused
	audit.Who
	Action     audit.Text      `json:"action"`
	Name       audit.Text      `json:"name"`
	Language   audit.Text      `json:"language"`
	Code       audit.Text      `json:"code"`     // filled by [Show], and if the [Filter] says so
	CodeHash   audit.Text      `json:"codeHash"` // the SHA-256 of the code, in hexadecimal
	Modules    []Module        `json:"modules"`  // files and skills that it imported
	Input      json.RawMessage `json:"input"`
	Sandbox    audit.Text      `json:"sandbox"`
	Risk       audit.Text      `json:"risk"`
	RiskReason audit.Text      `json:"riskReason"`
	PII        audit.Text      `json:"pii"` // the mode for personal data
	audit.Machine
	Outcome      string          `json:"outcome"`
	Success      *bool           `json:"success"`
	ExitCode     *int            `json:"exitCode"`
	Cause        audit.Text      `json:"cause"`
	Error        audit.Text      `json:"error"`
	Output       audit.Text      `json:"output"`
	OutputBytes  *int            `json:"outputBytes"`
	OutputHash   audit.Text      `json:"outputHash"`
	Stderr       audit.Text      `json:"stderr"`
	StderrBytes  *int            `json:"stderrBytes"`
	StderrHash   audit.Text      `json:"stderrHash"`
	Result       json.RawMessage `json:"result"`
	DurationMS   *float64        `json:"durationMs"`
	TokensUsed   *int            `json:"tokensUsed"`
	TokensSaved  *int            `json:"tokensSaved"`
	Approved     *bool           `json:"approved"`
	AutoApproved *bool           `json:"autoApproved"`
	By           audit.Text      `json:"by"`   // who approved it
	Rule         audit.Text      `json:"rule"` // that decided whether it starts
	Violations   []string        `json:"violations"`
	CallCount    *int            `json:"callCount"`
	Files        []string        `json:"files"` // that it wrote
}

// Module is a file that a run imported.
type Module struct {
	audit.Module
	Code audit.Text `json:"code"` // filled by [Show]
}

// Filter selects runs. The zero value selects all of them.
type Filter struct {
	From, To                time.Time // From ≤ time < To; zero: unbounded
	Customer, Session, User string
	Risk                    string
	Tool                    string // only runs that called it, or tried to
	Changes                 bool   // only runs with a call that may have changed something
	Failed                  bool   // only runs that did not succeed: failed, refused and unknown ones
	Violations              bool   // only runs with violations
	Limit                   int    // the latest ones; zero: no limit
	Code                    bool   // fill in the code
}

func (f *Filter) who(w *audit.Who) bool {
	return (f.Customer == "" || f.Customer == string(w.Customer)) && (f.Session == "" || f.Session == string(w.Session)) &&
		(f.User == "" || f.User == string(w.User))
}

func (f *Filter) run(r *Run) bool {
	return f.who(&r.Who) && (f.Risk == "" || f.Risk == string(r.Risk)) &&
		(!f.Failed || r.Outcome != OK && r.Outcome != Waits && r.Outcome != Removed) && (!f.Violations || len(r.Violations) > 0)
}

var errEnough = errors.New("enough")

// List returns the selected runs, the latest first.
func List(ctx context.Context, rec store.Record, f Filter) ([]*Run, error) {
	runs := []*Run{}
	err := Each(ctx, rec, f, func(r *Run) error {
		runs = append(runs, r)
		if f.Limit > 0 && len(runs) == f.Limit && f.To.IsZero() { // otherwise a later one may follow
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	slices.SortStableFunc(runs, func(a, b *Run) int { return b.Time.Compare(a.Time) })
	if f.Limit > 0 {
		runs = runs[:min(len(runs), f.Limit)]
	}
	for _, r := range runs {
		if err := r.countCalls(ctx, rec); err != nil {
			return nil, err
		}
	}
	return runs, nil
}

// countCalls counts the calls of a run without an end.
func (r *Run) countCalls(ctx context.Context, rec store.Record) error {
	if r.Outcome != Unknown || r.CallCount != nil {
		return nil
	}
	calls := map[int]bool{}
	kinds := []string{string(audit.KindCall), string(audit.KindCallEnd)}
	err := rec.Rows(ctx, store.Range{Run: r.ID, Kinds: kinds}, func(s store.Row) error {
		row, err := decode(s)
		if err == nil && !row.Forgotten {
			err = with(row, func(b *struct{ Call int }) { calls[b.Call] = true })
		}
		return err
	})
	n := len(calls)
	r.CallCount = &n
	return err
}

// Each calls each with the selected runs, the latest first but for those that reach over a bound of the period. The filter's Limit is ignored.
func Each(ctx context.Context, rec store.Record, f Filter, each func(*Run) error) error {
	w := &walk{from: f.From, to: f.To, kinds: []audit.Kind{}}
	if f.Tool != "" || f.Changes {
		w.kinds = []audit.Kind{audit.KindCall, audit.KindCallEnd}
	}
	callers := map[string]bool{}
	w.row = func(r *row) error {
		c, err := callOf(r)
		callers[r.Run] = callers[r.Run] || c != nil && (f.Tool == "" || c.Tool == f.Tool) && (!f.Changes || c.changes())
		return err
	}
	w.run = func(r *Run) error {
		if !f.run(r) || (f.Tool != "" || f.Changes) && !callers[r.ID] {
			return nil
		}
		if f.Code {
			if err := r.readCode(ctx, rec); err != nil {
				return err
			}
		}
		return each(r)
	}
	return w.do(ctx, rec)
}

func (r *Run) readCode(ctx context.Context, rec store.Record) error {
	var err error
	r.Code, err = codeOf(ctx, rec, string(r.CodeHash))
	return err
}

// codeOf returns the code with a digest, or "" if retention has removed it.
func codeOf(ctx context.Context, rec store.Record, digest string) (audit.Text, error) {
	if digest == "" {
		return "", nil
	}
	code, err := rec.Code(ctx, digest)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	return audit.Text(code), err
}

// walk reads rows, the latest first, and puts runs together.
type walk struct {
	from, to time.Time
	kinds    []audit.Kind     // of other rows; nil: all, empty: none
	row      func(*row) error // is given the other rows
	run      func(*Run) error // is given the runs, whose order is that of their beginnings but for those that it had to look for

	ends       map[string]*row // of runs whose beginning was not seen yet
	done       map[string]bool // runs that never started, by their ends
	unresolved []*row          // beginnings without an end before to
}

func (w *walk) do(ctx context.Context, rec store.Record) error {
	w.ends, w.done = map[string]*row{}, map[string]bool{}
	r := store.Range{From: w.from, To: w.to, NewestFirst: true}
	if w.kinds != nil {
		r.Kinds = []string{string(audit.KindRun), string(audit.KindRunEnd)}
		for _, k := range w.kinds {
			r.Kinds = append(r.Kinds, string(k))
		}
	}
	err := rec.Rows(ctx, r, func(s store.Row) error {
		row, err := decode(s)
		if err != nil {
			return err
		}
		switch row.Kind {
		case audit.KindRun:
			return w.begin(row)
		case audit.KindRunEnd:
			return w.end(row)
		}
		return w.row(row)
	})
	if err != nil {
		return err
	}
	return w.resolve(ctx, rec)
}

func (w *walk) end(r *row) error {
	run, err := newRun(nil, r)
	if err != nil {
		return err
	}
	if run.Sandbox != "none" {
		w.ends[r.Run] = r
		return nil
	}
	w.done[r.Run] = true
	return w.run(run)
}

func (w *walk) begin(r *row) error {
	end := w.ends[r.Run]
	delete(w.ends, r.Run)
	if w.done[r.Run] {
		delete(w.done, r.Run)
		return nil
	}
	if end == nil && !w.to.IsZero() {
		w.unresolved = append(w.unresolved, r)
		return nil
	}
	return w.emit(r, end)
}

func (w *walk) emit(begin, end *row) error {
	run, err := newRun(begin, end)
	if err != nil {
		return err
	}
	return w.run(run)
}

// resolve looks beyond the period: for ends of what began in it, and for beginnings of what ended in it.
func (w *walk) resolve(ctx context.Context, rec store.Record) error {
	for _, begin := range w.unresolved {
		end, err := find(ctx, rec, begin.Run, audit.KindRunEnd)
		if err != nil {
			return err
		}
		if end != nil {
			if run, err := newRun(begin, end); err != nil || run.Sandbox == "none" {
				if err != nil {
					return err
				}
				continue // it counts when it was refused
			}
		}
		if err := w.emit(begin, end); err != nil {
			return err
		}
	}
	for _, end := range w.ends {
		begin, err := find(ctx, rec, end.Run, audit.KindRun)
		if err != nil {
			return err
		}
		if begin == nil {
			if err := w.emit(nil, end); err != nil {
				return err
			}
		}
	}
	return nil
}

// find returns the last row of a kind that a run has, or nil.
func find(ctx context.Context, rec store.Record, run string, kind audit.Kind) (found *row, err error) {
	err = rec.Rows(ctx, store.Range{Run: run, Kinds: []string{string(kind)}}, func(s store.Row) error {
		found, err = decode(s)
		return err
	})
	return found, err
}

// newRun puts a run together from its two rows, one of which may be nil.
func newRun(begin, end *row) (*Run, error) {
	first := cmp.Or(begin, end)
	run := &Run{ID: first.Run, Time: first.Time, Who: first.Who, Outcome: Unknown}
	if begin != nil && !begin.Forgotten {
		b, err := body[audit.RunStart](begin)
		if err != nil {
			return nil, err
		}
		run.set(&b.Program)
		run.Sandbox = b.Sandbox
	}
	if end != nil && !end.Forgotten {
		e, err := body[audit.RunEnd](end)
		if err != nil {
			return nil, err
		}
		run.Who = end.Who
		run.set(&e.Program)
		run.finish(e)
		return run, nil
	}
	if end != nil || begin.Forgotten {
		run.Outcome = Removed
	}
	return run, nil
}

func (r *Run) set(p *audit.Program) {
	r.Action, r.Name, r.Language, r.CodeHash = audit.Text(p.Action), p.Name, p.Language, p.Code
	r.Input, r.Risk, r.RiskReason, r.PII, r.Machine = known(p.Input), p.Risk, p.RiskReason, p.PII, p.Machine
	r.Modules = nil
	for _, m := range p.Modules {
		r.Modules = append(r.Modules, Module{Module: m})
	}
}

func (r *Run) finish(e *audit.RunEnd) {
	r.Sandbox, r.Success, r.ExitCode, r.Cause = audit.Text(e.Sandbox), &e.Success, &e.ExitCode, audit.Text(e.Cause)
	r.Error, r.Output, r.Result, r.DurationMS = e.Error, e.Output, known(e.Result), &e.DurationMS
	r.OutputBytes, r.OutputHash, r.Stderr, r.StderrBytes, r.StderrHash = &e.OutputBytes, e.OutputHash, e.Stderr, &e.StderrBytes, e.StderrHash
	r.TokensUsed, r.TokensSaved, r.Approved, r.AutoApproved = e.TokensUsed, e.TokensSaved, &e.Approved, &e.AutoApproved
	r.By, r.Rule, r.Violations, r.CallCount, r.Files = e.By, e.Rule, e.Violations, &e.Calls, e.Files
	r.Outcome = outcomeOf(e)
}

// outcomeOf returns the outcome of a run that has ended.
func outcomeOf(e *audit.RunEnd) string {
	switch {
	case e.Success && e.Cause == "suspended":
		return Waits
	case e.Success:
		return OK
	case e.Sandbox == "none" && e.ExitCode == exit.Refused:
		return Refused
	}
	return Failed
}

// known returns a JSON value, or nil for null.
func known(v json.RawMessage) json.RawMessage {
	if bytes.Equal(v, []byte("null")) {
		return nil
	}
	return v
}
