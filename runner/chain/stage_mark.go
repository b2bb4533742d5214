package chain

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/mcpgen/mcpgen/runner/call"
)

// mark tells the guest how to treat a result that is not content. If the result is one text with a JSON object or array, the guest parses
// it, as most tools without an output schema intend. Otherwise the guest notes a script that uses the text of such a tool as if it were
// parsed, or that reads members which a declared result does not have.
func (c *Calls) mark(next handler) handler {
	return func(ctx context.Context, req *request) (*call.Result, error) {
		res, err := next(ctx, req)
		if err != nil || req.Raw || res.As != call.AsValue || len(res.Value) == 0 {
			return res, err
		}
		_, tool, ok := c.chain.catalog.Lookup(req.Tool)
		if !ok {
			return res, nil
		}
		marked := *res
		switch {
		case res.Value[0] == '{' && len(tool.Output) > 0:
			marked.As = call.AsMembers
		case res.Structured || res.Value[0] != '"':
		default:
			if req.parsed = nil; !c.chain.settings[req.Server].TextResults {
				req.parsed = jsonIn(res.Value)
			}
			switch {
			case req.parsed != nil:
				marked.As = call.AsJSON
				c.noteText(c.parsed, req)
			case len(tool.Output) == 0:
				marked.As = call.AsText
				c.noteText(c.texts, req)
			}
		}
		return &marked, nil
	}
}

// noteText adds a tool to those whose results were texts, for hints.
func (c *Calls) noteText(tools map[string]bool, req *request) {
	c.mu.Lock()
	tools[req.Tool] = true
	c.mu.Unlock()
}

// jsonIn returns the JSON object or array that a JSON string holds, or nil.
func jsonIn(quoted json.RawMessage) json.RawMessage {
	if first := bytes.TrimLeft(quoted[1:], " "); len(first) == 0 || !bytes.ContainsRune([]byte(`{[\`), rune(first[0])) {
		return nil // avoids the cost of decoding; \ may be an escaped line break or bracket
	}
	var text string
	if json.Unmarshal(quoted, &text) != nil {
		return nil
	}
	if !call.HoldsJSON(text) {
		return nil
	}
	return bytes.TrimSpace([]byte(text))
}
