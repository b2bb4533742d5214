// Package render turns tools into source files, in any number of target languages. Types are printed by Go code; templates only lay out
// files. A language is a package below this one, such as package typescript, that returns a [Language]; package gen lists them. Start with
// [Render].
//
// Every text from a server reaches a file through package text or package ident, which escape it. The output depends on the input alone,
// and not on a time, host, path, version or map order.
package render

import (
	_ "embed"
	"fmt"
	"maps"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/mcpgen/mcpgen/gen/tree"
)

// Result is a rendered tree.
type Result struct {
	// Tree holds every generated file, but not the files from which the tree is generated.
	Tree tree.Tree
	// Names maps a language's name → tool id → names.
	Names map[string]map[string]Names
}

// EditorDir holds settings for a person's editor. A listing of the tree does not show it.
const EditorDir = ".mcpgen/editor/"

// Render generates the tree for servers in the given languages. It is an error if two tools claim one file: servers must differ in Dir, and
// the tools of one server in Name and ID.
func Render(servers []Server, languages []*Language) (*Result, error) {
	servers = prepared(servers)
	var folders []*folder
	for _, l := range languages {
		for _, s := range servers {
			folders = append(folders, &folder{language: l, server: s, functions: l.Functions(s.Tools), wrappers: make([]Wrapper, len(s.Tools))})
		}
	}
	var wrappers, indexes errgroup.Group
	wrappers.SetLimit(runtime.GOMAXPROCS(0))
	for _, f := range folders {
		for i := range f.wrappers {
			wrappers.Go(func() error { return f.wrapper(i) })
		}
	}
	if err := wrappers.Wait(); err != nil {
		return nil, err
	}
	indexes.SetLimit(runtime.GOMAXPROCS(0))
	for _, f := range folders {
		indexes.Go(f.finish)
	}
	if err := indexes.Wait(); err != nil {
		return nil, err
	}
	return collect(servers, languages, folders)
}

// prepared returns servers with tools as they are printed: the descriptions' text about arguments is moved to the arguments, and inputs are
// objects.
func prepared(servers []Server) []Server {
	servers = slices.Clone(servers)
	for i := range servers {
		tools := slices.Clone(servers[i].Tools)
		for j := range tools {
			tools[j] = withArguments(tools[j])
			if servers[i].ClosedInputs {
				tools[j].Input = closedInput(tools[j].Input)
			}
			tools[j].Input = objectInput(tools[j].Input)
		}
		servers[i].Tools = tools
	}
	return servers
}

// folder is one server in one language.
type folder struct {
	language  *Language
	server    Server
	functions []string
	wrappers  []Wrapper
	files     tree.Tree // all files except the wrappers
}

// wrapper renders the tool with that index.
func (f *folder) wrapper(i int) (err error) {
	f.wrappers[i], err = f.language.Wrapper(f.server.Tools[i], f.functions[i])
	return f.failed(err)
}

// finish renders the index, and the modules of resources and prompts.
func (f *folder) finish() error {
	f.files = tree.Tree{}
	index, err := f.language.Index(f.server, f.wrappers)
	if err != nil {
		return f.failed(err)
	}
	f.files[f.server.Dir+"/"+f.language.IndexFile] = index
	modules := map[string]func(Server) ([]byte, error){ResourcesName: f.language.Resources, PromptsName: f.language.Prompts}
	for _, name := range f.server.Modules() {
		content, err := modules[name](f.server)
		if err != nil {
			return f.failed(err)
		}
		f.files[f.server.Dir+"/"+name+f.language.Ext] = content
	}
	return nil
}

func (f *folder) failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("render %q as %s: %w", f.server.Key, f.language.Name, err)
}

// collect puts the files of all folders, and those at the root, into one tree.
func collect(servers []Server, languages []*Language, folders []*folder) (*Result, error) {
	out := &Result{Tree: tree.Tree{".gitattributes": []byte(gitAttributes)}, Names: map[string]map[string]Names{}}
	for _, l := range languages {
		maps.Copy(out.Tree, l.Root(servers))
		out.Names[l.Name] = map[string]Names{}
	}
	for _, f := range folders {
		for i, t := range f.server.Tools {
			names := Names{File: f.server.Dir + "/" + f.functions[i] + f.language.Ext, Function: f.functions[i]}
			if other, taken := out.Names[f.language.Name][t.ID]; taken {
				return nil, f.failed(fmt.Errorf("the id %q stands for %s already", t.ID, other.File))
			}
			out.Names[f.language.Name][t.ID] = names
			if err := add(out.Tree, names.File, f.wrappers[i].Source); err != nil {
				return nil, f.failed(err)
			}
		}
		for path, content := range f.files {
			if err := add(out.Tree, path, content); err != nil {
				return nil, f.failed(err)
			}
		}
	}
	readme, err := readme(servers, languages, out.Names)
	out.Tree["README.md"] = readme
	return out, err
}

// add adds a file to a tree. It is an error if the path is taken.
func add(t tree.Tree, path string, content []byte) error {
	if _, taken := t[path]; taken {
		return fmt.Errorf("two tools or servers claim the file %q", path)
	}
	t[path] = content
	return nil
}

//go:embed gitattributes
var gitAttributes string
