package runner

import (
	"context"

	"github.com/mcpgen/mcpgen/runner/call"
)

// checkedAtOnce is the size in bytes of the largest result that is checked before the script gets it. A larger one is checked while
// the script goes on, if the outcome is only a warning.
const checkedAtOnce = 64 << 10

// maxChecks bounds the results of a run that are checked while it goes on.
const maxChecks = 4

// validateResult checks a result against the tool's output schema. MCP requires that servers conform to it; not all do.
func (c *calls) validateResult(next handler) handler {
	return func(ctx context.Context, req *request) (*call.Result, error) {
		res, err := next(ctx, req)
		if err != nil || req.Raw {
			return res, err
		}
		v := c.r.validators(req.Tool).output
		if v == nil {
			return res, nil
		}
		check := func() string {
			if !res.Structured {
				return "the tool declares an output schema, and its result has no structured content"
			}
			if err := v.ValidateAs("the result", res.Value); err != nil {
				return "the result does not fit the tool's output schema: " + err.Error()
			}
			return ""
		}
		if !c.set.StrictOutput && len(res.Value) > checkedAtOnce {
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
			c.warn(req, "%s", bad)
		}
		return res, nil
	}
}
