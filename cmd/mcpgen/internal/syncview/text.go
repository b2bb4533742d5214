package syncview

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/catalog/diff"
)

// The limits of what a person can take in. --json has everything.
const (
	mostTools = 100 // changed tools of all servers
	mostItems = 30  // items of one tool
	mostFiles = 20
	mostNames = 20
	// labelColumns is the widest column of places.
	labelColumns = 32
)

// changeText writes changes for people: by server and tool, one thing a line.
type changeText struct {
	out   strings.Builder
	style cli.Style
	tools int // shown so far
	// policy describes what the policy says about new tools. Nil adds nothing.
	policy func(*diff.Change) []string
}

// changes lists the changes of servers.
func (v *View) changes(out *strings.Builder) {
	t := &changeText{style: v.App.OutStyle(), policy: v.Policy.Lines}
	for _, s := range v.Report.ByServer() {
		if t.out.Len() > 0 && t.tools < mostTools {
			t.out.WriteByte('\n')
		}
		t.server(s)
	}
	if t.tools > mostTools {
		fmt.Fprintf(&t.out, "and %s more; --json lists all\n", cli.Count(t.tools-mostTools, "tool"))
	}
	if t.out.Len() > 0 {
		out.WriteString(t.out.String() + "\n")
	}
}

func (t *changeText) server(s gen.ServerChanges) {
	t.out.WriteString(t.style.Bold(cli.EscapeLine(s.Server)))
	if s.Tools[0].Changes[0].Tools == nil {
		t.out.WriteString(t.style.Dim(": " + tally(s)))
	}
	t.out.WriteByte('\n')
	for _, tool := range s.Tools {
		if tool.Tool != "" {
			if t.tools++; t.tools > mostTools {
				continue
			}
		}
		t.tool(tool)
	}
}

// tally counts the changes of one server.
func tally(s gen.ServerChanges) string {
	var parts []string
	for _, n := range []struct {
		n    int
		word string
	}{{s.Changed, "changed"}, {s.Renamed, "renamed"}, {s.Added, "added"}, {s.Removed, "removed"}} {
		switch {
		case n.n == 0:
		case len(parts) == 0:
			parts = append(parts, cli.Count(n.n, "tool")+" "+n.word)
		default:
			parts = append(parts, fmt.Sprintf("%d %s", n.n, n.word))
		}
	}
	for _, t := range s.Tools {
		for _, c := range t.Changes {
			switch {
			case c.Kind == diff.Resources || c.Kind == diff.Prompts:
				parts = append(parts, string(c.Kind)+" changed")
			case parts == nil && c.Kind == diff.ServerText:
				parts = append(parts, "texts changed")
			}
		}
	}
	out := strings.Join(parts, ", ")
	if s.Breaking > 0 {
		out += fmt.Sprintf("; %d breaking", s.Breaking)
	}
	return out
}

// tool shows one tool, or what changed of the server itself.
func (t *changeText) tool(of gen.ToolChanges) {
	changes, first := of.Changes, of.Changes[0]
	name, summary := cli.EscapeLine(first.Tool), ""
	if first.Summary != "" {
		summary = t.style.Dim("  " + cli.EscapeLine(first.Summary))
	}
	switch first.Kind {
	case diff.ServerAdded, diff.ServerRemoved:
		what := t.style.Green("+ server: added")
		if first.Kind == diff.ServerRemoved {
			what = t.style.Red("- server: removed")
		}
		fmt.Fprintf(&t.out, "  %s with %s\n", what, cli.EscapeLine(toolList(first.Tools)))
		t.permitted(&first)
		return
	case diff.ToolAdded:
		fmt.Fprintf(&t.out, "  %s%s\n", t.style.Green("+ "+name+": added"), summary)
		t.permitted(&first)
		return
	case diff.ToolRemoved:
		fmt.Fprintf(&t.out, "  %s%s\n", t.style.Red("- "+name+": removed"), summary)
		return
	}
	if name == "" {
		name = "the server itself"
	}
	heading, word := t.style.Yellow("~ "+name), verdict(of)
	if first.Kind == diff.ToolRenamed {
		heading += ": renamed from " + cli.EscapeLine(first.OldTool)
	}
	if of.Verdict() == diff.Harmless {
		heading += t.style.Dim(word)
	} else {
		heading += t.style.Red(word)
	}
	t.out.WriteString("  " + heading + "\n")
	t.permitted(&first)
	var rows []row
	more := 0
	for _, c := range changes {
		more += c.More
		for _, i := range c.Items {
			if len(rows) == mostItems {
				more++
				continue
			}
			rows = append(rows, t.row(c, i))
		}
		if c.Why != "" {
			rows = append(rows, row{mark: true, label: string(c.Kind), text: cli.EscapeLine(c.Why)})
		}
	}
	t.rows(rows)
	if more > 0 {
		fmt.Fprintf(&t.out, "      and %d more; --json lists all\n", more)
	}
}

// permitted shows what the policy says about new tools.
func (t *changeText) permitted(c *diff.Change) {
	for _, line := range t.policy(c) {
		fmt.Fprintf(&t.out, "      policy: %s\n", cli.EscapeLine(line))
	}
}

// row is one item: a mark, a place and a text.
type row struct {
	mark        bool
	label, text string
}

func (t *changeText) row(c diff.Change, i diff.Item) row {
	r := row{mark: i.Impact == diff.Breaking || i.Important, label: cli.EscapeLine(cli.Shorten(c.Label(i), 200))}
	switch {
	case i.Edits != nil && i.Old != "" && i.New != "":
		if !strings.HasSuffix(r.label, i.Keyword) || i.Place != "" {
			r.text = i.Keyword + ": "
		}
		r.text = cli.EscapeLine(r.text) + t.edits(i.Edits)
	case i.Edits != nil && i.Place == "":
		r.text = cli.EscapeLine(strings.TrimPrefix(i.Message, i.Keyword+" "))
	default:
		r.text = cli.EscapeLine(i.Message)
	}
	if len(i.Also) > 0 {
		r.text += t.style.Dim(" (also " + cli.EscapeLine(strings.Join(i.Also, ", ")) + ")")
	}
	if word := impactWord(i); word != "" {
		r.text += t.style.Red(word)
	}
	return r
}

func (t *changeText) edits(edits []diff.Edit) string {
	var out strings.Builder
	for _, e := range edits {
		text := cli.EscapeLine(e.Text)
		switch e.Op {
		case diff.Drop:
			text = t.style.Red("[-" + text + "-]")
		case diff.Add:
			text = t.style.Green("{+" + text + "+}")
		case diff.Skip:
			text = "…"
		}
		out.WriteString(text)
	}
	return out.String()
}

// rows prints items in two columns; a place that is too long has a line of its own.
func (t *changeText) rows(rows []row) {
	widest := 0
	for _, r := range rows {
		if n := utf8.RuneCountInString(r.label); n <= labelColumns {
			widest = max(widest, n)
		}
	}
	for _, r := range rows {
		mark := "    "
		if r.mark {
			mark = "  " + t.style.Red("!") + " "
		}
		if utf8.RuneCountInString(r.label) > widest {
			t.out.WriteString("  " + mark + t.style.Cyan(r.label) + "\n")
			mark, r.label = "    ", ""
		}
		fmt.Fprintf(&t.out, "  %s%s  %s\n", mark, t.style.Cyan(fmt.Sprintf("%-*s", widest, r.label)), r.text)
	}
}

// toolList names tools, but not thousands of them.
func toolList(names []string) string {
	if len(names) == 0 {
		return "no tools"
	}
	list := strings.Join(names[:min(mostNames, len(names))], ", ")
	if len(names) > mostNames {
		list += fmt.Sprintf(" and %d more", len(names)-mostNames)
	}
	return cli.Count(len(names), "tool") + ": " + list
}

// files lists the files that are not as they should be.
func (v *View) files(out *strings.Builder) {
	if !v.Report.Drift() {
		return
	}
	words := map[string]string{"create": "missing", "update": "differs", "delete": "stale"}
	fmt.Fprintf(out, "%s%s\n", v.App.OutStyle().Bold("files in "+v.outName()), v.App.OutStyle().Dim(": "+v.fileCounts()))
	for i, f := range v.Report.Files {
		if i == mostFiles {
			fmt.Fprintf(out, "  and %d more; --json lists all\n", len(v.Report.Files)-mostFiles)
			break
		}
		fmt.Fprintf(out, "  %-7s  %s\n", words[string(f.Action)], cli.EscapeLine(f.Path))
	}
	out.WriteByte('\n')
}

func (v *View) fileCounts() string {
	n := map[string]int{}
	for _, f := range v.Report.Files {
		n[string(f.Action)]++
	}
	var parts []string
	for _, of := range []struct{ action, word string }{{"update", "differ"}, {"create", "missing"}, {"delete", "stale"}} {
		if n[of.action] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[of.action], of.word))
		}
	}
	return strings.Join(parts, ", ")
}
