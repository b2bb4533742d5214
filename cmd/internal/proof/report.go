package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/mcpgen/mcpgen/gen/config/guide"
)

// What is to be reached: at so many tools, or hardly fewer where some could not be generated, so many per cent fewer tokens on the data-heavy tasks together.
const (
	goalTools   = 500
	goalPercent = 98.7
)

// total sums tasks of one kind, or of all, in one way with one catalog.
type total struct {
	Tools int  `json:"tools"`
	Kind  kind `json:"kind"`
	Way   way  `json:"way"`
	Tasks int  `json:"tasks"`
	measured
	// Saved, SavedBilled and SavedCached are how many per cent fewer tokens that is than by direct calls: each read
	// once; as billed; and as billed with a cache.
	Saved       float64 `json:"savedPercent"`
	SavedBilled float64 `json:"savedBilledPercent"`
	SavedCached float64 `json:"savedCachedPercent"`
	// SavedLeast is that of the task that saves least, which Worst names.
	SavedLeast float64 `json:"savedLeastPercent"`
	Worst      string  `json:"worst"`
}

// goal is something that is to be reached.
type goal struct {
	Goal    string `json:"goal"`
	Reached bool   `json:"reached"`
	Is      string `json:"is"`
}

// report is all that was measured.
type report struct {
	Sizes   []int      `json:"sizes"`
	Tasks   []measured `json:"tasks"`
	Totals  []total    `json:"totals"`
	Goals   []goal     `json:"goals"`
	Serve   []fixed    `json:"serve,omitempty"`
	Search  int        `json:"searchDefinitions"`
	Shell   int        `json:"codeDefinitions"`
	Catalog []int      `json:"catalogDefinitions"`
}

// all is the kind of totals over all tasks.
const all kind = "all"

func newReport(p *proof) *report {
	r := &report{Sizes: p.made, Tasks: p.out, Serve: p.fixed, Search: p.count.count(searchTools), Shell: p.count.count(shellTool) + p.count.count(guide.Paragraph("servers"))}
	for _, tools := range p.made {
		r.Catalog = append(r.Catalog, r.pick(tools, all, direct)[0].Definitions)
		for _, k := range append(kinds(), all) {
			for _, w := range ways() {
				if t, ok := r.total(tools, k, w); ok {
					r.Totals = append(r.Totals, t)
				}
			}
		}
		if t, ok := r.total(tools, all, python); ok {
			r.Totals = append(r.Totals, t)
		}
	}
	r.judge()
	r.judgeServe()
	return r
}

// pick are the tasks of a kind.
func (r *report) pick(tools int, k kind, w way) []measured {
	var out []measured
	for _, m := range r.Tasks {
		if m.Tools == tools && m.Way == w && (k == all || m.Kind == k) {
			out = append(out, m)
		}
	}
	return out
}

// total sums tasks, beside the same ones by direct calls.
func (r *report) total(tools int, k kind, w way) (total, bool) {
	t := total{Tools: tools, Kind: k, Way: w, SavedLeast: 100}
	var base measured
	for _, m := range r.pick(tools, k, w) {
		i := slices.IndexFunc(r.Tasks, func(d measured) bool { return d.Tools == tools && d.Way == direct && d.Task == m.Task })
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

// fewer is by how many per cent n is less than than.
func fewer(n, than float64) float64 { return 100 * (1 - n/than) }

// judge says which goals are reached.
func (r *report) judge() {
	for _, t := range r.Totals {
		switch {
		case t.Way == code && t.Kind == dataHeavy && t.Tools <= goalTools && t.Tools > goalTools-goalTools/20:
			r.Goals = append(r.Goals, goal{
				Goal:    fmt.Sprintf("at %d tools, code reads at least %.1f %% fewer tokens than direct calls on the data-heavy tasks", t.Tools, goalPercent),
				Reached: t.Saved >= goalPercent, Is: fmt.Sprintf("%.2f %%; least on %s, %.2f %%", t.Saved, t.Worst, t.SavedLeast),
			})
		case (t.Way == code || t.Way == served) && t.Kind == oneCall:
			r.Goals = append(r.Goals, goal{
				Goal:    fmt.Sprintf("at %d tools, %s never reads more than direct calls on one-call tasks", t.Tools, t.Way),
				Reached: t.SavedLeast >= 0, Is: fmt.Sprintf("least on %s, %.1f %% fewer", t.Worst, t.SavedLeast),
			})
		}
	}
}

// unmeasured says what of the goals there is no figure for.
func (r *report) unmeasured() string {
	for _, g := range r.Goals {
		if strings.Contains(g.Goal, string(dataHeavy)) {
			return ""
		}
	}
	return fmt.Sprintf("not measured: data-heavy tasks with a catalog of %d tools", goalTools)
}

// judgeServe adds the goals of serve's fixed cost.
func (r *report) judgeServe() {
	for _, f := range r.Serve {
		r.Goals = append(r.Goals, goal{
			Goal:    fmt.Sprintf("at %d tools, the definitions of mcprun serve cost less than %d tokens, and with --tools code and no index less than %d", f.Tools, goalServe, goalBare),
			Reached: f.All < goalServe && f.Bare < goalBare, Is: fmt.Sprintf("%d, with --tools code %d, without an index %d", f.All, f.Code, f.Bare),
		})
	}
}

// missed is an error that names the goals that are not reached.
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

// print writes tables for a terminal.
func (r *report) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "tools\ttasks\t\tway\ttokens in\tout\tfewer\tbilled in\tfewer\tcached in\tfewer\tcalls\tturns\tms\t")
	for _, t := range r.Totals {
		fmt.Fprintf(w, "%d\t%d\t%s\t%s\t%s\t%s\t%.2f %%\t%s\t%.2f %%\t%s\t%.2f %%\t%d\t%d\t%.0f\t\n", t.Tools, t.Tasks, t.Kind, t.Way,
			thousands(t.In), thousands(t.Out), t.Saved, thousands(t.Billed), t.SavedBilled, thousands(int(t.Cached)), t.SavedCached, t.Calls, t.Turns, t.MS)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	w = tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "tools\ttask\tdirect\tsearch\tcode\tfewer by code\t")
	for _, m := range r.worstFirst() {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%.2f %%\t\n", m.tools, m.task, thousands(m.read[0]), thousands(m.read[1]), thousands(m.read[2]), m.saved)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for _, g := range r.Goals {
		fmt.Fprintf(out, "%s: %s (%s)\n", map[bool]string{true: "reached", false: "MISSED"}[g.Reached], g.Goal, g.Is)
	}
	if text := r.unmeasured(); text != "" {
		fmt.Fprintln(out, text)
	}
	return nil
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
		if m.Way != direct {
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

func (r *report) writeJSON(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// thousands writes a number with commas.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
