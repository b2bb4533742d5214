package chain

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/pii"
	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/record"
)

// Bounds of a run's calls in the record, in bytes: the arguments of a call, those of all calls, and those of a call beyond that. A script
// cannot hide a call behind others.
const (
	maxRowArguments  = 8 << 10
	maxRunArguments  = 8 << 20
	maxMoreArguments = 500
)

// maxUnsent bounds how many calls of a run have a row although they were not sent. A script can make as many as it likes.
const maxUnsent = 10_000

// audit adds a call to the record before it is sent. If the row cannot be made durable, the call is not sent.
func (c *Calls) audit(next handler) handler {
	if c.set.Audit == nil || c.player != nil { // nothing is sent
		return next
	}
	return func(ctx context.Context, req *request) (*call.Result, error) {
		row := audit.CallStart{Call: req.Seq, Tool: req.Tool, Hint: audit.Text(req.hint), Arguments: c.rowArguments(req), Plugins: c.rowPlugins(req)}
		row.Effect, row.Rule, row.By = decidedBy(req.decision)
		err := c.set.Audit.Intend(ctx, c.row(audit.KindCall, row))
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, callError(ctx, req, ctx.Err())
		case err != nil:
			c.advise(req, "the call was not made, because the record cannot be written: %v", err)
			failed := refusal(call.KindInternal, req, "nothing was sent, because the record of calls cannot be written: whoever started mcprun is told why")
			failed.Cause = err
			return nil, failed
		}
		req.isAudited = true
		return next(ctx, req)
	}
}

// auditEnd adds the end of a call to the record, unless the journal has answered it: it ended there before. One that is refused as unknown
// ends now. A call without an intent of this process has its arguments and what decided about it.
func (c *Calls) auditEnd(req *request, rec *CallRecord, failed error) {
	if c.set.Audit == nil || req.isReplayed || !req.isAudited && c.unsent.Add(1) > maxUnsent {
		return
	}
	mask := c.rowMask(req)
	row := audit.CallEnd{Call: rec.Call, Tool: rec.Tool, Hint: audit.Text(req.hint), Outcome: rec.Outcome, DurationMS: rec.DurationMS, ResultBytes: rec.ResultBytes, Cached: rec.Cached, AgeMS: rec.AgeMS, Plugins: c.rowPlugins(req)}
	if c.chain.knownName(req) == "" { // the script's text
		row.Tool = mask.String(row.Tool)
	}
	switch {
	case rec.ToolError:
		row.Outcome = string(call.KindTool)
	case failed != nil:
		row.Error = audit.Text(ident.Clip(mask.String(messageOf(failed)), maxErrorText))
	}
	if !req.isAudited {
		if hints, known := c.chain.Hints(req.Tool); known && row.Hint == "" {
			row.Hint = audit.Text(hints.Word())
		}
		row.Arguments = c.rowArguments(req)
		row.Effect, row.Rule, row.By = decidedBy(req.decision)
	}
	c.set.Audit.Later(c.row(audit.KindCallEnd, row))
}

// row returns an entry of the record about the run.
func (c *Calls) row(kind audit.Kind, body any) audit.Entry {
	return c.set.Entry(kind, cmp.Or(c.run.Audit, c.run.ID), body)
}

// rowArguments returns the arguments of a call for the record, with tokens, and with the sizes of large members in their place.
func (c *Calls) rowArguments(req *request) json.RawMessage {
	most := maxRowArguments
	if c.audited.Load() > maxRunArguments {
		most = maxMoreArguments
	}
	mask := c.rowMask(req)
	value := audit.Clip(mask.Value(withoutLarge(req.Args)), most)
	c.audited.Add(int64(len(value)))
	return value
}

// rowMask returns the mask for the record of a call, which knows what was restored in its arguments.
func (c *Calls) rowMask(req *request) record.Mask {
	if o, ok := c.set.AuditTokens.(*pii.Outlet); ok && req.restored != nil {
		return c.chain.Mask(o.With(req.restored))
	}
	return c.rows
}

// defaultAllows is the rule of a call that no rule was about, as [policy.Decision.Source] writes it.
const defaultAllows = `rule "default: allow"`

// decidedBy returns what the record says about a decision.
func decidedBy(d *policy.Decision) (effect, rule, by audit.Text) {
	if d == nil {
		return "", "", ""
	}
	if rule = defaultAllows; d.Effect != policy.Allow {
		rule = ""
	}
	if d.Rule != "" {
		rule = audit.Text(ident.Clip(d.Source(), maxErrorText))
	}
	return audit.Text(d.Effect), rule, audit.Text(ident.Clip(d.By, maxErrorText))
}
