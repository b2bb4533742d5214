package gen

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/gen/ident"
)

// Tree is a generated tree, opened for reading.
type Tree struct {
	// Dir is the absolute path of its folder.
	Dir     string
	Catalog *catalog.Catalog
	Lock    *catalog.Lock

	partial bool // servers were left out; see Only
}

// Open reads the tree that [Sync] writes with the same Config, Dir and Out. It connects to no server.
func Open(opts Options) (*Tree, error) {
	dir := resolve(opts.Dir, opts.Out)
	if opts.Out == "" {
		cfg, err := LoadConfig(opts)
		if err != nil {
			return nil, err
		}
		dir = resolve(cfg.Dir, cfg.Settings.Out)
	}
	c, lock, err := catalog.LoadTree(dir)
	if err != nil {
		return nil, err
	}
	return &Tree{Dir: dir, Catalog: c, Lock: lock}, nil
}

// Definition is one tool of a tree.
type Definition struct {
	Server *catalog.Server
	Tool   *catalog.Tool
	// Wrappers are sorted by language.
	Wrappers []Wrapper
}

// Wrapper is a tool in one language.
type Wrapper struct {
	Language string
	// File is the path below the tree, and Function the exported name.
	File, Function string
	// Import is the statement that imports the function into a script.
	Import string
	// Signature is the head of the function, Source the whole file, and Lean the part of the file that shows how to call the function. All
	// three contain text from the server, which is not to be trusted.
	Signature, Source, Lean string
}

// UnknownToolError reports a name that means no tool in the tree, or several.
type UnknownToolError struct {
	Name string
	// Near are the ids of tools that may be meant, the likeliest first.
	Near []string
	// Several reports whether the name fits every tool in Near.
	Several bool
}

func (e *UnknownToolError) Error() string {
	if e.Several {
		return fmt.Sprintf("%q is the name of several tools", e.Name)
	}
	return fmt.Sprintf("no tool %q in the tree", e.Name)
}

// Hint lists the tools that may be meant.
func (e *UnknownToolError) Hint() string {
	switch {
	case e.Several:
		return "name one of " + strings.Join(e.Near, ", ")
	case len(e.Near) > 0:
		return "did you mean " + strings.Join(e.Near, " or ") + "?"
	}
	return `run "mcpgen list" to see all tools`
}

// ExitCode is exit.Usage.
func (e *UnknownToolError) ExitCode() int { return exit.Usage }

// Find returns the tool with an id, a wrapper's file, or a name such as server/tool, server.tool or server__tool, in which the tool has its
// own name or that of its function. A tool's name alone finds the tool if it is the only one with that name. The error is an
// *[UnknownToolError] unless reading a wrapper failed.
func (t *Tree) Find(name string) (*Definition, error) {
	fits := t.Named(name)
	if len(fits) != 1 {
		e := &UnknownToolError{Name: name, Near: fits, Several: len(fits) > 1}
		if len(fits) == 0 {
			e.Near = t.near(name)
		}
		return nil, e
	}
	server, tool, _ := t.Catalog.Lookup(fits[0])
	d := &Definition{Server: server, Tool: tool}
	for name, n := range t.Lock.Servers[server.Key].Tools[tool.Name].Names {
		l, ok := LanguageOf(name)
		if !ok {
			continue // another version of mcpgen wrote it
		}
		source, err := t.source(n.File)
		if err != nil {
			return nil, err
		}
		d.Wrappers = append(d.Wrappers, Wrapper{
			Language: name, File: n.File, Function: n.Function, Import: l.Import(server.Dir, n.Function),
			Signature: l.Signature(source, n.Function), Source: source, Lean: lean(source),
		})
	}
	slices.SortFunc(d.Wrappers, func(a, b Wrapper) int { return strings.Compare(a.Language, b.Language) })
	return d, nil
}

// Named returns the ids of the tools that a name means, sorted: the tool with this id, or all tools with the name in one of the other forms
// that [Tree.Find] accepts.
func (t *Tree) Named(name string) []string {
	if _, _, ok := t.Catalog.Lookup(name); ok {
		return []string{name}
	}
	name = strings.TrimPrefix(name, "./")
	var ids []string
	for _, s := range t.Catalog.Servers {
		for _, tool := range s.Tools {
			own, files := []string{tool.Name}, []string{}
			for _, n := range t.Lock.Servers[s.Key].Tools[tool.Name].Names {
				own, files = append(own, n.Function), append(files, n.File, filepath.Base(t.Dir)+"/"+n.File)
			}
			if slices.Contains(own, name) || slices.Contains(own, ofServer(name, s)) || slices.Contains(files, name) {
				ids = append(ids, tool.ID)
			}
		}
	}
	slices.Sort(ids)
	return ids
}

// ofServer returns what follows a server's name in the name of a tool, or "" for a tool of another server.
func ofServer(name string, s catalog.Server) string {
	for _, server := range []string{s.Key, s.Dir} {
		for _, separator := range []string{"/", ".", "__"} {
			if own, ok := strings.CutPrefix(name, server+separator); ok {
				return own
			}
		}
	}
	return ""
}

// near returns the ids of tools of which name may be a misspelling.
func (t *Tree) near(name string) []string {
	var ids []string
	for _, s := range t.Catalog.Servers {
		for _, tool := range s.Tools {
			ids = append(ids, tool.ID)
		}
	}
	return ident.NearestTools(name, ids, 3)
}

// source returns the content of a generated file.
func (t *Tree) source(file string) (string, error) {
	root, err := os.OpenRoot(t.Dir)
	if err != nil {
		return "", fmt.Errorf("read the wrapper: %w", err)
	}
	defer func() { _ = root.Close() }()
	b, err := fs.ReadFile(root.FS(), file)
	if err != nil {
		return "", &catalog.TreeError{Dir: t.Dir, Err: err}
	}
	return string(b), nil
}
