package chain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/call"
)

// report is the outermost stage: it numbers the call and records how it ended.
func (c *Calls) report(next handler) handler {
	return func(ctx context.Context, req *request) (*call.Result, error) {
		start := time.Now()
		args := req.Args // as the script sent them
		req.Seq = c.number(req.Seq)
		if c.run.Watch != nil {
			req.waiting.changed = func(what waitFor) {
				c.tell(Event{Kind: EventWaiting, Call: req.Seq, Tool: req.Tool, Message: what.words(req.Server)})
			}
		}
		if c.turns != nil {
			req.rank = c.turns.take(ctx, req.Seq, c.chain.knownName(req))
		}
		res, err := next(ctx, req)
		took := time.Since(start)
		rec := CallRecord{
			Call: req.Seq, Tool: ident.Clip(req.Tool, 300), StartMS: ms(start.Sub(c.usage.began)), DurationMS: ms(took), QueueMS: req.queueMS,
			Retries: req.retries, ArgumentBytes: len(args), Outcome: OutcomeOK, Arguments: req.arguments, Planned: req.arguments, Skipped: req.skipped, Drift: req.drift, ToolError: req.isToolError, Plugins: req.plugins, reached: req.waiting.wasSent(), changesNothing: c.chain.changesNothing(req), missed: req.missed,
		}
		if req.decision != nil && req.decision.Rule != "" {
			rec.Policy = req.decision
		}
		if rec.Policy != nil || rec.Plugins != nil {
			rec.Masked = c.usage.decided(c.Mask, req.Args)
		}
		if kept := req.cached; kept != nil {
			rec.Cached, rec.AgeMS, rec.SavedMS = true, ms(c.set.Cache.Now().Sub(kept.Sent)), max(0, ms(kept.Took-took))
		}
		var answer json.RawMessage
		switch {
		case err == nil:
			if answer = res.Value; req.whole != nil {
				answer = req.whole
			}
			rec.ResultBytes = len(answer)
			c.noteAbsent(answer)
			if res.As == call.AsDry {
				rec.Outcome = OutcomeDry
			}
		default:
			rec.Outcome = string(kindOf(err))
			rec.Error = ident.Clip(c.set.Personal.Mask(messageOf(err)), maxErrorText) // masked whole, since half of an address would not be recognized
			if what, waited := req.waiting.now(); what != "" && c.ended() {
				rec.WaitingFor, rec.WaitedMS = what.words(req.Server), ms(waited)
			}
			answer = json.RawMessage(err.Error())
		}
		if c.details != nil {
			rec.Details = c.details.of(req.At, args, answer, &rec)
		}
		c.usage.add(rec, args, answer)
		c.auditEnd(req, &rec, err)
		c.tell(Event{Kind: EventEnded, Call: rec.Call, Tool: rec.Tool, Outcome: rec.Outcome, Message: rec.Error})
		return res, err
	}
}

// maxAbsent is the size, in bytes, of the largest result that is searched for words of missing values.
const maxAbsent = 1 << 20

// noteAbsent notes that the result itself contains the text that scripts print for a missing value.
func (c *Calls) noteAbsent(answer json.RawMessage) {
	for _, w := range [...]struct {
		text string
		has  *atomic.Bool
	}{{"null", &c.nulls}, {"None", &c.nulls}, {"undefined", &c.undefined}, {"NaN", &c.undefined}, {"[object Object]", &c.undefined}} {
		if !w.has.Load() && (len(answer) > maxAbsent || bytes.Contains(answer, []byte(w.text))) {
			w.has.Store(true)
		}
	}
}

// knownName returns the name under which a replay counts the call. It is "" for unknown tools, since a script could invent
// any number of names.
func (ch *Chain) knownName(req *request) string {
	if _, _, ok := ch.catalog.Lookup(req.Tool); ok || req.isAsk {
		return req.Tool
	}
	return ""
}

func kindOf(err error) call.Kind {
	var e *call.Error
	switch {
	case errors.As(err, &e):
		return e.Kind
	case errors.Is(err, context.Canceled):
		return call.KindCancelled
	}
	return call.KindInternal
}

// messageOf returns the message of an error without the name of the tool.
func messageOf(err error) string {
	var e *call.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}
