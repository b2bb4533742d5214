package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/config/guide"
)

// The goal: with this many tools, or up to 5 % fewer if some could not be generated, this percentage fewer tokens on all
// data-heavy tasks together.
const (
	goalTools   = 500
	goalPercent = 98.7
)

// total is the sum over the tasks of one kind, or all, in one way with one catalog.
type total struct {
	Tools int
	Kind  kind
	Way   way
	Tasks int
	measured
	// Saved, SavedBilled and SavedCached are percentages of tokens saved beside direct calls: each text read once, as
	// billed, and as billed with a cache.
	Saved       float64
	SavedBilled float64
	SavedCached float64
	// SavedLeast is the percentage of the task that saves least, which Worst names.
	SavedLeast float64
	Worst      string
}

// goal is a goal, and whether it is reached.
type goal struct {
	Goal    string
	Reached bool
	Is      string
}

// report has everything that was measured.
type report struct {
	Sizes   []int
	Tasks   []measured
	Totals  []total
	Goals   []goal
	Serve   []fixed
	Search  int
	Shell   int
	Catalog []int
}

// all is the kind of a total over all tasks.
const all kind = "all"

func newReport(p *proof) *report {
	r := &report{Sizes: p.made, Tasks: p.out, Serve: p.fixed, Search: p.count.count(searchTools), Shell: p.count.count(shellTool) + p.count.count(guide.Paragraph("servers"))}
	for _, tools := range p.made {
		r.Catalog = append(r.Catalog, r.pick(tools, all, byCalls)[0].Definitions)
		for _, k := range append(kinds(), all) {
			for _, w := range ways() {
				if t, ok := r.total(tools, k, w); ok {
					r.Totals = append(r.Totals, t)
				}
			}
		}
	}
	r.judge()
	r.judgeServe()
	return r
}

// pick returns the tasks of a kind done in one way with one catalog.
func (r *report) pick(tools int, k kind, w way) []measured {
	var out []measured
	for _, m := range r.Tasks {
		if m.Tools == tools && m.Way == w && (k == all || m.Kind == k) {
			out = append(out, m)
		}
	}
	return out
}

// total sums tasks, and compares them with the same tasks by direct calls.
func (r *report) total(tools int, k kind, w way) (total, bool) {
	t := total{Tools: tools, Kind: k, Way: w, SavedLeast: 100}
	var base measured
	for _, m := range r.pick(tools, k, w) {
		i := slices.IndexFunc(r.Tasks, func(d measured) bool { return d.Tools == tools && d.Way == byCalls && d.Task == m.Task })
		d := r.Tasks[i]
		t.Tasks++
		t.measured.add(m)
		base.add(d)
		if saved := fewer(float64(m.Read()), float64(d.Read())); saved < t.SavedLeast {
			t.SavedLeast, t.Worst = saved, m.Task
		}
	}
	t.Saved = fewer(float64(t.Read()), float64(base.Read()))
	t.SavedBilled = fewer(float64(t.Billed+t.Out), float64(base.Billed+base.Out))
	t.SavedCached = fewer(t.Cached+float64(t.Out), base.Cached+float64(base.Out))
	return t, t.Tasks > 0
}

func (m *measured) add(o measured) {
	m.In, m.Out, m.Definitions, m.Billed = m.In+o.In, m.Out+o.Out, m.Definitions+o.Definitions, m.Billed+o.Billed
	m.Cached, m.Calls, m.Turns, m.MS = m.Cached+o.Cached, m.Calls+o.Calls, m.Turns+o.Turns, m.MS+o.MS
}

// fewer returns the percentage by which n is less than base.
func fewer(n, base float64) float64 { return 100 * (1 - n/base) }

// judge appends the goals for tokens.
func (r *report) judge() {
	for _, t := range r.Totals {
		switch {
		case t.Way == byScript && t.Kind == dataHeavy && t.Tools <= goalTools && t.Tools > goalTools-goalTools/20:
			r.Goals = append(r.Goals, goal{
				Goal:    fmt.Sprintf("at %d tools, code reads at least %.1f %% fewer tokens than direct calls on the data-heavy tasks", t.Tools, goalPercent),
				Reached: t.Saved >= goalPercent, Is: fmt.Sprintf("%.2f %%; least on %s, %.2f %%", t.Saved, t.Worst, t.SavedLeast),
			})
		case (t.Way == byScript || t.Way == byServe) && t.Kind == oneCall:
			r.Goals = append(r.Goals, goal{
				Goal:    fmt.Sprintf("at %d tools, %s never reads more than direct calls on one-call tasks", t.Tools, t.Way),
				Reached: t.SavedLeast >= 0, Is: fmt.Sprintf("least on %s, %.1f %% fewer", t.Worst, t.SavedLeast),
			})
		}
	}
}

// unmeasured returns the goal that was not measured, or "".
func (r *report) unmeasured() string {
	for _, g := range r.Goals {
		if strings.Contains(g.Goal, string(dataHeavy)) {
			return ""
		}
	}
	return fmt.Sprintf("not measured: data-heavy tasks with a catalog of %d tools", goalTools)
}

// judgeServe appends the goals for the definitions of mcprun serve.
func (r *report) judgeServe() {
	for _, f := range r.Serve {
		r.Goals = append(r.Goals, goal{
			Goal:    fmt.Sprintf("at %d tools, the definitions of mcprun serve cost less than %d tokens, and with --tools code and no index less than %d", f.Tools, goalServe, goalBare),
			Reached: f.All < goalServe && f.Bare < goalBare, Is: fmt.Sprintf("%d, with --tools code %d, without an index %d", f.All, f.Code, f.Bare),
		})
	}
}

// missed returns an error that names the goals that are not reached.
func (r *report) missed() error {
	var out []string
	for _, g := range r.Goals {
		if !g.Reached {
			out = append(out, g.Goal+": "+g.Is)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return fmt.Errorf("not reached: %s", strings.Join(out, "; "))
}

// print writes the tables and the goals.
func (r *report) print(out io.Writer) error {
	var b strings.Builder
	b.WriteString(r.markdown())
	for _, g := range r.Goals {
		fmt.Fprintf(&b, "%s: %s (%s)\n", map[bool]string{true: "reached", false: "MISSED"}[g.Reached], g.Goal, g.Is)
	}
	if text := r.unmeasured(); text != "" {
		b.WriteString(text + "\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// line is one task in all ways.
type line struct {
	tools int
	task  string
	kind  kind
	read  []int
	saved float64
}

// worstFirst are all tasks by size, and those that save least first.
func (r *report) worstFirst() []line {
	var out []line
	for _, m := range r.Tasks {
		if m.Way != byCalls {
			continue
		}
		l := line{tools: m.Tools, task: m.Task, kind: m.Kind}
		for _, w := range ways() {
			for _, o := range r.Tasks {
				if o.Tools == m.Tools && o.Task == m.Task && o.Way == w {
					l.read = append(l.read, o.Read())
				}
			}
		}
		l.saved = fewer(float64(l.read[2]), float64(l.read[0]))
		out = append(out, l)
	}
	slices.SortStableFunc(out, func(a, b line) int { return cmp.Or(cmp.Compare(a.tools, b.tools), cmp.Compare(a.saved, b.saved)) })
	return out
}

// thousands formats a number with commas.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// The lines of a Markdown file that enclose the tables.
const (
	pageBegin = "<!-- measured: begin -->"
	pageEnd   = "<!-- measured: end -->"
)

// intoPage writes the tables between the markers of a Markdown file, without times, which differ from run to run.
func (r *report) intoPage(path string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(page), pageBegin+"\n")
	_, after, closed := strings.Cut(rest, pageEnd)
	if !ok || !closed {
		return fmt.Errorf("%s has no lines %q and %q for the tables", path, pageBegin, pageEnd)
	}
	return os.WriteFile(path, []byte(before+pageBegin+"\n"+r.markdown()+pageEnd+after), 0o644)
}

// markdown returns the tables.
func (r *report) markdown() string {
	var b strings.Builder
	b.WriteString("\nAll definitions together, in tokens: ")
	for i, tools := range r.Sizes {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s for %s tools", thousands(r.Catalog[i]), thousands(tools))
	}
	b.WriteString(".\n\n| Tools | Tasks | Way | In | Out | Fewer, read once | Least | Fewer, billed | Fewer, with a cache | Calls | Turns |\n|--:|---|---|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, t := range r.Totals {
		saved := "| | | | "
		if t.Way != byCalls {
			saved = fmt.Sprintf("| %.2f %% | %.1f %% | %.1f %% | %.1f %% ", t.Saved, t.SavedLeast, t.SavedBilled, t.SavedCached)
		}
		fmt.Fprintf(&b, "| %s | %d %s | %s | %s | %s %s| %d | %d |\n", thousands(t.Tools), t.Tasks, t.Kind, t.Way, thousands(t.In), thousands(t.Out), saved, t.Calls, t.Turns)
	}
	b.WriteString("\nEach task with " + thousands(r.Sizes[min(len(r.Sizes)-1, 2)]) + " tools, in tokens read once, the worst for code first:\n\n| Task | Kind | Direct | Search | Code | Fewer by code |\n|---|---|--:|--:|--:|--:|\n")
	for _, l := range r.worstFirst() {
		if l.tools == r.Sizes[min(len(r.Sizes)-1, 2)] {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %.2f %% |\n", l.task, l.kind, thousands(l.read[0]), thousands(l.read[1]), thousands(l.read[2]), l.saved)
		}
	}
	if len(r.Serve) > 0 {
		b.WriteString("\nWhat the definitions of `mcprun serve` cost, before anything is done:\n\n| Tools in the catalog | All, with the index | `--tools code` | `--tools code --index-tokens 0` |\n|--:|--:|--:|--:|\n")
		for _, f := range r.Serve {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", thousands(f.Tools), thousands(f.All), thousands(f.Code), thousands(f.Bare))
		}
	}
	b.WriteString("\n")
	return b.String()
}
