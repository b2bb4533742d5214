package gen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/gen/tokens"
)

// Cost is what a tree costs a model, compared with the definitions that it stands for, in tokens of o200k_base.
type Cost struct {
	// Language is the language of the wrappers and indexes that were counted.
	Language string `json:"language"`
	Encoding string `json:"encoding"`
	// Servers are sorted by key.
	Servers []ServerCost `json:"servers"`
	// All is the sum over the servers, plus a listing of the tree's root and the median wrapper: what a model reads that looks into every
	// server and uses one tool. It is nil if servers were left out.
	All *Reading `json:"all,omitempty"`
}

// Reading is what a model reads to use one tool, compared with all definitions.
type Reading struct {
	// Definitions are the definitions of all tools, as hosts send them: name, description and input schema, as compact JSON.
	Definitions int `json:"definitions"`
	// List is a listing of the folder, Index the index file, Wrapper the median of the wrappers, and Read the sum of the three.
	List    int `json:"ls"`
	Index   int `json:"index"`
	Wrapper int `json:"wrapper"`
	Read    int `json:"read"`
}

// ServerCost is one server of a Cost.
type ServerCost struct {
	Key string `json:"name"`
	Dir string `json:"dir"`
	Reading
	// Tools are in the catalog's order.
	Tools []ToolCost `json:"tools"`
}

// ToolCost is one tool of a ServerCost.
type ToolCost struct {
	ID string `json:"id"`
	// Definition is the part that hosts send, Raw the whole definition as compact JSON, and Indented the same indented by two spaces.
	Definition int `json:"definition"`
	Raw        int `json:"definitionCompact"`
	Indented   int `json:"definitionIndented"`
	// Wrapper is the tool's file.
	Wrapper int `json:"wrapper"`
}

// Languages returns the names of the languages in which the tree has wrappers.
func (t *Tree) Languages() []string {
	var out []string
	for _, l := range Languages() {
		if _, has := t.Lock.Files[l.Client]; has {
			out = append(out, l.Name)
		}
	}
	return out
}

// Cost counts the tokens of the tree in one of its languages, or in its first language if language is empty. If the tree does not have the
// language, the error is an *[Error].
func (t *Tree) Cost(language string) (*Cost, error) {
	if has := t.Languages(); language == "" && len(has) > 0 {
		language = has[0]
	} else if !slices.Contains(has, language) {
		return nil, &Error{Message: fmt.Sprintf("the tree has no wrappers in %q, only in %s", language, strings.Join(has, " and ")), Code: exit.Usage}
	}
	l, _ := LanguageOf(language)
	root, err := os.OpenRoot(t.Dir)
	if err != nil {
		return nil, fmt.Errorf("count tokens: %w", err)
	}
	defer func() { _ = root.Close() }()
	m := &meter{tree: t, files: root.FS(), language: language}
	out := &Cost{Language: language, Encoding: "o200k_base", Servers: []ServerCost{}}
	all := Reading{List: m.list(".")}
	var wrappers []int
	for i := range t.Catalog.Servers {
		s := m.server(&t.Catalog.Servers[i], l.IndexFile)
		for _, tool := range s.Tools {
			wrappers = append(wrappers, tool.Wrapper)
		}
		all.Definitions += s.Definitions
		all.List += s.List
		all.Index += s.Index
		out.Servers = append(out.Servers, s)
	}
	all.Wrapper = median(wrappers)
	all.Read = all.List + all.Index + all.Wrapper
	if !t.partial {
		out.All = &all
	}
	if m.err != nil {
		return nil, &catalog.TreeError{Dir: t.Dir, Err: m.err}
	}
	return out, nil
}

// meter counts files and keeps the first error.
type meter struct {
	tree     *Tree
	files    fs.FS
	language string
	err      error
}

func (m *meter) server(s *catalog.Server, index string) ServerCost {
	out := ServerCost{Key: s.Key, Dir: s.Dir, Reading: Reading{List: m.list(s.Dir), Index: m.file(path.Join(s.Dir, index))}, Tools: []ToolCost{}}
	var wrappers []int
	for i := range s.Tools {
		tool := &s.Tools[i]
		cost := ToolCost{
			ID: tool.ID, Definition: tokens.Count(tool.Definition()), Raw: tokens.Count(compact(tool.Raw)),
			Indented: tokens.Count(indented(tool.Raw)),
			Wrapper:  m.file(m.tree.Lock.Servers[s.Key].Tools[tool.Name].Names[m.language].File),
		}
		out.Definitions += cost.Definition
		out.Tools = append(out.Tools, cost)
		wrappers = append(wrappers, cost.Wrapper)
	}
	out.Wrapper = median(wrappers)
	out.Read = out.List + out.Index + out.Wrapper
	return out
}

// list counts the output of ls for a folder.
func (m *meter) list(dir string) int {
	entries, err := fs.ReadDir(m.files, dir)
	m.keep(err)
	var b strings.Builder
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			b.WriteString(e.Name() + "\n")
		}
	}
	return tokens.Count(b.String())
}

func (m *meter) file(name string) int {
	if name == "" {
		m.keep(fmt.Errorf("it has no wrappers in %s", m.language))
		return 0
	}
	b, err := fs.ReadFile(m.files, name)
	m.keep(err)
	return tokens.Count(string(b))
}

func (m *meter) keep(err error) {
	if m.err == nil {
		m.err = err
	}
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

func indented(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

// median returns the middle number, or the lower of the two middle ones. It returns 0 if there are no numbers.
func median(of []int) int {
	if len(of) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(of))
	return sorted[(len(sorted)-1)/2]
}

// Only keeps the named servers, by key or folder, and drops the others from the tree's catalog. If no server is named, it keeps all.
func (t *Tree) Only(servers []string) error {
	if len(servers) == 0 {
		return nil
	}
	var kept []catalog.Server
	var known []string
	found := map[string]bool{}
	for _, s := range t.Catalog.Servers {
		known = append(known, s.Key)
		if slices.Contains(servers, s.Key) || slices.Contains(servers, s.Dir) {
			found[s.Key], found[s.Dir] = true, true
			kept = append(kept, s)
		}
	}
	for _, name := range servers {
		if !found[name] {
			return &UnknownServerError{Key: name, Known: known}
		}
	}
	c, err := catalog.New(kept)
	if err != nil {
		return err
	}
	t.Catalog, t.partial = c, true
	return nil
}
