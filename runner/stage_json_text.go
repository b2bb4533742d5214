package runner

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/internal/hint"
)

// markJSONText marks the result of a tool that declares no output schema and returned JSON as text, so that the guest notices a
// script which uses the text as an object or an array.
func (c *calls) markJSONText(next handler) handler {
	return func(ctx context.Context, req *request) (*call.Result, error) {
		res, err := next(ctx, req)
		if err != nil || req.Raw || res.As != call.AsValue || res.Structured || len(res.Value) == 0 || res.Value[0] != '"' {
			return res, err
		}
		if _, tool, ok := c.r.catalog.Lookup(req.Tool); !ok || len(tool.Output) > 0 || parsedText(res.Value)[0] == '"' {
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

// noted turns what the guest noticed into warnings. The guest may be hostile: only names of tools count.
func (c *calls) noted(notes map[string]int, s *Script) {
	for _, note := range slices.Sorted(maps.Keys(notes)) {
		what, id, _ := strings.Cut(note, " ")
		_, tool, ok := c.r.catalog.Lookup(id)
		if !ok || notes[note] < 1 {
			continue
		}
		switch what {
		case "unawaited":
			c.warn(&request{}, "%s was called and never awaited; write: await %s(…), or add .catch(…) where nothing needs the result", id, ident.Camel(tool.Name))
		case "open":
			if notes["unawaited "+id] < 1 {
				c.warn(&request{}, "%s: its result came after the script's last output; await what calls it, as in: for (const item of list) { await … }, or await Promise.all(list.map(async …))", id)
			}
		case "text":
			c.warn(&request{}, "%s", hint.JSONInText(id, s.Language))
		}
	}
}
