package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// The goal: with goalTools tools, or up to 5 % fewer if some could not be generated, code reads and writes goalPercent % fewer
// tokens than direct calls, on all data-heavy tasks together.
const (
	goalTools   = 500
	goalPercent = 98.7
)

// mostMore is by how many percent code may read more than search-then-call in a conversation with all tasks of a kind. If it is
// negative, code must read that much less.
var mostMore = map[kind]float64{oneCall: 5, multiStep: -40, dataHeavy: -95}

// total is the sum over the tasks of one kind, or all, in one way with one catalog.
type total struct {
	Tools int
	Kind  kind
	Way   way
	Tasks int
	measured
	// Saved, SavedBilled and SavedCached are percentages of tokens saved compared with direct calls: each text read once, as
	// billed, and as billed with a cache.
	Saved       float64
	SavedBilled float64
	SavedCached float64
	// SavedLeast is the percentage of the task that saves least, which Worst names.
	SavedLeast float64
	Worst      string
}

// goal is a goal, and whether it has been reached.
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
	Catalog []forms
}

// all is the kind of a total over all tasks.
const all kind = "all"

func newReport(p *proof) *report {
	r := &report{Sizes: p.made, Tasks: p.out, Serve: p.fixed, Catalog: p.forms}
	for _, tools := range p.made {
		for _, k := range append(kinds(), all) {
			for _, w := range ways() {
				if t, ok := r.total(tools, k, w); ok && len(r.pick(tools, all, byCalls)) > 0 {
					r.Totals = append(r.Totals, t)
				}
			}
		}
	}
	r.judge()
	r.judgeSearch()
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

// once returns the tokens that a conversation with all tasks of a kind reads, counting the definitions once, and the tokens of
// the definitions.
func (r *report) once(tools int, k kind, w way) (read, definitions int) {
	list := r.pick(tools, k, w)
	for _, m := range list {
		read += m.Read() - m.Definitions
		definitions = m.Definitions
	}
	return read + definitions, definitions
}

// more returns the percentage by which a way reads more than search-then-call in such a conversation.
func (r *report) more(tools int, k kind, w way) (percent float64, ok bool) {
	read, _ := r.once(tools, k, w)
	search, _ := r.once(tools, k, bySearch)
	if read == 0 || search == 0 {
		return 0, false
	}
	return -fewer(float64(read), float64(search)), true
}

// beside is by how many percent serve reads more than search-then-call on one-call tasks, if something is counted alike on both sides.
type beside struct {
	// Listing assumes that search-then-call reads the signatures that serve lists instead of definitions. The two then differ
	// only in the definitions of their own tools, which take Own and Rival tokens.
	Listing    float64
	Own, Rival int
	// Bare leaves out the servers' instructions.
	Bare float64
}

// alike returns what serve reads on one-call tasks if something is counted alike on both sides.
func (r *report) alike(tools int) (b beside, ok bool) {
	serve, own := r.once(tools, oneCall, byServe)
	search, rival := r.once(tools, oneCall, bySearch)
	if serve == 0 || search == 0 {
		return b, false
	}
	said := func(w way) int { return r.pick(tools, oneCall, w)[0].Instructions }
	return beside{
		Listing: -fewer(float64(serve), float64(serve-own+rival)), Own: own, Rival: rival,
		Bare: -fewer(float64(serve-said(byServe)), float64(search-said(bySearch))),
	}, true
}

// judgeSearch appends the goals compared with search-then-call. The goal of serve on one-call tasks is judged in all three counts.
func (r *report) judgeSearch() {
	for _, tools := range r.Sizes {
		if tools > goalTools || tools <= goalTools-goalTools/20 {
			continue
		}
		judge := func(k kind, w way, percent float64, counted string) {
			r.Goals = append(r.Goals, goal{
				Goal:    fmt.Sprintf("at %d tools, %s reads %+.0f %% or less beside search-then-call, in a conversation of all %s tasks%s", tools, w, mostMore[k], k, counted),
				Reached: percent <= mostMore[k], Is: fmt.Sprintf("%+.1f %%", percent),
			})
		}
		for _, k := range kinds() {
			_, set := mostMore[k]
			for _, w := range []way{byScript, byServe} {
				if percent, ok := r.more(tools, k, w); ok && set {
					judge(k, w, percent, "")
				}
			}
		}
		if b, ok := r.alike(tools); ok {
			judge(oneCall, byServe, b.Listing, ", with the same listing on both sides")
			judge(oneCall, byServe, b.Bare, ", without servers' instructions on either side")
		}
	}
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
	read  map[way]int
	saved float64 // by code
}

// worstFirst returns all tasks ordered by size, and within a size the ones that save the least first.
func (r *report) worstFirst() []line {
	var out []line
	for _, m := range r.Tasks {
		if m.Way != byCalls {
			continue
		}
		l := line{tools: m.Tools, task: m.Task, kind: m.Kind, read: map[way]int{}}
		for _, o := range r.Tasks {
			if o.Tools == m.Tools && o.Task == m.Task {
				l.read[o.Way] = o.Read()
			}
		}
		l.saved = fewer(float64(l.read[byScript]), float64(l.read[byCalls]))
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

// intoPage writes the tables between the markers of a Markdown file, without times, which differ from run to run, and the chart
// beside it.
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
	if r.hasChart() {
		if err := os.WriteFile(strings.TrimSuffix(path, ".md")+".svg", r.chart(), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(path, []byte(before+pageBegin+"\n"+r.markdown()+pageEnd+after), 0o644)
}

// markdown returns the tables.
func (r *report) markdown() string {
	var b strings.Builder
	r.besideSearch(&b)
	r.eachTask(&b)
	r.besideDirect(&b)
	if len(r.Serve) > 0 {
		b.WriteString("\nWhat the definitions of `mcprun serve` cost, before anything is done:\n\n| Tools in the catalog | With index and instructions | `--tools code` | `--tools code --index-tokens 0` |\n|--:|--:|--:|--:|\n")
		for _, f := range r.Serve {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", thousands(f.Tools), thousands(f.All), thousands(f.Code), thousands(f.Bare))
		}
	}
	b.WriteString("\n")
	return b.String()
}

// besideSearch writes the comparison with search-then-call.
func (r *report) besideSearch(b *strings.Builder) {
	b.WriteString("\nTokens that a conversation of all tasks of a kind reads and writes, with the definitions once:\n\n| Tools | Tasks | search | code | | mcprun serve | |\n|--:|---|--:|--:|--:|--:|--:|\n")
	for _, tools := range r.Sizes {
		for _, k := range kinds() {
			search, _ := r.once(tools, k, bySearch)
			fmt.Fprintf(b, "| %s | %d %s | %s ", thousands(tools), len(r.pick(tools, k, bySearch)), k, thousands(search))
			for _, w := range []way{byScript, byServe} {
				read, _ := r.once(tools, k, w)
				percent, ok := r.more(tools, k, w)
				if !ok {
					b.WriteString("| | ")
					continue
				}
				fmt.Fprintf(b, "| %s | %+.1f %% ", thousands(read), percent)
			}
			b.WriteString("|\n")
		}
	}
	tools := r.middle()
	if alike, ok := r.alike(tools); ok {
		percent, _ := r.more(tools, oneCall, byServe)
		fmt.Fprintf(b, "\nThree counts of `mcprun serve` beside search-then-call, on one-call tasks at %s tools. The goal at %d tools is %+.0f %% or less.\n\n| Count | `mcprun serve` reads | Goal |\n|---|--:|---|\n", thousands(tools), goalTools, mostMore[oneCall])
		for _, c := range []struct {
			name    string
			percent float64
		}{
			{"as in the table above: search-then-call reads definitions, `mcprun serve` signatures", percent},
			{"both read the same listing, with signatures", alike.Listing},
			{"as in the table above, without servers' instructions on either side", alike.Bare},
		} {
			fmt.Fprintf(b, "| %s | %+.1f %% | %s |\n", c.name, c.percent, map[bool]string{true: "reached", false: "missed"}[c.percent <= mostMore[oneCall]])
		}
		fmt.Fprintf(b, "\nWith the same listing, the two differ only in the definitions of their own tools, with instructions: %s tokens for `mcprun serve`, %s for search-then-call.\n",
			thousands(alike.Own), thousands(alike.Rival))
	}
}

// middle returns the size that is shown in detail.
func (r *report) middle() int { return r.Sizes[min(len(r.Sizes)-1, 2)] }

// eachTask writes what each task costs, and on which tasks code loses.
func (r *report) eachTask(b *strings.Builder) {
	tools := r.middle()
	fmt.Fprintf(b, "\nEach task with %s tools, in a conversation of its own, the worst for code first:\n\n| Task | Kind | direct | search | code | mcprun serve |\n|---|---|--:|--:|--:|--:|\n", thousands(tools))
	lost := map[way][]string{}
	for _, l := range r.worstFirst() {
		if l.tools != tools {
			continue
		}
		fmt.Fprintf(b, "| %s | %s ", l.task, l.kind)
		for _, w := range []way{byCalls, bySearch, byScript, byServe} {
			fmt.Fprintf(b, "| %s ", thousands(l.read[w]))
			if l.read[w] > l.read[bySearch] && w != byCalls {
				lost[w] = append(lost[w], l.task)
			}
		}
		b.WriteString("|\n")
	}
	for _, w := range []way{byScript, byServe} {
		if len(lost[w]) > 0 {
			slices.Sort(lost[w])
			fmt.Fprintf(b, "\n**Where %s loses**: as a conversation of its own, it reads more than search-then-call on %d of these tasks: %s.\n", w, len(lost[w]), strings.Join(lost[w], ", "))
		} else if l := r.pick(tools, all, w); len(l) > 0 {
			fmt.Fprintf(b, "\nOn none of these tasks does %s read more than search-then-call.\n", w)
		}
	}
}

// besideDirect writes the comparison with direct calls.
func (r *report) besideDirect(b *strings.Builder) {
	if len(r.Totals) == 0 {
		return
	}
	b.WriteString("\nAll tools of a catalog, in tokens:\n\n| Tools | As definitions | As signatures | As TypeScript wrappers |\n|--:|--:|--:|--:|\n")
	for _, f := range r.Catalog {
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", thousands(f.tools), thousands(f.definitions), thousands(f.signatures), thousands(f.wrappers))
	}
	b.WriteString("\nBeside direct calls, each task a conversation of its own:\n\n| Tools | Tasks | Way | In | Out | Fewer, read once | Least | Fewer, billed | Fewer, with a cache | Calls | Turns |\n|--:|---|---|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, t := range r.Totals {
		saved := "| | | | "
		if t.Way != byCalls {
			saved = fmt.Sprintf("| %.2f %% | %.1f %% | %.1f %% | %.1f %% ", t.Saved, t.SavedLeast, t.SavedBilled, t.SavedCached)
		}
		fmt.Fprintf(b, "| %s | %d %s | %s | %s | %s %s| %d | %d |\n", thousands(t.Tools), t.Tasks, t.Kind, t.Way, thousands(t.In), thousands(t.Out), saved, t.Calls, t.Turns)
	}
}
