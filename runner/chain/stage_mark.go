package chain

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/mcpgen/mcpgen/runner/call"
)

// mark says what the guest makes of a result that is no content. If it is one text that is a JSON object or array, the guest makes
// the value of it, which most tools without an output schema mean. Otherwise the guest notices a script that takes the text of such a
// tool for a value, or that asks for members which a declared result does not have.
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
		return nil // without the cost of decoding: \ may be an escaped line break, or an escaped bracket
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
