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

type planner struct {
	dir, tree string
	names     []string // of the files in dir
	edits     []Edit
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
