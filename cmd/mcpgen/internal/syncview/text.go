package syncview

import (
	"fmt"
	"strings"
	"time"
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

// text is the report for people: the changes of servers, the files concerned, the diff if it is wanted, and what to do.
func (v *View) text() string {
	var out strings.Builder
	v.changes(&out)
	switch {
	case v.Report.Written:
	case v.Report.WithDiff:
		out.WriteString(ColourDiff(v.App.OutStyle(), v.Report.Diff))
	default:
		v.files(&out)
	}
	out.WriteString(v.verdict())
	return out.String()
}

// verdict returns the last line or two.
func (v *View) verdict() string {
	r := v.Report
	of := fmt.Sprintf("%s from %s", cli.Count(r.Tools(), "tool"), cli.Count(r.InTree(), "server"))
	if failed := len(r.Failures()); failed > 0 {
		of += fmt.Sprintf(", %d not asked", failed)
	}
	took := v.App.OutStyle().Dim(fmt.Sprintf("(%s)", r.Duration.Round(10*time.Millisecond)))
	switch r.Outcome() {
	case gen.Updated:
		count := map[string]int{}
		for _, f := range r.Files {
			count[string(f.Action)]++
		}
		return fmt.Sprintf("%s: %s; files: %d created, %d updated, %d deleted, %d unchanged %s\n", v.outName(), of,
			count["create"], count["update"], count["delete"], r.Unchanged, took)
	case gen.Unpinned:
		return fmt.Sprintf("%sThe lock pins other definitions than these, so nothing was written. To accept them, run:\n  %s\n", v.legend(), v.Repair)
	case gen.OutOfDate:
		if !r.Check {
			return "nothing was written\n"
		}
		return fmt.Sprintf("%s%s is out of date. To repair it, run:\n  %s\n", v.legend(), v.outName(), v.Repair)
	case gen.NotAsked:
		return "no server could be asked; nothing was written\n"
	}
	if len(r.Failures()) > 0 {
		return fmt.Sprintf("%s: %s; no changes from the servers that answered %s\n", v.outName(), of, took)
	}
	return fmt.Sprintf("%s is up to date: %s, %s %s\n", v.outName(), of, cli.Count(r.Unchanged, "file"), took)
}

// legend explains the mark !, if the report has any.
func (v *View) legend() string {
	red := v.App.OutStyle().Red
	switch breaking, important := v.Report.Impact() == diff.Breaking, v.Report.Important(); {
	case breaking && important:
		return red("!") + " breaks callers, or takes back an assurance.\n"
	case breaking:
		return red("!") + " breaks callers: what was accepted may be refused, or a reply may hold what it could not before.\n"
	case important:
		return red("!") + " takes back an assurance.\n"
	case v.Report.Verdict() == diff.Harmless && !v.Report.Frozen:
		return "All changes are harmless: mcprun makes the calls, with a warning.\n"
	}
	return ""
}

// verdict says in parentheses what the changes of a tool mean for its callers. It is empty for a tool that was added or removed.
func verdict(t gen.ToolChanges) string {
	switch kind, v := t.Changes[0].Kind, t.Verdict(); {
	case v == diff.BreakingVerdict && t.Important() && t.Impact() != diff.Breaking:
		return " (important)"
	case v == diff.BreakingVerdict && t.Important():
		return " (breaking) (important)"
	case v == diff.Harmless && (kind == diff.ToolAdded || kind == diff.ServerAdded || t.Changes[0].Tool == ""), v == "":
		return ""
	default:
		return " (" + string(v) + ")"
	}
}

func impactWord(i diff.Item) string {
	switch {
	case i.Impact == diff.Breaking:
		return " (breaking)"
	case i.Important:
		return " (important)"
	}
	return ""
}
