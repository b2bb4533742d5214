// Package ignore keeps formatters away from the generated tree, because a wrapper rewritten by prettier, biome or ruff differs from what
// sync writes. For each of these tools that a project uses, [Plan] plans one line in the tool's own file.
package ignore

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Edit adds the tree to what a tool ignores.
type Edit struct {
	// Tool is prettier, biome or ruff.
	Tool string
	// Path is the file. It need not exist: Before is then nil.
	Path          string
	Before, After []byte
	// Line is what a person must add if After is nil because the file has a form that cannot be edited safely.
	Line string
}

// Plan returns the edits for the tools that the project in dir uses. The tree is a path below dir. A tool that already ignores the tree
// needs no edit.
func Plan(dir, tree string) ([]Edit, error) {
	tree = strings.Trim(path.Clean(filepath.ToSlash(tree)), "/")
	if tree == "." || tree == ".." || strings.HasPrefix(tree, "../") {
		return nil, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	p := &planner{dir: dir, tree: tree}
	for _, e := range entries {
		p.names = append(p.names, e.Name())
	}
	return p.edits, errors.Join(p.prettier(), p.biome(), p.ruff())
}

type planner struct {
	dir, tree string
	names     []string // of the files in dir
	edits     []Edit
}

// first returns the first existing file that matches a pattern, or "".
func (p *planner) first(patterns ...string) string {
	for _, pattern := range patterns {
		for _, name := range p.names {
			if ok, err := path.Match(pattern, name); err == nil && ok {
				return name
			}
		}
	}
	return ""
}

// read returns the text of a file, or nil if it does not exist.
func (p *planner) read(name string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(p.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// add plans an edit; without an edited text, a person must make it.
func (p *planner) add(tool, name string, before, after []byte, line string) {
	p.edits = append(p.edits, Edit{Tool: tool, Path: filepath.Join(p.dir, name), Before: before, After: after, Line: line})
}

// covers reports whether a pattern of any of the tools names the whole tree.
func (p *planner) covers(pattern string) bool {
	pattern = strings.TrimPrefix(strings.TrimSpace(pattern), "!")
	pattern = strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(pattern, "**/"), "./"), "/")
	pattern = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(pattern, "/**"), "/*"), "/")
	return pattern == p.tree
}

const prettierIgnore = ".prettierignore"

// prettier adds a line to .prettierignore.
func (p *planner) prettier() error {
	manifest, err := p.read("package.json")
	if err != nil {
		return err
	}
	if p.first(".prettierrc*", "prettier.config.*", prettierIgnore) == "" && !strings.Contains(string(manifest), `"prettier"`) {
		return nil
	}
	before, err := p.read(prettierIgnore)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(before)) {
		if p.covers(line) {
			return nil
		}
	}
	after := string(before)
	if after != "" && !strings.HasSuffix(after, "\n") {
		after += "\n"
	}
	line := "/" + p.tree + "/"
	p.add("prettier", prettierIgnore, before, []byte(after+line+"\n"), line)
	return nil
}
