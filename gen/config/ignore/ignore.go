// Package ignore keeps formatters away from the generated tree, because a wrapper rewritten by prettier, biome or ruff differs from what
// sync writes. For each of these tools that a project uses, [Plan] plans one line in the tool's own file.
package ignore

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
)

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
