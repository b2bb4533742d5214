package migrate

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/script/migrate/internal/reading"
)

// edit is a change of a file.
type edit struct {
	reading.Span
	text string
}

// apply makes edits. It reports false if two of them are about one place and differ.
func apply(text string, edits []edit) (string, bool) {
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Or(a.Start-b.Start, a.End-b.End) })
	edits = slices.CompactFunc(edits, func(a, b edit) bool { return a == b && a.End > a.Start })
	var b strings.Builder
	last := 0
	for _, e := range edits {
		if e.Start < last || e.End < e.Start || e.End > len(text) {
			return "", false
		}
		b.WriteString(text[last:e.Start] + e.text)
		last = e.End
	}
	b.WriteString(text[last:])
	return b.String(), true
}

// rewriter rewrites one file.
type rewriter struct {
	name   string
	text   string
	lang   string // "typescript" or "python"
	module *reading.Module
	tools  []*tool
	edits  []edit
	left   []Left
	// concerned reports that the file uses a tool that has changed, and used has those that are known.
	concerned bool
	used      map[*tool]bool
}

// use notes that the file uses a tool.
func (f *rewriter) use(t *tool) {
	f.concerned = true
	if f.used == nil {
		f.used = map[*tool]bool{}
	}
	f.used[t] = true
}

// mentions returns the places where the file names a member that the output of a tool it uses has no more. Whether a value comes from
// that tool is not followed.
func (f *rewriter) mentions() []Left {
	var out []Left
	for _, m := range f.module.Mentions {
		for _, t := range f.tools {
			if now, gone := t.gone[m.Name]; gone && f.used[t] {
				text := fmt.Sprintf("%s no longer returns %s", t.newID, jsonText(m.Name))
				if now != "" {
					text += fmt.Sprintf(" (it is %s now)", jsonText(now))
				}
				out = append(out, Left{File: f.name, Line: m.Line, Text: text + "; check this use, which has no type that shows it"})
			}
		}
	}
	return out
}

func (f *rewriter) leave(line int, format string, args ...any) {
	f.left = append(f.left, Left{File: f.name, Line: line, Text: fmt.Sprintf(format, args...)})
}

func (f *rewriter) replace(at reading.Span, text string) {
	if f.text[at.Start:at.End] != text {
		f.edits = append(f.edits, edit{at, text})
	}
}

func (f *rewriter) insert(at int, text string) {
	f.edits = append(f.edits, edit{reading.Span{Start: at, End: at}, text})
}

func (f *rewriter) line(offset int) int { return 1 + strings.Count(f.text[:offset], "\n") }

// server finds the tools of a folder, in any style of its name.
func (f *rewriter) server(dir string) []*tool {
	var found []*tool
	for _, t := range f.tools {
		if t.dir == dir || t.dir == ident.Snake(dir) {
			found = append(found, t)
		}
	}
	return found
}

// inModule finds the tool whose own module a path is.
func (f *rewriter) inModule(p []string) *tool {
	if len(p) != 2 {
		return nil
	}
	for _, t := range f.server(p[0]) {
		base := strings.TrimSuffix(path.Base(t.names[f.lang].old.File), path.Ext(t.names[f.lang].old.File))
		if base == p[1] {
			return t
		}
	}
	return nil
}

// named finds the tool that a name of a module means: of the server's index, or of the tool's own module.
func (f *rewriter) named(p []string, name string) (t *tool, isType bool) {
	if len(p) == 0 || len(p) > 2 {
		return nil, false
	}
	for _, t := range f.server(p[0]) {
		if len(p) == 2 && f.inModule(p) != t {
			continue
		}
		function := t.names[f.lang].old.Function
		switch name {
		case function:
			return t, false
		case typeName(function) + "Input", typeName(function) + "Output":
			return t, true
		}
	}
	return nil, false
}

// typeName is how the names of a function's types begin.
func typeName(function string) string { return ident.Pascal(strings.TrimSuffix(function, "_")) }

// renamed returns the new name of a function or type.
func (f *rewriter) renamed(t *tool, name string) string {
	before, now := t.names[f.lang].old.Function, t.names[f.lang].new.Function
	if name == before {
		return now
	}
	return typeName(now) + strings.TrimPrefix(name, typeName(before))
}

// rewrite collects the edits of a file.
func (f *rewriter) rewrite() {
	meanings := map[string]func(members []string) *tool{} // by local name
	for _, im := range f.module.Imports {
		f.imported(im, meanings)
	}
	for _, r := range f.module.Refs {
		if mean := meanings[r.Local]; mean != nil && len(r.Member) > 0 {
			t := mean(r.Member)
			if t != nil {
				f.use(t)
			}
			if t != nil && r.Member[len(r.Member)-1] == t.names[f.lang].old.Function {
				f.replace(r.At, t.names[f.lang].new.Function)
			}
		}
	}
	for _, c := range f.module.Calls {
		var t *tool
		if c.ID != "" {
			if t = f.byID(c.ID); t != nil && t.oldID != t.newID {
				f.replace(c.IDAt, quoteLike(f.text[c.IDAt.Start:c.IDAt.End], t.newID))
			}
		} else if mean := meanings[c.Callee.Local]; mean != nil {
			t = mean(c.Callee.Member)
		}
		if t != nil {
			f.use(t)
			f.input(c, t)
		}
	}
}

func (f *rewriter) byID(id string) *tool {
	for _, t := range f.tools {
		if t.oldID == id {
			return t
		}
	}
	return nil
}

// imported rewrites an import and adds what its local name means.
func (f *rewriter) imported(im reading.Import, meanings map[string]func([]string) *tool) {
	if own := f.inModule(im.Path); own != nil {
		f.use(own)
		f.moved(im, own)
	}
	if im.Name == "" {
		meanings[im.Local] = func(members []string) *tool {
			full := slices.Concat(im.Path, members)
			if len(full) < 2 {
				return nil
			}
			t, isType := f.named(full[:len(full)-1], full[len(full)-1])
			if isType {
				return nil
			}
			return t
		}
		return
	}
	if len(im.Path) == 0 { // a server, from the tree's index
		meanings[im.Local] = func(members []string) *tool {
			if len(members) != 1 {
				return nil
			}
			t, _ := f.named([]string{im.Name}, members[0])
			return t
		}
		return
	}
	if im.Name == "*" {
		for _, t := range f.server(im.Path[0]) {
			f.use(t)
		}
	}
	t, isType := f.named(im.Path, im.Name)
	if t == nil {
		return
	}
	if !isType {
		meanings[im.Local] = func(members []string) *tool {
			if len(members) > 0 {
				return nil
			}
			return t
		}
	}
	f.use(t)
	f.rename(im, f.renamed(t, im.Name))
}

// moved rewrites the module of an import that is a tool's own.
func (f *rewriter) moved(im reading.Import, t *tool) {
	base := func(file string) string { return strings.TrimSuffix(path.Base(file), path.Ext(file)) }
	before, now := base(t.names[f.lang].old.File), base(t.names[f.lang].new.File)
	written := f.text[im.Module.Start:im.Module.End]
	if i := strings.LastIndex(written, before); before != now && i >= 0 {
		f.replace(im.Module, written[:i]+now+written[i+len(before):])
	}
}

// rename gives an imported name, and what uses it, a new name. If that name is taken, the old one stays in the file.
func (f *rewriter) rename(im reading.Import, now string) {
	if now == im.Name {
		return
	}
	var uses []reading.Ref
	for _, r := range f.module.Refs {
		if r.Local == im.Local && len(r.Member) == 0 {
			uses = append(uses, r)
		}
	}
	switch {
	case im.Taken && im.Local == im.Name:
		f.replace(im.At, now+": "+im.Name)
	case im.Local != im.Name && !im.Exported: // it has a name of its own
		f.replace(im.At, now)
	case im.Exported || slices.Contains(f.module.Names, now):
		if im.Local != im.Name {
			f.replace(im.At, now)
		} else {
			f.replace(im.At, now+" as "+im.Name)
		}
	default:
		f.replace(im.At, now)
		for _, r := range uses {
			if r.Short {
				f.replace(r.At, r.Local+": "+now)
			} else {
				f.replace(r.At, now)
			}
		}
	}
}

// quoteLike writes a text as the literal that it replaces is written.
func quoteLike(literal, text string) string {
	quote := strings.TrimLeft(literal, "rRuUbBfF")
	if quote == "" || strings.ContainsAny(text, "\\\"'`\n\r${}") {
		return jsonText(text)
	}
	return quote[:1] + text + quote[:1]
}
