package chain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/runner/approve"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/policy"
)

// policy asks the policy about the call. A refused call is not sent and waits for nothing. A call that a person must approve waits here,
// outside all time limits. A dry run lists such a call instead, and a replay, which sends nothing, asks nobody.
func (c *Calls) policy(next handler) handler {
	return func(ctx context.Context, req *request) (*call.Result, error) {
		asked := c.chain.policyRequest(req, c.subject)
		asked.Listed = c.set.DryRun && !asked.Hints.ReadOnly
		asked.Unsent = asked.Listed || c.player != nil
		d := c.set.Policy.Decide(ctx, asked)
		req.decision, req.hint = &d, asked.Hints.Word()
		req.kept.Count(d.Counted)
		switch {
		case c.set.DryRun && (d.Effect == policy.Ask || d.Effect == policy.Deny && c.unknownYet(req.Args)):
			req.skipped = fmt.Sprintf("policy: %s: %s", d.Effect, explain(&d))
			asked.Listed = true
			if err := c.received(req, asked); err != nil { // as if it had been approved, so that later calls are decided as in a real run
				return nil, err
			}
			return c.list(req)
		case d.Effect == policy.Ask && c.player == nil:
			if err := c.approve(ctx, req, asked, &d); err != nil {
				return nil, err
			}
		case d.Effect != policy.Allow && d.Effect != policy.Ask:
			return nil, refusal(call.KindDenied, req, "policy: refused: %s", explain(&d))
		}
		res, err := next(ctx, req)
		if err == nil || req.waiting.wasSent() || c.player != nil {
			if failed := c.received(req, asked); failed != nil {
				return nil, failed
			}
		}
		return res, err
	}
}

// received notes that the run gets data from the call's server. If it cannot be noted, the data does not reach the script.
func (c *Calls) received(req *request, asked *policy.Request) error {
	if err := c.subject.Received(asked); err != nil {
		return refusal(call.KindDenied, req, "policy: the result is withheld: %v", err)
	}
	c.journalOf().Receive(asked.Server, asked.Dir)
	return nil
}

// Permit asks the policy about a call that the caller makes itself if Permit returns nil. Any other result is a *call.Error.
func (c *Calls) Permit(ctx context.Context, tool string, args json.RawMessage) error {
	permitted := func(context.Context, *request) (*call.Result, error) { return &call.Result{}, nil }
	_, err := wrap(permitted, c.resolve, c.validateArgs, c.policy)(ctx, &request{Request: call.Request{Tool: tool, Args: args, Seq: 1}})
	return err
}

// policyRequest describes a call to the policy.
func (ch *Chain) policyRequest(req *request, run *policy.Run) *policy.Request {
	p := &policy.Request{Server: req.Server, Name: req.Name, Tool: req.Tool, Args: req.Args, Run: run}
	if s, ok := ch.catalog.Server(req.Server); ok {
		p.Dir = s.Dir
	}
	if req.isAsk { // MCP's lists, reads and prompts change nothing
		p.Hints, p.Input = policy.Hints{ReadOnly: true, Idempotent: true}, askInput(req.Name)
		return p
	}
	said := func(hint *bool) bool { return hint != nil && *hint }
	p.DeclaredOnly = ch.settings[req.Server].DeclaredOnly
	if _, tool, ok := ch.catalog.Lookup(req.Tool); ok {
		p.Input = tool.Input
		p.Hints = policy.Hints{
			ReadOnly: ch.readOnly(req), Idempotent: ch.repeatable(req), Destructive: said(tool.Hints.Destructive), OpenWorld: said(tool.Hints.OpenWorld),
		}
	}
	return p
}

// Hints returns what is known about a tool's effects. ok is false if the catalog does not have it.
func (ch *Chain) Hints(tool string) (hints policy.Hints, ok bool) {
	server, t, ok := ch.catalog.Lookup(tool)
	if !ok {
		return policy.Hints{}, false
	}
	return ch.policyRequest(&request{Request: call.Request{Tool: tool, Server: server.Key, Name: t.Name}}, nil).Hints, true
}

// approve waits for a person's answer. The run's clock is held meanwhile; the call's clocks have not started.
func (c *Calls) approve(ctx context.Context, req *request, asked *policy.Request, d *policy.Decision) error {
	if c.set.Approver == nil {
		return c.nobody(req, d)
	}
	secrets := c.chain.Mask(nil)
	c.clock.Hold()
	defer c.clock.Release()
	req.waiting.begin(ctx, waitApproval)
	q := &approve.Question{
		Run: c.run.ID, Call: req.Seq, Script: c.run.Script, Code: c.run.Code, At: req.At, Customer: c.subject.Customer, Server: req.Server, Tool: req.Tool,
		Arguments: secrets.Value(req.Args), Tokens: c.set.Tokens, Risk: asked.Risk(), Rule: d.Source(), Reason: d.Reason,
	}
	if file, _, ok := approve.SplitAt(req.At); ok && file != c.run.Script && c.run.Source != nil {
		if text, known := c.run.Source(file); known {
			q.Source = text
		}
	}
	answer, err := c.set.Approver.Approve(ctx, q)
	d.By = answer.By
	switch {
	case ctx.Err() != nil:
		return callError(ctx, req, ctx.Err())
	case errors.Is(err, approve.ErrNobody):
		return c.nobody(req, d)
	case err != nil:
		return refusal(call.KindDenied, req, "policy: approval is needed, but asking failed: %v: %s", err, explain(d))
	case answer.Scope == approve.Refused:
		return refusal(call.KindDenied, req, "policy: not approved%s: %s", answer.WhyNot(), explain(d))
	}
	return nil
}

// nobody returns the error for a call that needs approval when nobody can be asked.
func (c *Calls) nobody(req *request, d *policy.Decision) error {
	c.advise(req, "to approve such calls, start mcprun with --approve page and answer in a browser, or with --allow %s", req.Tool)
	return refusal(call.KindDenied, req, "policy: approval is needed, but nobody can be asked here: %s", explain(d))
}

// explain returns the reason of a decision and the rule that made it.
func explain(d *policy.Decision) string {
	if d.Reason == "" {
		return d.Source()
	}
	return fmt.Sprintf("%s (%s)", d.Reason, d.Source())
}

// askInput returns the schema of the parameters of a request for a resource or a prompt; see askParams.
func askInput(method string) json.RawMessage {
	var more string
	switch method {
	case methodReadResource:
		more = `,"uri":{"type":"string"}},"required":["uri"`
	case methodPrompt:
		more = `,"name":{"type":"string"},"arguments":{"type":"object"}},"required":["name"`
	default:
		more = `},"required":[`
	}
	return json.RawMessage(`{"type":"object","properties":{"server":{"type":"string"}` + more + `]}`)
}

// Tools lists what a policy decides about: the tools of the catalog, the methods of its servers' resources and prompts, and the entries
// that stand for scripts.
func (ch *Chain) Tools() []policy.Tool {
	var out []policy.Tool
	add := func(server *catalog.Server, id, name string, isAsk bool) {
		p := ch.policyRequest(&request{Request: call.Request{Tool: id, Server: server.Key, Name: name}, isAsk: isAsk}, nil)
		out = append(out, policy.Tool{Server: p.Server, Dir: p.Dir, Name: p.Name, ID: p.Tool, Hints: p.Hints, Input: p.Input, DeclaredOnly: p.DeclaredOnly})
	}
	for i := range ch.catalog.Servers {
		s := &ch.catalog.Servers[i]
		for _, t := range s.Tools {
			add(s, t.ID, t.Name, false)
		}
		ask := func(methods ...string) {
			for _, method := range methods {
				add(s, s.Dir+askSeparator+method, method, true)
			}
		}
		if s.Resources {
			ask(methodReadResource, methodResources, methodTemplates)
		}
		if s.HasPrompts {
			ask(methodPrompt, methodPrompts)
		}
	}
	return append(out, policy.ScriptsTool())
}
