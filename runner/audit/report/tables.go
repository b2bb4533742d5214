package report

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/risk"
)

// chartDays is up to how many days the executions are listed by day; otherwise they are listed by month.
const chartDays = 62

// Figure is a number of a report, with its name. Value is as in a [Table].
type Figure struct {
	Name  string
	Value any
}

// Table is a part of a report. A cell is a string, which may be hostile, an int, a [time.Time], or [Milliseconds].
type Table struct {
	Title, Note string
	Head        []string
	Rows        [][]any // at least one
	// Parts says which columns after the first are in a chart, and in which of its parts: 0 succeeded, 1 did not, 2 unknown. Empty: there is
	// no chart. Time means that its rows follow each other in time.
	Parts []int
	Time  bool
}

// Milliseconds is a time that took so long.
type Milliseconds float64

func (t *Table) id() string { return strings.ReplaceAll(strings.ToLower(t.Title), " ", "-") }

// Cell writes a cell for people, in the report's time zone. Strings stay as they are.
func (r *Report) Cell(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case time.Time:
		return v.In(r.zone).Format("2006-01-02 15:04 MST")
	case Milliseconds:
		return Millis(float64(v))
	}
	return fmt.Sprint(v)
}

// Title names the report and its period.
func (r *Report) Title() string {
	title := join(join("Executions "+r.period(), " of customer ", r.Customer), " of user ", r.User)
	return ident.CleanLine(join(title, " in session ", r.Session))
}

func (r *Report) period() string {
	switch {
	case r.From == nil && r.To == nil:
		return "of all time"
	case r.To == nil:
		return "since " + r.Cell(*r.From)
	case r.From == nil:
		return "before " + r.Cell(*r.To)
	}
	return "from " + r.Cell(*r.From) + " to " + r.Cell(*r.To)
}

// Figures returns the totals.
func (r *Report) Figures() []Figure {
	return []Figure{
		{"Executions", r.Executions}, {"With violations", r.WithViolations}, {"Of high risk", r.HighRisk}, {"Of critical risk", r.Critical}, {"Failed", r.Failed},
		{"Of these refused", r.Refused}, {"Unknown outcome", r.Unknown}, {"Mean duration", millisOf(r.MeanMS)}, {"Tokens used", r.TokensUsed}, {"Tokens saved", r.TokensSaved},
	}
}

// millisOf returns a cell.
func millisOf(ms *float64) any {
	if ms == nil {
		return ""
	}
	return Milliseconds(*ms)
}

// Tables returns the parts of the report that have something to show.
func (r *Report) Tables() []Table {
	all := []Table{
		r.overTime(), r.risks(), byName("Executions by action", "Action", "Executions", r.ByAction), r.notable(), groupTable("customer", r.Customers), groupTable("user", r.Users), r.toolTable(), r.approverTable(), r.hostTable(),
		byName("Personal data that left as tokens", "Type", "Values", r.Personal), byName("Personal data that left in the clear", "Type", "Values", r.Clear), r.changeTable(),
	}
	var shown []Table
	for _, t := range all {
		if len(t.Rows) > 0 && r.Executions+len(r.Tools)+len(r.Hosts)+len(r.Approvers)+len(r.Personal)+len(r.Clear)+len(r.Changes) > 0 {
			shown = append(shown, t)
		}
	}
	return shown
}

func (r *Report) overTime() Table {
	unit, length := "Day", len(time.DateOnly)
	if len(r.Days) > chartDays {
		unit, length = "Month", len("2006-01")
	}
	t := Table{Title: "Executions by " + strings.ToLower(unit), Head: []string{unit, "Succeeded", "Failed", "Unknown"}, Parts: []int{0, 1, 2}, Time: true}
	for i := range r.Days {
		d := &r.Days[i]
		name := d.Day[:length]
		if n := len(t.Rows); n == 0 || t.Rows[n-1][0] != name {
			t.Rows = append(t.Rows, []any{name, 0, 0, 0})
		}
		row := t.Rows[len(t.Rows)-1]
		for column, n := range []int{d.Executions - d.Failed - d.Unknown, d.Failed, d.Unknown} {
			row[column+1] = row[column+1].(int) + n
		}
	}
	return t
}

func (r *Report) risks() Table {
	t := Table{Title: "Executions by risk", Head: []string{"Risk", "Executions"}, Parts: []int{2}}
	for _, level := range risk.All() {
		t.Rows = append(t.Rows, []any{level.String(), r.ByRisk[level.String()]})
	}
	for _, name := range keys(r.ByRisk) {
		if _, err := risk.Parse(name); err != nil { // unknown, or not a risk
			t.Rows = append(t.Rows, []any{name, r.ByRisk[name]})
		}
	}
	return t
}

func (r *Report) notable() Table {
	t := Table{
		Title: "Executions to look at", Note: "With violations, of high or critical risk, or without success." + latest(len(r.Notable), r.NotableCount),
		Head: []string{"Run", "Time", "For", "Script", "Risk", "Outcome", "Why"},
	}
	for i := range r.Notable {
		n := &r.Notable[i]
		why := cmp.Or(strings.Join(n.Violations, "; "), string(n.Error))
		t.Rows = append(t.Rows, []any{n.Run, n.Time, named(cmp.Or(n.Customer, n.User)), string(n.Name), string(n.Risk), n.Outcome, why})
	}
	return t
}

// latest says that a list is not complete.
func latest(n, of int) string {
	if n == of {
		return ""
	}
	return fmt.Sprintf(" The latest %d of %d.", n, of)
}

// nobody names those without a customer or a user.
var nobody = map[string]string{"customer": "no customer", "user": Unknown}

func groupTable(what string, groups []Group) Table {
	t := Table{Title: "Executions by " + what, Head: []string{strings.ToUpper(what[:1]) + what[1:], "Executions", "Violations", "High", "Critical", "Failed", "Unknown", "Tokens"}}
	for i := range groups {
		g := &groups[i]
		t.Rows = append(t.Rows, []any{cmp.Or(g.Name, nobody[what]), g.Executions, g.WithViolations, g.HighRisk, g.Critical, g.Failed, g.Unknown, g.TokensUsed})
	}
	return t
}

func (r *Report) toolTable() Table {
	t := Table{Title: "Calls by tool", Head: []string{"Tool", "Succeeded", "Failed", "Refused", "Unknown", "Calls", "Mean", "Does"}, Parts: []int{0, 1, 1, 2}}
	for i := range r.Tools {
		tool := &r.Tools[i]
		t.Rows = append(t.Rows, []any{tool.Tool, tool.OK, tool.Failed, tool.Refused, tool.Unknown, tool.Calls, millisOf(tool.MeanMS), tool.Hint})
	}
	return t
}

func (r *Report) approverTable() Table {
	t := Table{Title: "Approvals", Head: []string{"By", "Questions", "Approved", "Refused", "No answer", "Mean wait", "Longest"}}
	for _, a := range r.Approvers {
		t.Rows = append(t.Rows, []any{cmp.Or(a.By, "nobody"), a.Questions, a.Approved, a.Refused, a.NoAnswer, Milliseconds(a.MeanMS), Milliseconds(a.MaxMS)})
	}
	return t
}

func (r *Report) hostTable() Table {
	t := Table{Title: "Network", Head: []string{"Host", "Allowed", "Refused", "Blocked range", "Bytes sent", "Received"}}
	for _, h := range r.Hosts {
		t.Rows = append(t.Rows, []any{h.Host, h.Allowed, h.Refused, h.Blocked, int(h.Sent), int(h.Received)})
	}
	return t
}

func byName(title, what, number string, n map[string]int) Table {
	t := Table{Title: title, Head: []string{what, number}}
	for _, name := range keys(n) {
		t.Rows = append(t.Rows, []any{name, n[name]})
	}
	return t
}

func (r *Report) changeTable() Table {
	t := Table{Title: "Changes", Note: "mcprun audit show ROW has the difference." + latest(len(r.Changes), r.ChangeCount), Head: []string{"What", "Time", "User", "From", "To", "Row"}}
	for i := range r.Changes {
		c := &r.Changes[i]
		t.Rows = append(t.Rows, []any{c.What, c.Time, named(c.User), short(c.From), short(c.To), int(c.Row)})
	}
	return t
}

func named(name audit.Text) string { return cmp.Or(string(name), Unknown) }

// raw writes a cell for programs.
func raw(v any) string {
	switch v := v.(type) {
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case Milliseconds:
		return strconv.FormatFloat(float64(v), 'f', -1, 64)
	}
	return fmt.Sprint(v)
}
