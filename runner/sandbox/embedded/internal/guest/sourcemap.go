package guest

import (
	"encoding/base64"
	"fmt"
	"strings"
	"sync"

	"github.com/go-sourcemap/sourcemap"
)

const mapComment = "//# sourceMappingURL=data:application/json"

// splitSourceMap separates the inline source map from a bundle. It returns the map's JSON, or "".
func splitSourceMap(code string) (rest, text string) {
	i := strings.LastIndex(code, mapComment)
	if i < 0 || (i > 0 && code[i-1] != '\n') {
		return code, ""
	}
	_, data, ok := strings.Cut(strings.TrimSpace(code[i:]), ";base64,")
	if !ok || strings.ContainsAny(data, "\n") {
		return code, ""
	}
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return code, ""
	}
	return code[:i], string(raw)
}

// sourceMaps holds the source maps (ECMA-426) of all loaded modules: the job's code, and the modules that it imported at run time.
type sourceMaps struct {
	byModule map[string]*sourceMap
	names    []string // in the order of add, for line
}

func newSourceMaps() *sourceMaps { return &sourceMaps{byModule: map[string]*sourceMap{}} }

// add keeps the map of a module, which is parsed when it is first needed.
func (ms *sourceMaps) add(module, text string) {
	if ms.byModule[module] == nil {
		ms.names = append(ms.names, module)
	}
	ms.byModule[module] = &sourceMap{parse: sync.OnceValue(func() *sourcemap.Consumer {
		c, err := sourcemap.Parse("", []byte(text))
		if err != nil {
			return &sourcemap.Consumer{} // an empty map
		}
		return c
	})}
}

// place maps "module:line:column", counted from 1. It returns unknown places unchanged.
func (ms *sourceMaps) place(s string) string {
	p, ok := splitPlace(s)
	if m := ms.byModule[p.file]; ok && m != nil {
		if source, line, column, ok := m.source(p.line, p.column); ok {
			return fmt.Sprintf("%s:%d:%d", source, line, column)
		}
	}
	return s
}

// line returns the text of a source line, counted from 1, or "".
func (ms *sourceMaps) line(file string, n int) string {
	for _, name := range ms.names {
		lines := strings.SplitN(ms.byModule[name].content(file), "\n", n+1)
		if n >= 1 && n <= len(lines) && lines[n-1] != "" {
			return strings.TrimRight(lines[n-1], "\r")
		}
	}
	return ""
}

type sourceMap struct{ parse func() *sourcemap.Consumer }

// The bundler marks sources from the tree and the script itself with these prefixes.
const treeMark, scriptMark = "servers:", "script:"

// source returns the original place of a place in the bundle, all counted from 1.
func (m *sourceMap) source(line, column int) (source string, sourceLine, sourceColumn int, ok bool) {
	defer func() {
		if recover() != nil { // a hostile map refers to sources that it does not have
			ok = false
		}
	}()
	source, _, sourceLine, sourceColumn, ok = m.parse().Source(line, column-1)
	if rest, tree := strings.CutPrefix(source, treeMark); tree {
		source = "servers/" + rest
	}
	return strings.TrimPrefix(source, scriptMark), sourceLine, sourceColumn + 1, ok && source != ""
}

// content returns the text of a source, or "".
func (m *sourceMap) content(file string) string {
	names := []string{scriptMark + file, file}
	if rest, tree := strings.CutPrefix(file, "servers/"); tree {
		names = append(names, treeMark+rest)
	}
	for _, name := range names {
		if text := m.parse().SourceContent(name); text != "" {
			return text
		}
	}
	return ""
}
