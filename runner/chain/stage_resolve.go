package chain

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/schema/validate"
	"github.com/mcpgen/mcpgen/runner/call"
)

// maxNear is the maximum number of similar names that are suggested.
const maxNear = 3

// maxExplained is the maximum number of unknown tools of one run that get suggestions. Thousands of suggestions would take long, and a script can
// keep all processors busy with them.
const maxExplained = 100

// resolve finds the tool in the catalog. The id must match to the byte.
func (c *Calls) resolve(next handler) handler {
	return func(ctx context.Context, req *request) (*call.Result, error) {
		server, tool, ok := c.chain.catalog.Lookup(req.Tool)
		if !ok {
			message := fmt.Sprintf("unknown tool %.100q", req.Tool)
			if c.unknown.Add(1) <= maxExplained {
				message = c.chain.unknownTool(req.Tool)
			}
			return nil, &call.Error{Kind: call.KindArgument, Tool: ident.Clip(req.Tool, 300), Message: message}
		}
		req.Server, req.Name = server.Key, tool.Name
		return next(ctx, req)
	}
}

// unknownTool returns the error text for an unknown tool, with suggestions.
func (ch *Chain) unknownTool(id string) string {
	if len(ch.catalog.Servers) == 0 {
		return "unknown tool: there is no generated tree; run: mcpgen sync"
	}
	name, _, qualified := strings.Cut(id, "__")
	var dirs, own, all []string
	for _, s := range ch.catalog.Servers {
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
		return fmt.Sprintf("%s: did you mean %s? Server %q has: %s", said, orList(near), name, ident.List(own))
	case len(near) > 0 && qualified:
		return fmt.Sprintf("%s: there is no server %.100q; did you mean %s?", said, name, orList(near))
	case len(near) > 0:
		return fmt.Sprintf("%s: a tool id has the form server__tool; did you mean %s?", said, orList(near))
	case own != nil:
		return fmt.Sprintf("%s; server %q has: %s", said, name, ident.List(own))
	case !qualified:
		return said + ": a tool id has the form server__tool; servers are: " + ident.List(dirs)
	}
	if near := ident.Nearest(name, dirs, maxNear); len(near) > 0 {
		return fmt.Sprintf("%s: no such server; did you mean %s?", said, orList(near))
	}
	return fmt.Sprintf("%s: no such server; the servers are: %s", said, ident.List(dirs))
}

// nearTools returns similar tool ids, from the named server or else from all servers. Names are first compared without their
// server.
func nearTools(id string, own, all []string) []string {
	candidates := own
	if len(own) == 0 {
		candidates = all
	}
	return ident.NearestTools(id, candidates, maxNear)
}

func orList(names []string) string { return strings.Join(names, " or ") }

// respell renames arguments that are spelled in another style than the tool's: documentId where the schema has only document_id.
func (c *Calls) respell(next handler) handler {
	return func(ctx context.Context, req *request) (*call.Result, error) {
		if names := c.chain.parameters(req.Tool); names != nil {
			if args, changed := respelled(req.Args, names); changed {
				req.Args = args
			}
		}
		return next(ctx, req)
	}
}

// parameters returns the names of a tool's arguments by their plain spelling. A name is empty if several have that spelling. The
// result is nil if the tool is unknown or also takes arguments with other names.
func (ch *Chain) parameters(id string) map[string]string {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	names, ok := ch.named[id]
	if !ok {
		if _, tool, found := ch.catalog.Lookup(id); found {
			names = validate.PropertySpellings(tool.Input)
			ch.named[id] = names
		}
	}
	return names
}

// respelled returns arguments with the names of the schema where the match is unambiguous.
func respelled(args json.RawMessage, names map[string]string) (json.RawMessage, bool) {
	var given map[string]json.RawMessage
	if json.Unmarshal(args, &given) != nil {
		return args, false
	}
	rename := map[string]string{} // the schema's name → the one that was given
	for name := range given {
		meant := names[validate.PlainSpelling(name)]
		if meant == "" || meant == name {
			continue
		}
		if _, both := given[meant]; both {
			continue
		}
		if _, twice := rename[meant]; twice {
			return args, false
		}
		rename[meant] = name
	}
	for meant, name := range rename {
		given[meant] = given[name]
		delete(given, name)
	}
	if len(rename) == 0 {
		return args, false
	}
	out, err := json.Marshal(given)
	return out, err == nil
}
