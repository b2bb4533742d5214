package chain

import (
	"context"

	"github.com/mcpgen/mcpgen/runner/call"
)

// markJSONText marks the result of a tool that declares no output schema and returned JSON as text, so that the guest notices a
// script which uses the text as an object or an array.
func (c *Calls) markJSONText(next handler) handler {
	return func(ctx context.Context, req *request) (*call.Result, error) {
		res, err := next(ctx, req)
		if err != nil || req.Raw || res.As != call.AsValue || res.Structured || len(res.Value) == 0 || res.Value[0] != '"' {
			return res, err
		}
		if _, tool, ok := c.chain.catalog.Lookup(req.Tool); !ok || len(tool.Output) > 0 || parsedText(res.Value)[0] == '"' {
			return res, nil
		}
		c.mu.Lock()
		c.texts[req.Tool] = true
		c.mu.Unlock()
		marked := *res
		marked.As = call.AsJSON
		return &marked, nil
	}
}
