package chain

import (
	"context"
	"encoding/json"

	"github.com/mcpgen/mcpgen/gen/learn"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/pii"
)

// learn passes the results of tools without an output schema to the observer of shapes, as the script gets them. It leaves out replays and
// raw results. It costs a call some microseconds and never makes one fail.
func (c *Calls) learn(next handler) handler {
	if c.set.Observer == nil || c.player != nil {
		return next
	}
	return func(ctx context.Context, req *request) (*call.Result, error) {
		res, err := next(ctx, req)
		if err != nil || req.Raw || res.As == call.AsDry || len(res.Value) == 0 || c.chain.settings[req.Server].TextResults {
			return res, err
		}
		server, tool, ok := c.chain.catalog.Lookup(req.Tool)
		if !ok || len(tool.Output) > 0 {
			return res, nil
		}
		o := &learn.Observation{
			Tool: learn.Tool{Server: server.Key, Name: tool.Name}, Digest: tool.Digest, Reply: learn.Reply{Value: res.Value},
			Words:  func() map[string]bool { return learn.Words(tool.Description, tool.Input, tool.Name, tool.Title) },
			IsData: c.chain.isData,
		}
		if res.As == call.AsJSON {
			o.Reply = learn.Reply{Value: req.parsed, Text: true}
		}
		if failed := c.set.Observer.Observe(o); failed != nil {
			c.Warn("the shapes of results are not kept (learn: traffic): %v", failed)
		}
		return res, nil
	}
}

// isData reports whether a name in a result holds a secret of the configuration, or personal data.
func (ch *Chain) isData(name string) bool {
	quoted, err := json.Marshal(name)
	if err != nil {
		return true
	}
	mask := ch.Mask(pii.New())
	return string(mask.Value(quoted)) != string(quoted)
}
