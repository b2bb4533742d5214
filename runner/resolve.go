package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpgen/mcpgen/gen/schema"
	"github.com/mcpgen/mcpgen/runner/call"
)

// resolve finds the tool in the catalog. The id must match to the byte.
func (r *Runner) resolve(next call.Handler) call.Handler {
	return func(ctx context.Context, req *call.Request) (*call.Result, error) {
		server, tool, ok := r.catalog.Lookup(req.Tool)
		if !ok {
			return nil, &call.Error{Kind: call.KindArgument, Tool: req.Tool, Message: r.unknownTool(req.Tool)}
		}
		found := *req
		found.Server, found.Name = server.Key, tool.Name
		return next(ctx, &found)
	}
}

func (r *Runner) unknownTool(id string) string {
	if len(r.catalog.Servers) == 0 {
		return "unknown tool: there is no generated tree; make one with: mcpgen sync"
	}
	name, _, ok := strings.Cut(id, "__")
	if !ok {
		return fmt.Sprintf("unknown tool %.100q: a tool id reads server__tool", id)
	}
	var dirs []string
	for _, s := range r.catalog.Servers {
		if s.Dir == name {
			var ids []string
			for _, t := range s.Tools {
				ids = append(ids, t.ID)
			}
			return fmt.Sprintf("unknown tool %.100q; server %q has: %s", id, name, listed(ids))
		}
		dirs = append(dirs, s.Dir)
	}
	return fmt.Sprintf("unknown tool %.100q: no such server; there are: %s", id, listed(dirs))
}

// listed joins at most twenty names.
func listed(names []string) string {
	if len(names) > 20 {
		return strings.Join(names[:20], ", ") + fmt.Sprintf(" and %d more", len(names)-20)
	}
	return strings.Join(names, ", ")
}

// validate checks the arguments against the tool's input schema. A schema that cannot be compiled checks nothing:
// the server has the last word in any case.
func (r *Runner) validate(next call.Handler) call.Handler {
	return func(ctx context.Context, req *call.Request) (*call.Result, error) {
		v := r.validator(req.Tool)
		if v == nil {
			return next(ctx, req)
		}
		err := v.Validate(req.Args)
		var bad *schema.ValidationError
		switch {
		case errors.As(err, &bad):
			return nil, &call.Error{Kind: call.KindArgument, Server: req.Server, Tool: req.Tool, Message: bad.Error()}
		case err != nil:
			return nil, &call.Error{Kind: call.KindArgument, Server: req.Server, Tool: req.Tool, Message: fmt.Sprintf("check arguments: %v", err)}
		}
		return next(ctx, req)
	}
}

// validator compiles a tool's schema once.
func (r *Runner) validator(id string) *schema.Validator {
	r.mu.Lock()
	defer r.mu.Unlock()
	if v, ok := r.validators[id]; ok {
		return v
	}
	_, tool, ok := r.catalog.Lookup(id)
	if !ok {
		return nil
	}
	v, err := schema.Compile(tool.Input)
	if err != nil {
		r.log.Warn("arguments are not checked: the schema does not compile", "tool", id, "error", err)
		v = nil
	}
	r.validators[id] = v
	return v
}
