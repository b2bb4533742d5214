package runner

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/schema/validate"
	"github.com/mcpgen/mcpgen/runner/call"
)

// validateArgs checks the arguments against the tool's input schema. A schema that cannot be compiled checks nothing: the server
// checks them in any case.
func (c *calls) validateArgs(next handler) handler {
	return func(ctx context.Context, req *request) (*call.Result, error) {
		v := c.r.validators(req.Tool).input
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
		c.warnUndeclared(req, v)
		return next(ctx, req)
	}
}

// warnUndeclared warns of arguments that the tool does not declare, although its schema lets them pass: they are likely misspelt.
func (c *calls) warnUndeclared(req *request, v *validate.Validator) {
	names, declared := v.Undeclared(req.Args)
	for _, name := range names[:min(len(names), maxNear)] {
		known := "there are: " + listed(declared)
		if near := ident.Nearest(name, declared, 1); len(near) > 0 {
			known = fmt.Sprintf("did you mean %q?", near[0])
		}
		c.warn(req, "the tool has no argument %q, which was sent all the same; %s", clipText(name, 100), known)
	}
}
