package runner

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/call"
)

// maxNear is how many similar names are suggested.
const maxNear = 3

// maxExplained is how many unknown tools of one run are answered with suggestions. Those for thousands would take long, and a
// script can ask for them on all processors.
const maxExplained = 100

// resolve finds the tool in the catalog. The id must match to the byte.
func (c *calls) resolve(next handler) handler {
	return func(ctx context.Context, req *request) (*call.Result, error) {
		server, tool, ok := c.r.catalog.Lookup(req.Tool)
		if !ok {
			message := fmt.Sprintf("unknown tool %.100q", req.Tool)
			if c.unknown.Add(1) <= maxExplained {
				message = c.r.unknownTool(req.Tool)
			}
			return nil, &call.Error{Kind: call.KindArgument, Tool: clipText(req.Tool, 300), Message: message}
		}
		req.Server, req.Name = server.Key, tool.Name
		return next(ctx, req)
	}
}

// unknownTool returns the error text for an unknown tool, with suggestions.
func (r *Runner) unknownTool(id string) string {
	if len(r.catalog.Servers) == 0 {
		return "unknown tool: there is no generated tree; make one with: mcpgen sync"
	}
	name, _, qualified := strings.Cut(id, "__")
	var dirs, own, all []string
	for _, s := range r.catalog.Servers {
		dirs = append(dirs, s.Dir)
		for _, t := range s.Tools {
			all = append(all, t.ID)
			if s.Dir == name {
				own = append(own, t.ID)
			}
		}
	}
	said := fmt.Sprintf("unknown tool %.100q", id)
	switch near := nearTools(id, own, all); {
	case len(near) > 0 && own != nil:
		return fmt.Sprintf("%s: did you mean %s? Server %q has: %s", said, orList(near), name, listed(own))
	case len(near) > 0 && qualified:
		return fmt.Sprintf("%s: no server %.100q has it; did you mean %s?", said, name, orList(near))
	case len(near) > 0:
		return fmt.Sprintf("%s: a tool id reads server__tool; did you mean %s?", said, orList(near))
	case own != nil:
		return fmt.Sprintf("%s; server %q has: %s", said, name, listed(own))
	case !qualified:
		return said + ": a tool id reads server__tool; servers are: " + listed(dirs)
	}
	if near := ident.Nearest(name, dirs, maxNear); len(near) > 0 {
		return fmt.Sprintf("%s: no such server; did you mean %s?", said, orList(near))
	}
	return fmt.Sprintf("%s: no such server; there are: %s", said, listed(dirs))
}

// nearTools returns similar ids: of the server that was named, or else of all. Names are first compared without their server.
func nearTools(id string, own, all []string) []string {
	candidates := own
	if len(own) == 0 {
		candidates = all
	}
	return ident.NearestTools(id, candidates, maxNear)
}

func orList(names []string) string { return strings.Join(names, " or ") }

// listed joins at most twenty names.
func listed(names []string) string {
	if len(names) > 20 {
		return strings.Join(names[:20], ", ") + fmt.Sprintf(" and %d more", len(names)-20)
	}
	return strings.Join(names, ", ")
}

// clipText cuts a text after at most n bytes of whole characters.
func clipText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
