package mcpserver

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/mcpserver/internal/index"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// view is a project and the texts and tools that clients see of it. A call keeps the view that it began with.
type view struct {
	Project
	source       *Project       // as it was handed over
	index        string         // the index of the tree, in the description of execute_code
	instructions string         // the servers' instructions, shortened
	tools        []*tool        // that clients may call, in the order in which they are listed
	place        map[string]int // index in tools by tool name
}

// newView returns a view of a project. The error names the invalid field.
func (s *Server) newView(p *Project) (*view, error) {
	v := &view{Project: *p, source: p}
	v.Time = cmp.Or(v.Time, runner.DefaultTimeout)
	v.Memory = cmp.Or(v.Memory, sandbox.Limits{}.WithDefaults().Memory)
	v.Languages = slices.Clone(v.Languages)
	if len(v.Languages) == 0 {
		v.Languages = []string{TypeScript, Python}
	}
	for _, l := range v.Languages {
		if l != TypeScript && l != Python {
			return nil, fmt.Errorf("mcpserver: language %q is neither %s nor %s", l, TypeScript, Python)
		}
	}
	v.index = index.Text(v.Catalog, v.Lock, v.Languages[0], s.opt.IndexTokens)
	more := ": search_tools, detail_level full"
	if s.opt.Mode == ModePassthrough {
		more = ""
	}
	v.instructions = index.Instructions(v.Catalog, s.opt.IndexTokens*2/3, more)
	v.tools, v.place = s.tools(v), map[string]int{}
	for i, t := range v.tools {
		v.place[t.name] = i
	}
	return v, nil
}

// Refresh reads the project again if it has changed, and notifies clients if their list of tools has changed. The error comes from
// [Options.Reload].
func (s *Server) Refresh(ctx context.Context) error {
	_, err := s.refresh(ctx)
	return err
}

func (s *Server) refresh(ctx context.Context) (*view, error) {
	if s.opt.Reload == nil {
		return s.now.Load(), nil
	}
	s.reloading.Lock()
	defer s.reloading.Unlock()
	p, err := s.opt.Reload(ctx)
	if err != nil {
		return nil, err
	}
	v := s.now.Load()
	if v.source == p {
		return v, nil
	}
	if v, err = s.newView(p); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock() // a customer opened in the meantime gets the new view
	before := s.now.Load()
	s.now.Store(v)
	changed, gone := changes(before.tools, v.tools)
	for _, cs := range s.customers {
		cs.mcp.RemoveTools(gone...) // like AddTool, it notifies the clients
		was, is := before.denied(cs.customer.ID), v.denied(cs.customer.ID)
		for _, t := range v.tools {
			if slices.Contains(changed, t) || was[t.id] != is[t.id] {
				cs.mcp.AddTool(t.definition(), cs.handler(t)) // replaces the tool
			}
		}
	}
	return v, nil
}

// denied returns Denied in ModePassthrough, and nothing in other modes.
func (v *view) denied(customer string) map[string]bool {
	if v.Denied == nil {
		return nil
	}
	return v.Denied(customer)
}

// changes returns the tools in after that are new or differ from those in before, and the names of the tools that are gone.
func changes(before, after []*tool) (changed []*tool, gone []string) {
	was := map[string]*tool{}
	for _, t := range before {
		was[t.name] = t
	}
	for _, t := range after {
		old := was[t.name]
		if old == nil || !reflect.DeepEqual(old.definition(), t.definition()) {
			changed = append(changed, t)
		}
		delete(was, t.name)
	}
	return changed, slices.Sorted(maps.Keys(was))
}

// refreshed brings the project up to date before requests whose results show it. If it cannot be read, clients still see the tools, each of
// which says what is wrong.
func (s *Server) refreshed(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if _, ok := req.(*mcp.ListToolsRequest); ok {
			_ = s.Refresh(ctx)
		}
		res, err := next(ctx, method, req)
		switch res := res.(type) {
		case *mcp.InitializeResult:
			res.Instructions = s.now.Load().instructions
		case *mcp.DiscoverResult:
			res.Instructions = s.now.Load().instructions
		}
		return res, err
	}
}

// languageSchema returns the schema of an argument that names a language.
func (v *view) languageSchema() string {
	return `{"type":"string","enum":["` + strings.Join(v.Languages, `","`) + `"]}`
}
