package chain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/pii"
	"github.com/mcpgen/mcpgen/runner/plugin"
)

// plugins asks plugins about the arguments of a call, and about its result. Where a mode hides personal data, they see tokens, and tokens in
// what they change stand for the values again. What they have denied or withheld is an error of kind denied.
func (c *Calls) plugins(next handler) handler {
	if len(c.set.Plugins.Names()) == 0 || c.player != nil { // a recording has what plugins have made of it
		return next
	}
	return func(ctx context.Context, req *request) (*call.Result, error) {
		before, after := c.set.Plugins.Fits(plugin.Call, req.Tool, req.Name), c.set.Plugins.Fits(plugin.Result, req.Tool, req.Name)
		if !before && !after || c.set.DryRun && c.unknownYet(req.Args) {
			return next(ctx, req)
		}
		if before {
			if err := c.pluginsOnArguments(ctx, req); err != nil {
				return nil, err
			}
		}
		res, err := next(ctx, req)
		failed, isFailure := errors.AsType[*call.Error](err)
		switch {
		case !after, err == nil && res.As == call.AsDry, err != nil && !isFailure, isFailure && failed.Kind != call.KindTool && failed.Kind != call.KindProtocol:
			return res, err // nothing came from the server
		case isFailure:
			e := c.event(req, plugin.Result)
			if e.Error = failed.Message; c.outlet(req) != nil {
				e.Error = string(c.outlet(req).MaskForeign([]byte(e.Error)))
			}
			if denied := c.askPlugins(ctx, req, e, nil, withheld(req, "error")); denied != nil {
				return nil, denied
			}
			return nil, err
		}
		return c.pluginsOnResult(ctx, req, res)
	}
}

// event returns what plugins see of a call.
func (c *Calls) event(req *request, at plugin.Point) *plugin.Event {
	e := &plugin.Event{
		Hook: at, Run: c.run.ID, Customer: c.subject.Customer, Session: c.subject.Session, Call: req.Seq, Tool: req.Tool, Server: req.Server, Name: req.Name,
		Arguments: req.Args, Raw: at == plugin.Result && req.Raw,
	}
	if p := c.set.Personal; p != nil && len(req.Args) > 0 { // whatever the server's mode: the values may come from others
		e.Arguments = p.Outlet.For(req.Name).With(req.restored).MaskForeign(req.Args) // they are restored by now, so they have no tokens
	}
	return e
}

// outlet returns what replaces personal data in what plugins see of a result, or nil if nothing hides it.
func (c *Calls) outlet(req *request) *pii.Outlet {
	p := c.set.Personal
	if p.Of(req.Server) == config.PIIOff {
		return nil
	}
	return p.Outlet.For(req.Name).With(req.restored)
}

// askPlugins asks plugins about an event, and notes what they did. what says what a denial means for the call.
func (c *Calls) askPlugins(ctx context.Context, req *request, e *plugin.Event, check func(json.RawMessage) error, what string) error {
	req.waiting.begin(ctx, waitPlugin)
	mask := c.rowMask(req)
	done, err := c.set.Plugins.Ask(ctx, e, plugin.Place{Check: check, Mask: mask.Value})
	req.plugins = append(req.plugins, done...)
	for _, text := range plugin.Unchecked(done, err) {
		c.warn(req, "%s", text)
	}
	denied, isDenied := errors.AsType[*plugin.DeniedError](err)
	switch {
	case isDenied:
		return refusal(call.KindDenied, req, "%v; %s", denied, what)
	case err != nil:
		return callError(ctx, req, err)
	}
	return nil
}

// pluginsOnArguments asks plugins about the arguments, and sets those that they have changed.
func (c *Calls) pluginsOnArguments(ctx context.Context, req *request) error {
	e := c.event(req, plugin.Call)
	was := e.Arguments
	check := func(value json.RawMessage) error {
		_, err := c.changedArguments(req, value)
		return err
	}
	if err := c.askPlugins(ctx, req, e, check, "nothing was sent"); err != nil || bytes.Equal(e.Arguments, was) {
		return err
	}
	changed, err := c.changedArguments(req, e.Arguments)
	if err == nil {
		req.Args, req.restored = changed.Args, changed.restored
	}
	return err
}

// changedArguments restores tokens in arguments that a plugin has changed, and checks them as those of scripts.
func (c *Calls) changedArguments(req *request, value json.RawMessage) (*request, error) {
	if req.isAsk {
		return nil, errors.New("the parameters of a request for a resource or a prompt cannot be changed")
	}
	out := &request{Request: req.Request}
	out.Args = value
	var err error
	if c.set.Personal != nil {
		err = c.restoreArguments(out)
	}
	if err == nil {
		_, err = wrap(func(context.Context, *request) (*call.Result, error) { return nil, nil }, c.validateArgs)(context.Background(), out)
	}
	if bad, ok := errors.AsType[*call.Error](err); ok {
		return nil, errors.New(bad.Message)
	}
	return out, err
}

// pluginsOnResult asks plugins about a result, and returns it as they have changed it.
func (c *Calls) pluginsOnResult(ctx context.Context, req *request, res *call.Result) (*call.Result, error) {
	e := c.event(req, plugin.Result)
	e.Result = res.Value
	if o := c.outlet(req); o != nil {
		e.Result = maskResult(o, res.Value, req.Raw || req.isAsk || res.As == call.AsContent)
	}
	was := e.Result
	check := func(value json.RawMessage) error {
		_, err := c.changedResult(req, res, value)
		return err
	}
	if err := c.askPlugins(ctx, req, e, check, withheld(req, "result")); err != nil {
		return nil, err
	}
	if bytes.Equal(e.Result, was) {
		return res, nil
	}
	return c.changedResult(req, res, e.Result)
}

// withheld says that a script does not get what a call returned.
func withheld(req *request, what string) string {
	text := "its " + what + " is withheld"
	if !req.waiting.wasSent() { // the result was cached
		return text
	}
	return "the call was made, and " + text
}

// changedResult restores tokens in a result that a plugin has changed. It must be what the script may expect by the tool's schema, or without
// one the same kind of value.
func (c *Calls) changedResult(req *request, res *call.Result, value json.RawMessage) (*call.Result, error) {
	if o := c.outlet(req); o != nil {
		var err error
		if value, err = o.Restore(value); err != nil {
			return nil, err
		}
	}
	if was := bytes.TrimSpace(res.Value); len(was) == 0 || value[0] != was[0] {
		return nil, errors.New("the result is another kind of value than before")
	}
	structured := value
	if req.Raw {
		fields, err := upstream.Members(value)
		if err != nil {
			return nil, err
		}
		structured = fields["structuredContent"]
	}
	if v := c.chain.validators(req.Tool).output; v != nil && (res.Structured || req.Raw && len(structured) > 0) {
		if err := v.ValidateAs("the result", structured); err != nil {
			return nil, err
		}
	}
	out := *res
	if out.Value, out.Raw = value, nil; req.Raw || req.isAsk {
		out.Raw = value
	}
	return &out, nil
}

// rowPlugins returns what plugins did about a call, for the record.
func (c *Calls) rowPlugins(req *request) []audit.Plugin {
	out, mask := slices.Clone(req.plugins), c.rowMask(req)
	for i := range out {
		out[i].Reason = audit.Text(mask.String(string(out[i].Reason)))
	}
	return out
}
