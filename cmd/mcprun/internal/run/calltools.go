package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/upstream"
)

// callCommand calls one tool without a script.
type callCommand struct {
	Caller
	list bool
}

// callTools are the tools that mcprun call knows: those of the tree, or those that one server has just listed.
type callTools struct {
	*catalog.Catalog
	// single reports that the command line gives the only server, so that tools go by their own names.
	single bool
}

// open opens the project and finds the tools for a call of a tool. server is empty, or a server as the command line gives it. The
// caller closes the project.
func (o *callCommand) open(ctx context.Context, stderr io.Writer, server, tool string) (*project.Project, *callTools, error) {
	if server != "" {
		return o.openServer(ctx, stderr, server)
	}
	p, err := o.Open(ctx, o.App, o.Host, stderr)
	if err != nil {
		return nil, nil, err
	}
	tools, err := o.tools(ctx, p, tool)
	if err != nil {
		return nil, nil, errors.Join(err, p.Close())
	}
	return p, tools, nil
}

// openServer opens a server that the command line gives, and lists its tools.
func (o *callCommand) openServer(ctx context.Context, stderr io.Writer, text string) (*project.Project, *callTools, error) {
	server, err := config.FromCommandLine(text, o.App.Dir)
	if err != nil {
		return nil, nil, &cli.UsageError{Err: err, Command: "mcprun call"}
	}
	p, err := o.OpenServer(o.App, o.Host, stderr, server)
	if err != nil {
		return nil, nil, err
	}
	tools, err := listOver(ctx, p, &config.Config{Servers: []config.Server{server}}, server.Key)
	if err != nil {
		return nil, nil, errors.Join(err, p.Close())
	}
	return p, &callTools{tools, true}, nil
}

// tools returns the tools of the tree. Without a tree, it returns those of the configured server that the tool belongs to.
func (o *callCommand) tools(ctx context.Context, p *project.Project, tool string) (*callTools, error) {
	if p.Tree != "" {
		tree, err := gen.Open(gen.Options{Out: p.Tree})
		if err != nil {
			return nil, err
		}
		return &callTools{Catalog: tree.Catalog}, nil
	}
	if p.Cfg != nil {
		for _, server := range p.Cfg.Servers {
			if _, named := toolOf(tool, server.Key, ident.Snake(server.Name())); named {
				c, err := listOver(ctx, p, p.Cfg, server.Key)
				return &callTools{Catalog: c}, err
			}
		}
	}
	return nil, noTree(p)
}

func noTree(p *project.Project) error {
	return &cli.UsageError{Err: fmt.Errorf("there is no generated tree in %q: make one with mcpgen sync, or name it with --servers", p.Wanted), Command: "mcprun call"}
}

// listOver lists a server over the project's own connection, which the call then uses too.
func listOver(ctx context.Context, p *project.Project, cfg *config.Config, key string) (*catalog.Catalog, error) {
	pool, ok := p.Upstreams.(interface {
		Connect(ctx context.Context, key string) (*upstream.Session, error)
	})
	if !ok {
		return nil, errors.New("these connections list no tools")
	}
	session, err := pool.Connect(ctx, key)
	if err != nil {
		return nil, err
	}
	c, warnings, err := gen.ListServer(ctx, cfg, key, session)
	for _, w := range warnings {
		p.Log.Warn(cli.EscapeLine(w.Place + ": " + w.Message))
	}
	return c, err
}

// toolOf returns what follows the name of a server in server__tool or server.tool, and whether the tool has one of the names.
func toolOf(tool string, names ...string) (string, bool) {
	for _, name := range names {
		for _, between := range []string{"__", "."} {
			if rest, ok := strings.CutPrefix(tool, name+between); ok && rest != "" {
				return rest, true
			}
		}
	}
	return "", false
}

// resolve returns the id of a tool. The text may be the id, or server.tool with the tool's own name or its function's. For a
// server on the command line the name alone will do, and any other text is an error. Otherwise other texts are returned
// unchanged.
func (c *callTools) resolve(text string) (string, error) {
	if _, _, ok := c.Lookup(text); ok {
		return text, nil
	}
	var own []string
	for i := range c.Servers {
		s := &c.Servers[i]
		name, ok := toolOf(text, s.Key, s.Dir)
		if !ok && c.single {
			name, ok = text, true
		}
		for _, t := range s.Tools {
			if ok && (t.Name == name || t.ID == s.Dir+"__"+ident.Snake(name)) {
				return t.ID, nil
			}
			own = append(own, t.Name)
		}
	}
	if !c.single {
		return text, nil // the call suggests names
	}
	return "", &cli.UsageError{
		Err: fmt.Errorf("the server has no tool %.100q; it has: %s", text, ident.List(own)), Command: "mcprun call", Near: cli.Near(text, own),
	}
}

// listServer lists the tools of a server that the command line gives.
func (o *callCommand) listServer(ctx context.Context, server string) error {
	p, tools, err := o.openServer(ctx, o.App.Stderr, server)
	if err != nil {
		return err
	}
	defer p.Close()
	var rows [][]string
	for _, t := range tools.Servers[0].Tools {
		rows = append(rows, []string{cli.EscapeLine(t.Name), firstLine(t)})
	}
	return o.App.Table([]string{"TOOL", "DESCRIPTION"}, rows)
}

// firstLine returns the first line of a tool's description.
func firstLine(t catalog.Tool) string {
	first, _, _ := strings.Cut(strings.TrimSpace(t.Description), "\n")
	return cli.EscapeLine(first)
}
