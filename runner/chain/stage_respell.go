package chain

import (
	"context"
	"encoding/json"

	"github.com/mcpgen/mcpgen/gen/schema/validate"
	"github.com/mcpgen/mcpgen/runner/call"
)

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

// parameters returns the names of a tool's arguments by their plain spelling. A name is empty where several have the same. Nil:
// the tool is unknown, or also takes arguments of other names.
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

// respelled returns arguments with the names of the schema, where there is no doubt about them.
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
