package render

import (
	"regexp"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/render/internal/text"
)

// Many servers describe their arguments in the tool's description, as docstrings do. A caller needs these words beside the argument, and
// only once.

// withArguments returns t with the description's text about arguments moved to the arguments.
func withArguments(t Tool) Tool {
	if len(t.Description) > text.MaxRead || !strings.Contains(t.Description, "\n") {
		return t
	}
	m := argumentReader{schema: t.Input}
	m.schema.Defs = slices.Clone(t.Input.Defs)
	m.lines = text.Tidy(t.Description)
	for i := 0; i < len(m.lines); {
		i = m.section(i)
	}
	if m.moved {
		t.Input, t.Description = m.schema, strings.Join(text.Squeeze(m.kept), "\n")
	}
	return t
}

// maxArgumentDepth bounds the nesting of types in which arguments are looked for, because recursive types have no end.
const maxArgumentDepth = 4

// argumentReader splits a description.
type argumentReader struct {
	schema ir.Schema // its members get the texts
	lines  []string
	kept   []string // lines that stay in the description
	moved  bool
}

// argumentText is the description of one argument.
type argumentText struct {
	name, text string
	from, to   int // the lines it occupies
	// within are the argument's own arguments that the lines name, and outline is its text without them.
	within  []argumentText
	outline string
}

var (
	// argsHeader is a line that introduces arguments: "Args:", "**Parameters:**", "## Arguments", "Required parameters:".
	argsHeader = regexp.MustCompile(`(?i)^[\s#*_]*(?:(?:required|optional|input|other|keyword|tool|request|available|supported) )?(?:args?|arguments?|params?|parameters?|options?|inputs?)(?: explained)?[\s*_]*(:?)[\s*_]*$`)
	// argsField and argsTag match one argument in the styles of Sphinx and JSDoc, anywhere.
	argsField = regexp.MustCompile(`^\s*:(?:param|parameter|arg)\s+(?:[^:]*\s)?([\w.-]+)\s*:\s*(.*)$`)
	argsTag   = regexp.MustCompile(`^\s*@(?:param|arg)\s+(?:\{[^}]*\}\s*)?\[?([\w.]+)(?:=[^\]]*)?\]?\s*[-–:]?\s*(.*)$`)
	// argsType matches a type in the style of Sphinx, which repeats the schema.
	argsType = regexp.MustCompile(`^\s*:type\s+[\w.-]+:`)
	// argsEntry matches one argument below a header: "- `name` (string, optional): text", "name: text", "**name** - text".
	argsEntry = regexp.MustCompile("^\\s*((?:[-*+•]|\\d+[.)])\\s+)?[*_`<\\[]{0,3}(?:--)?([A-Za-z_$][\\w.$-]*)[*_`>\\]]{0,3}\\s*(\\((?:[^()]|\\([^()]*\\))*\\))?[*_`]{0,3}\\s*(?::|：|–|—| - )[*_`]{0,3}\\s*(.*)$")
	// argsTypeOnly matches words after a name that only repeat its type.
	argsTypeOnly = regexp.MustCompile(`^\((?:\b(?i:str|string|int|integer|float|number|bool|boolean|list|dict|array|object|any|none|null|optional|required|union|literal|tuple|set|sequence|mapping|of|or|path|strings|ints|numbers|objects|text)\b|\b[A-Z][a-z]+[A-Z]\w*\b|[\s,|\[\]/?])*\)$`)
)

// section reads the section that begins at line i, if any, and returns where it ends.
func (m *argumentReader) section(i int) int {
	line := m.lines[i]
	found := argsField.FindStringSubmatch(line)
	if found == nil {
		found = argsTag.FindStringSubmatch(line)
	}
	if found != nil {
		e := argumentText{name: found[1], text: found[2], from: i, to: i + 1}
		for e.to < len(m.lines) && indentOf(m.lines[e.to]) > indentOf(line) && m.lines[e.to] != "" {
			e.text += "\n" + strings.TrimSpace(m.lines[e.to])
			e.to++
		}
		if !m.place([]argumentText{e}) {
			m.kept = append(m.kept, m.lines[i:e.to]...)
		}
		return e.to
	}
	if m.moved && argsType.MatchString(line) {
		return i + 1
	}
	header := argsHeader.FindStringSubmatch(line)
	first := i + 1
	if first < len(m.lines) && header != nil && strings.Trim(m.lines[first], "-= ") == "" && m.lines[first] != "" {
		first++ // NumPy
	} else if header != nil && header[1] == "" && !strings.ContainsAny(line, "#*") {
		header = nil
	}
	for first < len(m.lines) && m.lines[first] == "" {
		first++
	}
	if header == nil || first == len(m.lines) {
		m.kept = append(m.kept, line)
		return i + 1
	}
	numpy := first > i+1 && strings.HasPrefix(strings.TrimSpace(m.lines[i+1]), "--")
	entries, end := readEntries(m.lines, first, numpy, indentOf(m.lines[first]) > indentOf(line))
	all := true
	var left []string
	for _, e := range entries {
		if !m.place([]argumentText{e}) {
			all = false
			left = append(left, m.lines[e.from:e.to]...)
		}
	}
	switch {
	case len(entries) == 0:
		m.kept = append(m.kept, line)
		return i + 1
	case !all:
		m.kept = append(append(m.kept, m.lines[i:first]...), left...)
	}
	return end
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// readEntries reads arguments from line i on, which all have the indentation and the mark of the first, and returns where they end. Below a
// header (inside), a blank line does not end them. In NumPy's style the text is below the name.
func readEntries(lines []string, i int, numpy, inside bool) (entries []argumentText, end int) {
	indent, end := indentOf(lines[i]), i
	mark := ""
	for ; i < len(lines); i = end {
		for inside && i < len(lines) && lines[i] == "" {
			i++
		}
		if i == len(lines) || indentOf(lines[i]) != indent || lines[i] == "" {
			break
		}
		e := argumentText{from: i, to: i + 1}
		if numpy {
			e.name, _, _ = strings.Cut(lines[i], ":")
			if e.name = strings.TrimSpace(e.name); e.name == "" || strings.ContainsAny(e.name, " -=") {
				break
			}
		} else {
			found := argsEntry.FindStringSubmatch(lines[i])
			if found == nil && mark != "" && strings.HasPrefix(strings.TrimSpace(lines[i]), strings.TrimSpace(mark)) {
				found = make([]string, 5) // one that is kept
				found[1] = mark
			}
			if found == nil || (len(entries) > 0 && (found[1] == "") != (mark == "")) || (found[4] == "" && otherHeader.MatchString(found[2])) {
				break
			}
			mark, e.name, e.text = found[1], found[2], found[4]
			if found[3] != "" && !argsTypeOnly.MatchString(found[3]) {
				e.text = strings.TrimSpace(found[3] + " " + e.text)
			}
			inside = inside || mark != ""
		}
		for e.to < len(lines) && (indentOf(lines[e.to]) > indent || (lines[e.to] == "" && e.to+1 < len(lines) && indentOf(lines[e.to+1]) > indent)) {
			e.to++
		}
		e.readWithin(lines[e.from+1 : e.to])
		entries, end = append(entries, e), e.to
	}
	return entries, end
}

// otherHeader matches a line after the arguments that looks like another argument.
var otherHeader = regexp.MustCompile(`(?i)^(?:returns?|raises|yields|throws|examples?|notes?|outputs?|response|usage|warnings?|errors?)$`)

// readWithin reads the lines below an argument: its text, and its own arguments.
func (e *argumentText) readWithin(lines []string) {
	e.outline = e.text
	e.text = text.Join(append([]string{e.text}, trimmed(lines)...)...)
	for i, line := range lines {
		if argsEntry.MatchString(line) {
			var end int
			e.within, end = readEntries(lines, i, false, true)
			e.outline = text.Join(append([]string{e.outline}, trimmed(slices.Concat(lines[:i], lines[end:]))...)...)
			return
		}
	}
}

func trimmed(lines []string) []string {
	var out []string
	for _, line := range lines {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// place gives entries to the members of the input, and reports whether every entry has a member.
func (m *argumentReader) place(entries []argumentText) bool {
	root, all := m.placeIn(m.schema.Root, entries, 0)
	if object, ok := m.schema.Root.(ir.Object); ok && !all && len(object.Fields) == 1 {
		only := object.Fields[0]
		only.Type, all = m.placeIn(only.Type, entries, 1) // a single object holds the real arguments
		root = ir.Object{Fields: []ir.Field{only}, Extra: object.Extra}
	}
	if all {
		m.schema.Root, m.moved = root, true
	}
	return all
}

// placeIn returns t with the texts of entries at its members, and whether every entry has a member.
func (m *argumentReader) placeIn(t ir.Type, entries []argumentText, depth int) (ir.Type, bool) {
	if depth > maxArgumentDepth {
		return t, false
	}
	switch t := t.(type) {
	case ir.Array:
		elem, ok := m.placeIn(t.Elem, entries, depth+1)
		return ir.Array{Elem: elem}, ok
	case ir.Ref:
		i := slices.IndexFunc(m.schema.Defs, func(d ir.Def) bool { return d.Name == t.Name })
		if i < 0 {
			return t, false
		}
		typ, ok := m.placeIn(m.schema.Defs[i].Type, entries, depth+1)
		m.schema.Defs[i].Type = typ
		return t, ok
	case ir.Union:
		for i, member := range t.Members {
			if typ, ok := m.placeIn(member, entries, depth+1); ok {
				members := slices.Clone(t.Members)
				members[i] = typ
				return ir.Union{Members: members}, true
			}
		}
	case ir.Object:
		fields := slices.Clone(t.Fields)
		for _, e := range entries {
			i := slices.IndexFunc(fields, func(f ir.Field) bool { return f.Name == e.name })
			if i < 0 {
				i = slices.IndexFunc(fields, func(f ir.Field) bool { return ident.Snake(f.Name) == ident.Snake(e.name) })
			}
			if i < 0 {
				return t, false
			}
			text := e.text
			if len(e.within) > 0 {
				if typ, ok := m.placeIn(fields[i].Type, e.within, depth+1); ok {
					fields[i].Type, text = typ, e.outline
				}
			}
			fields[i].Doc.AddDescription(text)
		}
		return ir.Object{Fields: fields, Extra: t.Extra}, true
	}
	return t, false
}
