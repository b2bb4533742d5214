package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/egress"
	"github.com/mcpgen/mcpgen/runner/store"
)

// Detail is everything that the record knows about a run. Its lists are never nil.
type Detail struct {
	Run
	Calls       []Call         `json:"calls"` // by number
	Approvals   []Approval     `json:"approvals"`
	Connections []egress.Event `json:"connections"`
	Personal    map[string]int `json:"personal"` // values that left as tokens, by type
	Clear       map[string]int `json:"clear"`    // values that left as they are
	Rows        []int64        `json:"rows"`    // indexes of its rows
	Removed     int            `json:"removed"` // rows whose contents retention has removed
}

// Approval is a question that a person was asked, and the answer.
type Approval struct {
	Time time.Time `json:"time"`
	audit.Approval
}

// NotFoundError says that the record has no such run, or no such row.
type NotFoundError struct{ Run, Row string }

func (e *NotFoundError) Error() string {
	if e.Row != "" {
		return "the record has no row " + e.Row
	}
	return fmt.Sprintf("the record has no run %.80q", e.Run)
}

// Hint says where runs are listed.
func (e *NotFoundError) Hint() string { return "mcprun audit list shows the runs" }

// Show returns everything about a run, or a *[NotFoundError].
func Show(ctx context.Context, rec store.Record, id string) (*Detail, error) {
	if id == "" { // it would select all rows
		return nil, &NotFoundError{}
	}
	d := &Detail{Calls: []Call{}, Approvals: []Approval{}, Connections: []egress.Event{}, Personal: map[string]int{}, Clear: map[string]int{}, Rows: []int64{}}
	var begin, end *row
	calls := map[int]*Call{}
	err := rec.Rows(ctx, store.Range{Run: id}, func(s store.Row) error {
		r, err := decode(s)
		if err != nil {
			return err
		}
		d.Rows = append(d.Rows, r.Index)
		switch {
		case r.Kind == audit.KindRun:
			begin = r
		case r.Kind == audit.KindRunEnd:
			end = r
		case r.Forgotten:
		default:
			err = d.add(r, calls)
		}
		if r.Forgotten {
			d.Removed++
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(d.Rows) == 0 {
		return nil, &NotFoundError{Run: id}
	}
	d.Run = Run{ID: id, Outcome: Unknown}
	if begin != nil || end != nil {
		run, err := newRun(begin, end)
		if err != nil {
			return nil, err
		}
		d.Run = *run
	}
	for _, c := range calls {
		d.Calls = append(d.Calls, *c)
	}
	slices.SortFunc(d.Calls, func(a, b Call) int { return cmp.Compare(a.Call, b.Call) })
	if n := len(d.Calls); d.Outcome == Unknown {
		d.CallCount = &n
	}
	for i := range d.Modules {
		m := &d.Modules[i]
		if m.Code, err = codeOf(ctx, rec, m.Digest); err != nil {
			return nil, err
		}
	}
	return d, d.readCode(ctx, rec)
}

func addAll(sum, more map[string]int) {
	for name, n := range more {
		sum[name] += n
	}
}

func (d *Detail) add(r *row, calls map[int]*Call) error {
	at := func(n int) *Call {
		if calls[n] == nil {
			calls[n] = &Call{}
		}
		return calls[n]
	}
	switch r.Kind {
	case audit.KindCall:
		return with(r, func(b *audit.CallStart) { at(b.Call).start(r, b) })
	case audit.KindCallEnd:
		return with(r, func(b *audit.CallEnd) { at(b.Call).finish(r, b) })
	case audit.KindApproval:
		return with(r, func(b *audit.Approval) { d.Approvals = append(d.Approvals, Approval{r.Time, *b}) })
	case audit.KindConnection:
		return with(r, func(b *egress.Event) { d.Connections = append(d.Connections, *b) })
	case audit.KindPersonal:
		return with(r, func(b *audit.Personal) {
			addAll(d.Personal, b.Tokens)
			addAll(d.Clear, b.Clear)
		})
	}
	return nil
}

// with calls do with the content of a row.
func with[T any](r *row, do func(*T)) error {
	b, err := body[T](r)
	if err == nil {
		do(b)
	}
	return err
}
