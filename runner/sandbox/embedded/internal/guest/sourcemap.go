//go:build !386 && !arm

package guest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
)

const mapComment = "//# sourceMappingURL=data:application/json"

// splitSourceMap takes the inline source map off a bundle and returns its JSON, or "".
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

// sourceMaps are those of all modules that run: the job's code, and what it imported while it ran.
type sourceMaps struct {
	byModule map[string]*sourceMap
	names    []string // in order, for line
}

func newSourceMaps() *sourceMaps { return &sourceMaps{byModule: map[string]*sourceMap{}} }

// add keeps the map of a module for when it is asked for.
func (ms *sourceMaps) add(module, text string) {
	if ms.byModule[module] == nil {
		ms.names = append(ms.names, module)
	}
	ms.byModule[module] = &sourceMap{text: text}
}

// place maps "module:line:column", counted from 1; what it knows nothing about it returns as it is.
func (ms *sourceMaps) place(s string) string {
	p, ok := splitPlace(s)
	if m := ms.byModule[p.file]; ok && m != nil {
		return m.place(s, p)
	}
	return s
}

// line returns the text of a source line, counted from 1, or "".
func (ms *sourceMaps) line(file string, n int) string {
	for _, name := range ms.names {
		if text := ms.byModule[name].line(file, n); text != "" {
			return text
		}
	}
	return ""
}

// sourceMap maps places in a bundle to places in the sources (ECMA-426). It is decoded when first asked.
type sourceMap struct {
	text    string
	decoded bool
	sources []string
	content []string
	lines   [][]segment // by line of the bundle
}

type segment struct{ column, source, line, sourceColumn int }

// place maps a place of the bundle; what it knows nothing about it returns as it was written.
func (m *sourceMap) place(s string, p position) string {
	m.decode()
	if p.line < 1 || p.line > len(m.lines) {
		return s
	}
	segments := m.lines[p.line-1]
	i := sort.Search(len(segments), func(i int) bool { return segments[i].column > p.column-1 }) - 1
	if i < 0 {
		return s
	}
	seg := segments[i]
	return fmt.Sprintf("%s:%d:%d", m.sources[seg.source], seg.line+1, seg.sourceColumn+1)
}

// line returns the text of a source line, counted from 1, or "".
func (m *sourceMap) line(file string, n int) string {
	m.decode()
	for i, s := range m.sources {
		if s != file || i >= len(m.content) {
			continue
		}
		lines := strings.SplitN(m.content[i], "\n", n+1)
		if n >= 1 && n <= len(lines) {
			return strings.TrimRight(lines[n-1], "\r")
		}
	}
	return ""
}

func (m *sourceMap) decode() {
	if m.decoded {
		return
	}
	m.decoded = true
	var doc struct {
		SourceRoot     string   `json:"sourceRoot"`
		Sources        []string `json:"sources"`
		SourcesContent []string `json:"sourcesContent"`
		Mappings       string   `json:"mappings"`
	}
	if m.text == "" || json.Unmarshal([]byte(m.text), &doc) != nil {
		return
	}
	m.text = ""
	for i := range doc.Sources {
		name := doc.SourceRoot + doc.Sources[i]
		if rest, ok := strings.CutPrefix(name, "servers:"); ok {
			name = "servers/" + rest // the bundler's word for what it found in the tree
		}
		doc.Sources[i] = strings.TrimPrefix(name, "script:")
	}
	m.sources, m.content = doc.Sources, doc.SourcesContent
	var seg segment
	for line := range strings.SplitSeq(doc.Mappings, ";") {
		seg.column = 0
		var segments []segment
		for text := range strings.SplitSeq(line, ",") {
			n, fields := decodeVLQ(text)
			seg.column += fields[0]
			if n < 4 {
				continue
			}
			seg.source += fields[1]
			seg.line += fields[2]
			seg.sourceColumn += fields[3]
			if seg.source >= 0 && seg.source < len(m.sources) {
				segments = append(segments, seg)
			}
		}
		m.lines = append(m.lines, segments)
	}
}

const base64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// decodeVLQ decodes the fields of one segment.
func decodeVLQ(s string) (n int, fields [5]int) {
	value, shift := 0, 0
	for i := 0; i < len(s) && n < len(fields); i++ {
		d := strings.IndexByte(base64Digits, s[i])
		if d < 0 || shift > 30 {
			return 0, fields
		}
		value |= d & 31 << shift
		if d&32 != 0 {
			shift += 5
			continue
		}
		fields[n] = value >> 1
		if value&1 != 0 {
			fields[n] = -fields[n]
		}
		n, value, shift = n+1, 0, 0
	}
	return n, fields
}
