package migrate

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/script/internal/syntax"
)

// edit is a change of a file.
type edit struct {
	span
	text string
}

// apply makes edits. It reports false if two of them are about one place and differ.
func apply(text string, edits []edit) (string, bool) {
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Or(a.start-b.start, a.end-b.end) })
	edits = slices.CompactFunc(edits, func(a, b edit) bool { return a == b && a.end > a.start })
	var b strings.Builder
	last := 0
	for _, e := range edits {
		if e.start < last || e.end < e.start || e.end > len(text) {
			return "", false
		}
		b.WriteString(text[last:e.start] + e.text)
		last = e.end
	}
	b.WriteString(text[last:])
	return b.String(), true
}

// rewriter rewrites one file.
type rewriter struct {
	*source
	name  string
	lang  string // "typescript" or "python"
	tools []*tool
	edits []edit
	left  []Left
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

// gone returns the places where the file names a member that the output of a tool it uses has no more. Whether a value comes from
// that tool is not followed.
func (f *rewriter) gone() []Left {
	var out []Left
	for _, n := range f.mentions {
		for _, t := range f.tools {
			if now, gone := t.gone[n.Text]; gone && f.used[t] {
				text := fmt.Sprintf("%s no longer returns %s", t.newID, jsonText(n.Text))
				if now != "" {
					text += fmt.Sprintf(" (it is %s now)", jsonText(now))
				}
				out = append(out, Left{File: f.name, Line: f.line(n), Text: text + "; check this use, which has no type that shows it"})
			}
		}
	}
	return out
}

func (f *rewriter) leave(at *syntax.Node, format string, args ...any) {
	f.left = append(f.left, Left{File: f.name, Line: f.line(at), Text: fmt.Sprintf(format, args...)})
}

func (f *rewriter) replace(at span, text string) {
	if f.text[at.start:at.end] != text {
		f.edits = append(f.edits, edit{at, text})
	}
}

func (f *rewriter) insert(at int, text string) {
	f.edits = append(f.edits, edit{span{at, at}, text})
}

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
	for _, im := range f.imports {
		f.imported(im, meanings)
	}
	meant := func(names []string) *tool {
		if len(names) == 0 || meanings[names[0]] == nil || f.bound[names[0]] > 1 {
			return nil
		}
		return meanings[names[0]](names[1:])
	}
	for _, n := range f.members {
		if t := meant(chain(n)); t != nil {
			f.use(t)
			if at, ok := f.word(n); ok {
				f.replace(at, f.renamed(t, n.Text))
			}
		}
	}
	called := map[span]bool{}
	for _, n := range f.calls {
		callee, args := n.Kids[0], n.Kids[1:]
		if f.handsOn(callee, args) {
			callee, args = args[0], args[1:]
		}
		at, ok := f.word(callee)
		if !ok || called[at] { // a value may be twice in the tree
			continue
		}
		called[at] = true
		names := chain(callee)
		t := meant(names)
		if names != nil && (callee.Text == "callMCPTool" || callee.Text == "call_mcp_tool") && len(args) > 0 {
			idAt, id, ok := f.literal(args[0])
			if t = f.byID(id); !ok || t == nil {
				continue
			}
			if t.oldID != t.newID {
				f.replace(idAt, quoteLike(f.text[idAt.start:idAt.end], t.newID))
			}
			args, at.end = args[1:], 0
		}
		if t != nil {
			f.use(t)
			f.input(n, args, at.end, t)
		}
	}
}

// handsOn reports whether a function of Python calls its first argument with its own keyword arguments.
func (f *rewriter) handsOn(callee *syntax.Node, args []*syntax.Node) bool {
	keyword := func(n *syntax.Node) bool { return n.Kind == syntax.Keyword }
	return f.python && slices.Contains([]string{"submit", "partial", "to_thread"}, callee.Text) && slices.IndexFunc(args, keyword) == 1 &&
		!slices.ContainsFunc(args[1:], func(n *syntax.Node) bool { return !keyword(n) }) && chain(args[0]) != nil
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
func (f *rewriter) imported(im imported, meanings map[string]func([]string) *tool) {
	if own := f.inModule(im.path); own != nil {
		f.use(own)
		f.moved(im, own)
	}
	if im.name == "" {
		meanings[im.local] = func(members []string) *tool {
			full := slices.Concat(im.path, members)
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
	if len(im.path) == 0 { // a server, from the tree's index
		meanings[im.local] = func(members []string) *tool {
			if len(members) != 1 {
				return nil
			}
			t, _ := f.named([]string{im.name}, members[0])
			return t
		}
		return
	}
	if im.name == "*" {
		for _, t := range f.server(im.path[0]) {
			f.use(t)
		}
	}
	t, isType := f.named(im.path, im.name)
	if t == nil {
		return
	}
	if !isType {
		meanings[im.local] = func(members []string) *tool {
			if len(members) > 0 {
				return nil
			}
			return t
		}
	}
	f.use(t)
	f.rename(im, f.renamed(t, im.name))
}

// moved rewrites the module of an import that is a tool's own.
func (f *rewriter) moved(im imported, t *tool) {
	base := func(file string) string { return strings.TrimSuffix(path.Base(file), path.Ext(file)) }
	before, now := base(t.names[f.lang].old.File), base(t.names[f.lang].new.File)
	written := f.text[im.module.start:im.module.end]
	if i := strings.LastIndex(written, before); before != now && i >= 0 {
		f.replace(im.module, written[:i]+now+written[i+len(before):])
	}
}

// rename gives an imported name, and what uses it, a new name. If that name is taken, the old one stays in the file.
func (f *rewriter) rename(im imported, now string) {
	if now == im.name {
		return
	}
	switch {
	case im.taken && im.local == im.name:
		f.replace(im.at, now+": "+im.name)
	case im.local != im.name: // it has a name of its own
		f.replace(im.at, now)
	case im.exported || f.names[now] || f.bound[im.local] > 1:
		f.replace(im.at, now+" as "+im.name)
	default:
		f.replace(im.at, now)
		for _, at := range f.types[im.local] {
			f.replace(at, now)
		}
		for _, n := range f.uses[im.local] {
			if at, ok := f.word(n); ok && f.short[n] {
				f.replace(at, im.local+": "+now)
			} else if ok {
				f.replace(at, now)
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
