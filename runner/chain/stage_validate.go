package chain

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/schema/validate"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/call"
)

// validators are a tool's compiled schemas. A field is nil if the tool has no such schema, or it does not compile.
type validators struct {
	input, output *validate.Validator
}

// validators compiles a tool's schemas once.
func (ch *Chain) validators(id string) *validators {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	if v, ok := ch.compiled[id]; ok {
		return v
	}
	_, tool, ok := ch.catalog.Lookup(id)
	if !ok {
		return &validators{}
	}
	v := &validators{}
	var err error
	if v.input, err = validate.Compile(tool.Input); err != nil {
		ch.log.Warn("arguments are not checked: the schema does not compile", "tool", id, "error", err)
	}
	if len(tool.Output) > 0 {
		if v.output, err = validate.Compile(tool.Output); err != nil {
			ch.log.Warn("results are not checked: the schema does not compile", "tool", id, "error", err)
		}
	}
	ch.compiled[id] = v
	return v
}

// validateArgs checks the arguments against the tool's input schema. A schema that cannot be compiled checks nothing: the server
// checks them in any case.
func (c *Calls) validateArgs(next handler) handler {
	return func(ctx context.Context, req *request) (*call.Result, error) {
		v := c.chain.validators(req.Tool).input
		if v == nil || c.set.DryRun && c.unknownYet(req.Args) {
			return next(ctx, req)
		}
		err := v.ValidateAs("the arguments", req.Args)
		var bad *validate.ValidationError
		switch {
		case errors.As(err, &bad):
			return nil, refusal(call.KindArgument, req, "%s", bad.Error())
		case err != nil:
			return nil, refusal(call.KindArgument, req, "check arguments: %v", err)
		}
		if !c.chain.settings[req.Server].DeclaredOnly { // with DeclaredOnly they are refused
			c.warnUndeclared(req, v)
		}
		return next(ctx, req)
	}
}

// warnUndeclared warns of arguments that the tool does not declare, although its schema lets them pass: they are likely misspelt.
func (c *Calls) warnUndeclared(req *request, v *validate.Validator) {
	names, declared := v.Undeclared(req.Args)
	for _, name := range names[:min(len(names), maxNear)] {
		known := "its arguments are: " + ident.List(declared)
		if near := ident.Nearest(name, declared, 1); len(near) > 0 {
			known = fmt.Sprintf("did you mean %q?", near[0])
		}
		c.warn(req, "the tool has no argument %q, which was sent anyway; %s", ident.Clip(name, 100), known)
	}
}

// checkedAtOnce is the size in bytes of the largest result that is checked before the script gets it. A larger one is checked while
// the script goes on, if the outcome is only a warning.
const checkedAtOnce = 64 << 10

// validateResult checks a result against the tool's output schema. MCP requires that servers conform to it; not all do.
func (c *Calls) validateResult(next handler) handler {
	return func(ctx context.Context, req *request) (*call.Result, error) {
		res, err := next(ctx, req)
		if err != nil || req.Raw && !c.run.Direct {
			return res, err
		}
		v := c.chain.validators(req.Tool).output
		if v == nil {
			return res, nil
		}
		value, structured := res.Value, res.Structured
		if req.Raw { // a call without a script is checked as one with a script
			fields, err := upstream.Members(res.Raw)
			if err != nil || string(fields["isError"]) == "true" {
				return res, nil
			}
			value = fields["structuredContent"]
			structured = len(value) > 0 && string(value) != "null"
		}
		check := func() string {
			if !structured {
				return "the tool declares an output schema, but its result has no structured content"
			}
			if err := v.ValidateAs("the result", value); err != nil {
				return "the result does not match the tool's output schema: " + err.Error()
			}
			return ""
		}
		if !c.set.StrictOutput && len(value) > checkedAtOnce && !req.missed { // a cached result has been checked
			select {
			case c.checks <- struct{}{}:
				c.work.Go(func() {
					defer func() { <-c.checks }()
					if bad := check(); bad != "" {
						c.warn(req, "%s", bad)
					}
				})
				return res, nil
			default: // results come faster than they are checked, and must not pile up
			}
		}
		switch bad := check(); {
		case bad == "":
		case c.set.StrictOutput:
			return nil, refusal(call.KindProtocol, req, "%s (--strict-output)", bad)
		default:
			req.misfit = true
			c.warn(req, "%s", bad)
		}
		return res, nil
	}
}
