package approve

import (
	"context"
	"time"

	"github.com/mcpgen/mcpgen/runner/audit"
)

// Recorded returns an Approver that asks a, and adds a row with each answer to the record, behind earlier rows. entry makes an entry of the
// record of a kind and a body. If a or log is nil, it returns a.
func Recorded(a Approver, log *audit.Log, entry func(audit.Kind, any) audit.Entry) Approver {
	if a == nil || log == nil {
		return a
	}
	return &recorded{a, log, entry}
}

type recorded struct {
	Approver
	log   *audit.Log
	entry func(audit.Kind, any) audit.Entry
}

// Approve implements Approver.
func (r *recorded) Approve(ctx context.Context, q *Question) (Answer, error) {
	began := time.Now()
	a, err := r.Approver.Approve(ctx, q)
	row := audit.Approval{
		Subject: "call", Tool: audit.Text(q.Tool), Call: q.Call, Rule: audit.Text(q.Rule), Answer: "refused", By: audit.Text(a.By),
		WaitMS: float64(time.Since(began).Microseconds()) / 1000,
	}
	switch {
	case q.Plan != nil:
		row.Subject = "plan"
	case q.Start != nil:
		row.Subject = "run"
	case q.Connection != "":
		row.Subject = "connection"
	}
	switch {
	case err != nil || !a.Scope.allows() && a.By == "":
		row.Answer = "no answer"
	case a.Scope.allows():
		row.Answer = "approved"
	}
	r.log.Later(r.entry(audit.KindApproval, row))
	return a, err
}
