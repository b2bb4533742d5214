package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"sync"
	"time"
)

// Refusal says that a run or a call was refused before [Options.Run] or [Options.Call] was called: by its arguments, or for lack of room.
type Refusal struct {
	Customer *Customer
	Session  string // the client's session, as in Entry
	Client   Client
	Action   string // "execute_code" or "call_tool"
	Tool     string // that call_tool should have called, as the client sent it; empty: not known
	Reason   string
	// More are refusals of the customer before this one that nobody was told of, because there were too many.
	More int
}

const (
	maxRefusals = 20 // of one customer in refusalTime are told each; the rest is told as one
	refusalTime = time.Minute
)

// refusals tells of the refusals of one customer.
type refusals struct {
	mu    sync.Mutex
	told  int         // since the timer was started
	rest  *Refusal    // the last one that was not told, with the number of others
	timer *time.Timer // calls the function given to admit; nil: it did
}

// admit reports whether to tell of a refusal now. Otherwise takeRest returns it later, when the time is up and turn is called.
func (rs *refusals) admit(r *Refusal, turn func()) bool {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.timer == nil {
		rs.timer = time.AfterFunc(refusalTime, turn)
	}
	if rs.told < maxRefusals {
		rs.told++
		return true
	}
	if rs.rest != nil {
		r.More = rs.rest.More + 1
	}
	rs.rest = r
	return false
}

// takeRest ends the time, and returns what nobody was told of in it, or nil.
func (rs *refusals) takeRest() *Refusal {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.timer != nil {
		rs.timer.Stop()
	}
	rest := rs.rest
	rs.told, rs.rest, rs.timer = 0, nil, nil
	return rest
}

// refuse tells that the call is refused.
func (c *toolCall) refuse(ctx context.Context, reason string) {
	cs := c.cs
	if !c.tool.long || cs.s.opt.Refused == nil || !cs.s.startWork() { // after that nobody may be told any more
		return
	}
	defer cs.s.work.Done()
	r := &Refusal{Customer: cs.customer, Session: c.session, Client: c.client, Action: c.tool.name, Reason: reason}
	switch called, _ := ctx.Value(calledKey{}).(string); r.Action {
	case "execute_code":
	case "call_tool":
		var args callToolArgs
		_ = json.Unmarshal(c.args, &args) // they may be what is wrong
		r.Tool = args.Tool
	default: // in ModePassthrough
		r.Action, r.Tool = "call_tool", cmp.Or(called, c.tool.id, c.tool.name)
	}
	if cs.refusals.admit(r, cs.tellRest) {
		cs.s.opt.Refused(*r)
	}
}

// refused is refuse for an error, which it returns.
func (c *toolCall) refused(ctx context.Context, err error) error {
	c.refuse(ctx, err.Error())
	return err
}

// tellRest tells of refusals that nobody was told of when they happened.
func (cs *customerServer) tellRest() {
	if !cs.s.startWork() { // the end of the server does it
		return
	}
	defer cs.s.work.Done()
	if rest := cs.refusals.takeRest(); rest != nil {
		cs.s.opt.Refused(*rest)
	}
}
