package script

import (
	"fmt"
	"iter"
	"path"
)

// Module is a file that a TypeScript script refers to, for programs that inspect the script without running it.
type Module struct {
	// Namespace is "script" (the script and files beside it), "servers", "skills" or "mcprun".
	Namespace string
	Path      string // below the folder of the namespace, with slashes
	Text      string
	// Imports lists its references to other modules, in the order of the text.
	Imports []Reference
}

// Reference is a specifier in a module's text.
type Reference struct {
	Start, End int // offsets of the text between the quotes, in bytes
	Module     int // the index of the module that it refers to
}

// Bounds on what is read.
const (
	maxListed      = 20_000
	maxListedBytes = 64 << 20
)

// specifiers matches anything that may be the specifier of an import, even in comments and strings.
var specifiers = pattern(`(?:\bfrom\s*|\bimport\s*\(?\s*|\brequire\s*\(\s*)(?:"([^"\\\n]+)"|'([^'\\\n]+)'|` + "`([^`\\\\$\n]+)`)")

// Modules returns the script and then all modules that it refers to, including modules needed only for their types. It leaves out
// specifiers that cannot be resolved.
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

// add returns a module's index, which is negative if the module cannot be read.
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
	for ref := range l.files.references(place{m.Namespace, m.Path}, m.Text) {
		if ref.err != nil {
			continue
		}
		if target := l.add(ref.to); target >= 0 {
			l.modules[i].Imports = append(l.modules[i].Imports, Reference{ref.start, ref.end, target})
		}
	}
}

// reference is what may be the specifier of an import in a module's text.
type reference struct {
	start, end int // in bytes
	specifier  string
	to         place
	err        error // why it cannot be resolved
}

// references yields what a module's text refers to, without the modules of node.
func (f *files) references(at place, text string) iter.Seq[reference] {
	return func(yield func(reference) bool) {
		if path.Ext(at.Path) == ".json" {
			return
		}
		known := map[string]reference{} // each specifier is resolved once
		for _, found := range specifiers().FindAllStringSubmatchIndex(text, maxUsed) {
			for g := 2; g < len(found); g += 2 {
				if found[g] < 0 {
					continue
				}
				specifier := text[found[g]:found[g+1]]
				if isBuiltin(specifier) {
					continue
				}
				ref, ok := known[specifier]
				if !ok {
					ref.specifier = specifier
					ref.to, ref.err = f.find(specifier, at.Namespace, at.Path)
					known[specifier] = ref
				}
				if ref.start, ref.end = found[g], found[g+1]; !yield(ref) {
					return
				}
			}
		}
	}
}
