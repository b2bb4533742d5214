package document

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/mcpgen/mcpgen/gen/config/node"
	"github.com/mcpgen/mcpgen/gen/ident"
)

// maxLabel bounds a label of the graph, in characters.
const maxLabel = 60

// Graph returns the document as a flowchart of Mermaid (https://mermaid.js.org/syntax/flowchart.html). Its labels are texts of the document, in
// which nothing has a meaning to Mermaid or HTML.
func (d *Document) Graph() string {
	g := &graph{}
	g.line("flowchart TD")
	g.line(`  start(["%s"])`, label(d.Name))
	ends := g.list(d.tasks, []edge{{from: "start"}}, nil)
	g.line("  finish([end])")
	g.join(append(ends, g.finals...), "finish")
	return g.text.String()
}

// graph draws a flowchart.
type graph struct {
	text   strings.Builder
	last   int
	finals []edge // that lead to the end of the workflow
}

// edge is an arrow whose end is not drawn yet.
type edge struct{ from, label string }

func (g *graph) line(format string, args ...any) { fmt.Fprintf(&g.text, format+"\n", args...) }

// join draws arrows to a node.
func (g *graph) join(edges []edge, to string) {
	for _, e := range edges {
		if e.label == "" {
			g.line("  %s --> %s", e.from, to)
		} else {
			g.line(`  %s -->|"%s"| %s`, e.from, label(e.label), to)
		}
	}
}

// list draws tasks one after the other. It returns the arrows that leave the list. leave receives those of exit; nil means the
// end of the workflow.
func (g *graph) list(tasks []*task, in []edge, leave *[]edge) []edge {
	if leave == nil {
		leave = &g.finals
	}
	waiting := map[string][]edge{}
	for _, t := range tasks {
		in = append(in, waiting[t.name]...)
		in = g.task(t, in, func(then *yaml.Node, e edge) bool {
			switch {
			case then == nil || then.Value == "continue":
				return false
			case then.Value == "end":
				g.finals = append(g.finals, e)
			case then.Value == "exit":
				*leave = append(*leave, e)
			default:
				waiting[then.Value] = append(waiting[then.Value], e)
			}
			return true
		})
	}
	return in
}

// task draws a task. It returns the arrows to the next task of the list. away takes the arrows that lead elsewhere.
func (g *graph) task(t *task, in []edge, away func(then *yaml.Node, e edge) bool) []edge {
	g.last++
	id := fmt.Sprintf("t%d", g.last)
	text := label(t.name) + "<br/>" + label(t.summary())
	shape := map[string][2]string{"switch": {"{", "}"}, "wait": {"([", "])"}, "listen": {"[/", "/]"}, "raise": {"{{", "}}"}, "for": {"[[", "]]"}, "fork": {"[[", "]]"}, "try": {"[[", "]]"}}[t.kind]
	if shape[0] == "" {
		shape = [2]string{"[", "]"}
	}
	g.line(`  %s%s"%s"%s`, id, shape[0], text, shape[1])
	g.join(in, id)
	var out []edge
	if condition := at(t.node, "if"); condition != nil {
		out = append(out, edge{id, "not: " + condition.Value})
	}
	done := g.inside(t, id)
	if t.kind == "switch" {
		done = nil
		hasDefault := false
		for _, item := range items(at(t.node, "switch")) {
			for name, body := range node.Pairs(item) {
				e := edge{id, name.Value}
				hasDefault = hasDefault || at(body, "when") == nil
				switch then := at(body, "then"); {
				case then.Value == "continue":
					out = append(out, e)
				case !away(then, e):
					done = append(done, e)
				}
			}
		}
		if !hasDefault {
			done = append(done, edge{id, "otherwise"})
		}
	}
	for _, e := range done {
		if t.kind != "raise" && !away(at(t.node, "then"), e) {
			out = append(out, e)
		}
	}
	if undo := t.lists["compensate"]; undo != nil {
		g.section(id, "if the workflow fails later", func() { g.scope(undo, edge{id, "undone by"}) })
	}
	return out
}

// inside draws the tasks of a task, and returns the arrows that leave it.
func (g *graph) inside(t *task, id string) (out []edge) {
	switch t.kind {
	case "do", "try", "for":
		body := t.lists[t.kind]
		word := ""
		if t.kind == "for" {
			body, word = t.lists["do"], "each item"
		}
		g.section(id, t.kind, func() { out = g.scope(body, edge{id, word}) })
		if t.kind == "for" {
			g.join(out, id)
			out = []edge{{id, "done"}}
		}
	case "fork":
		g.section(id, "fork", func() {
			for _, branch := range t.lists["fork.branches"] {
				out = append(out, g.scope([]*task{branch}, edge{from: id})...)
			}
		})
	default:
		return []edge{{from: id}}
	}
	if catch := t.lists["catch.do"]; catch != nil {
		g.section(id+"c", "catch", func() { out = append(out, g.scope(catch, edge{id, "error"})...) })
	}
	return out
}

// scope draws a list of tasks that exit leaves, and returns the arrows that leave it.
func (g *graph) scope(tasks []*task, in edge) []edge {
	var left []edge
	out := g.list(tasks, []edge{in}, &left)
	return append(out, left...)
}

// section encloses what draw draws.
func (g *graph) section(id, title string, draw func()) {
	g.line(`  subgraph %ss["%s"]`, id, label(title))
	draw()
	g.line("  end")
}

// summary says what a task does, in a few words.
func (t *task) summary() string {
	switch t.kind {
	case "call":
		return value(t.node, "call").Value
	case "wait":
		if n := at(t.node, "wait"); n.Kind == yaml.ScalarNode {
			return "wait " + n.Value
		}
	case "for":
		if in := value(t.node, "for", "in"); in.Kind == yaml.ScalarNode {
			return "for each in " + in.Value
		}
	case "raise":
		return "raise " + value(t.node, "raise", "error", "type").Value
	}
	return t.kind
}

// label writes a text as characters that have no meaning to Mermaid, HTML or Markdown.
func label(text string) string {
	var out strings.Builder
	for _, r := range ident.Shorten(ident.CleanLine(text), maxLabel) {
		if r < 0x80 && !strings.ContainsRune(" ,.-=>!?:()/'+$", r) && !ident.IsIdentifier("a"+string(r)) || r == '<' || r == '>' || r == '$' {
			fmt.Fprintf(&out, "#%d;", r)
			continue
		}
		out.WriteRune(r)
	}
	return out.String()
}
