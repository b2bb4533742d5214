package script

import (
	"fmt"
	"path"
)

// Module is a file that a TypeScript script refers to, for programs that inspect the script without running it.
type Module struct {
	// Namespace is "script" (the script and files beside it), "servers", "skills" or "mcprun".
	Namespace string
	Path      string // below the folder of the namespace, with slashes
	Text      string
	// Imports are its specifiers of other modules, in the order of the text.
	Imports []Reference
}

// Reference is a specifier in a module's text.
type Reference struct {
	Start, End int // of the text between the quotes, in bytes
	Module     int // the index of the module that it refers to
}

// Bounds of what Modules returns.
const (
	maxListed      = 20_000
	maxListedBytes = 64 << 20
)

// specifiers matches what may be the specifier of an import, also in comments and strings.
var specifiers = pattern(`(?:\bfrom\s*|\bimport\s*\(?\s*|\brequire\s*\(\s*)(?:"([^"\\\n]+)"|'([^'\\\n]+)'|` + "`([^`\\\\$\n]+)`)")

// Modules returns the script and then all modules that it refers to, also those that it needs only for their types. Specifiers that
// cannot be resolved are left out.
func Modules(src Source, opt Options) ([]Module, error) {
	f := newFiles(src)
	defer f.close()
	if err := f.open(src.Dir, opt); err != nil {
		return nil, err
	}
	l := &lister{files: f, index: map[place]int{}}
	l.add(place{scriptNamespace, src.Name})
	for i := 0; i < len(l.modules) && l.err == nil; i++ {
		l.follow(i)
	}
	return l.modules, l.err
}

type lister struct {
	files   *files
	modules []Module
	index   map[place]int
	size    int
	err     error
}

// add returns a module's index; negative if it cannot be read.
func (l *lister) add(p place) int {
	if i, ok := l.index[p]; ok {
		return i
	}
	text, err := l.files.text(p.Namespace, p.Path)
	if err != nil {
		return -1
	}
	l.size += len(text)
	if len(l.modules) == maxListed || l.size > maxListedBytes {
		l.err = fmt.Errorf("the script refers to more than %d files or %d bytes", maxListed, maxListedBytes)
		return -1
	}
	l.index[p] = len(l.modules)
	l.modules = append(l.modules, Module{Namespace: p.Namespace, Path: p.Path, Text: text})
	return l.index[p]
}

// follow adds the modules that a module refers to.
func (l *lister) follow(i int) {
	m := l.modules[i]
	if path.Ext(m.Path) == ".json" {
		return
	}
	for _, at := range specifiers().FindAllStringSubmatchIndex(m.Text, -1) {
		for g := 2; g < len(at); g += 2 {
			if at[g] < 0 {
				continue
			}
			specifier := m.Text[at[g]:at[g+1]]
			if isBuiltin(specifier) {
				continue
			}
			found, err := l.files.find(specifier, m.Namespace, m.Path)
			if err != nil {
				continue
			}
			if target := l.add(found); target >= 0 {
				l.modules[i].Imports = append(l.modules[i].Imports, Reference{at[g], at[g+1], target})
			}
		}
	}
}
