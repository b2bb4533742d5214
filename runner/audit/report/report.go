package report

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/egress"
	"github.com/mcpgen/mcpgen/runner/risk"
	"github.com/mcpgen/mcpgen/runner/store"
)

// MaxNotable is how many notable runs and changes a report lists.
const MaxNotable = 100

// Options select what a report is about.
type Options struct {
	// Filter selects what is counted: From, To, Customer, Session and User; the rest is ignored.
	Filter Filter
	// Verified checks the record, and says in one line what it found, and whether the record is intact. Nil: the report says that nobody
	// checked it.
	Verified func(context.Context) (says string, intact bool, err error)
	// Now is when the report is made. Zone decides where days begin, and how times are written for people; nil is UTC.
	Now  time.Time
	Zone *time.Location
}

// Report sums up a period. Its lists and maps are never nil.
type Report struct {
	Made     time.Time  `json:"made"`
	From     *time.Time `json:"from"` // null: unbounded
	To       *time.Time `json:"to"`
	Customer audit.Text `json:"customer"` // null: all of them
	Session  audit.Text `json:"session"`
	User     audit.Text `json:"user"`
	// Record says what a check of the whole record found, not only of the period.
	Record string `json:"record"`
	// RecordChanged says that the record is not intact.
	RecordChanged bool `json:"recordChanged"`

	Totals
	ByRisk map[string]int `json:"byRisk"` // executions; "unknown" are those without a risk
	// ByAction are the executions of scripts ("execute_code") and calls without a script ("call_tool").
	ByAction map[string]int `json:"byAction"`
	// Removed are runs that are counted nowhere else, because retention has removed what the record knew about them.
	Removed int `json:"removed"`

	Days        []Day          `json:"days"`      // from the first to the last with an execution
	Customers   []Group        `json:"customers"` // the most executions first, as in all groups; "" is unknown
	Users       []Group        `json:"users"`
	Tools       []Tool         `json:"tools"`
	Approvers   []Approver     `json:"approvers"`
	Hosts       []Host         `json:"hosts"`
	Personal    map[string]int `json:"personal"`    // values that left as tokens, by type
	Clear       map[string]int `json:"clear"`       // values that left as they are, by type
	Changes     []Change       `json:"changes"`     // of policy, tree and configuration, the latest first, at most MaxNotable
	ChangeCount int            `json:"changeCount"` // all of them
	// Notable are the executions with violations, of high or critical risk, and those that did not succeed: the latest first, at most
	// MaxNotable.
	Notable      []Notable `json:"notable"`
	NotableCount int       `json:"notableCount"` // all of them

	zone *time.Location
}

// Totals are numbers of executions.
type Totals struct {
	Executions     int      `json:"executions"`
	WithViolations int      `json:"withViolations"`
	HighRisk       int      `json:"highRisk"` // of risk high; critical ones are in ByRisk
	Critical       int      `json:"critical"`
	Failed         int      `json:"failed"`  // those that did not succeed, refused ones included
	Refused        int      `json:"refused"` // those that were not started
	Unknown        int      `json:"unknown"` // those without an end
	MeanMS         *float64 `json:"meanMs"`  // of those that ended; null: none did
	TokensUsed     int      `json:"tokensUsed"`
	TokensSaved    int      `json:"tokensSaved"`
	ended          int
	ms             float64
}

// Group are the totals of a customer or a user.
type Group struct {
	Name string `json:"name"`
	Totals
}

// Day are the numbers of a day, as in 2026-11-30.
type Day struct {
	Day string `json:"day"`
	Totals
}

// Tool are the numbers of a tool's calls.
type Tool struct {
	Tool    string   `json:"tool"`
	Hint    string   `json:"hint"` // what it does: "reads", "writes" or "destructive"; "unknown" in old rows
	Calls   int      `json:"calls"`
	OK      int      `json:"ok"`
	Failed  int      `json:"failed"`
	Refused int      `json:"refused"` // by a rule or a person
	Unknown int      `json:"unknown"` // sent, and the record has no answer
	MeanMS  *float64 `json:"meanMs"`  // of those that were sent and ended
	ended   int
	ms      float64
}

// Approver are the answers of whoever was asked. "" did not answer.
type Approver struct {
	By        string  `json:"by"`
	Questions int     `json:"questions"`
	Approved  int     `json:"approved"`
	Refused   int     `json:"refused"`
	NoAnswer  int     `json:"noAnswer"`
	MeanMS    float64 `json:"meanWaitMs"`
	MaxMS     float64 `json:"maxWaitMs"`
}

// Host are the connections to a host.
type Host struct {
	Host     string `json:"host"`
	Allowed  int    `json:"allowed"`
	Refused  int    `json:"refused"` // Blocked included
	Blocked  int    `json:"blocked"` // its address is in a range that is never reached
	Sent     int64  `json:"sent"`    // bytes
	Received int64  `json:"received"`
}

// Change is a change of policy, tree or configuration.
type Change struct {
	Row  int64      `json:"row"`
	Time time.Time  `json:"time"`
	User audit.Text `json:"user"`
	audit.Change
}

// Notable is an execution that a review asks about.
type Notable struct {
	Run        string     `json:"run"`
	Time       time.Time  `json:"time"`
	Customer   audit.Text `json:"customer"`
	User       audit.Text `json:"user"`
	Name       audit.Text `json:"name"`
	Risk       audit.Text `json:"risk"`
	Outcome    string     `json:"outcome"`
	Violations []string   `json:"violations"`
	Error      audit.Text `json:"error"`
}

// Make reads a period and sums it up.
func Make(ctx context.Context, rec store.Record, opt Options) (*Report, error) {
	f := opt.Filter
	r := &Report{
		Made: opt.Now.UTC(), From: bound(f.From), To: bound(f.To), Customer: audit.Text(f.Customer), Session: audit.Text(f.Session), User: audit.Text(f.User),
		Record: "not checked", ByRisk: map[string]int{}, ByAction: map[string]int{}, Personal: map[string]int{}, Clear: map[string]int{}, Changes: []Change{}, Notable: []Notable{}, zone: cmp.Or(opt.Zone, time.UTC),
	}
	for _, level := range risk.All() {
		r.ByRisk[level.String()] = 0
	}
	if opt.Verified != nil {
		says, intact, err := opt.Verified(ctx)
		if err != nil {
			return nil, err
		}
		r.Record, r.RecordChanged = says, !intact
	}
	s := &sums{
		report: r, filter: &f, days: map[string]*Day{}, customers: map[string]*Group{}, users: map[string]*Group{}, tools: map[string]*Tool{},
		approvers: map[string]*Approver{}, hosts: map[string]*Host{}, ended: map[callKey]bool{},
	}
	w := &walk{from: f.From, to: f.To, row: s.row, run: s.run}
	if err := w.do(ctx, rec); err != nil {
		return nil, err
	}
	if err := s.finish(ctx, rec); err != nil {
		return nil, err
	}
	return r, nil
}

func bound(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// sums are numbers while the rows are read.
type sums struct {
	report           *Report
	filter           *Filter
	days             map[string]*Day
	customers, users map[string]*Group
	tools            map[string]*Tool
	approvers        map[string]*Approver
	hosts            map[string]*Host
	ended            map[callKey]bool
	open             []*Event // calls without an end in the period
}

func (s *sums) run(run *Run) error {
	r := s.report
	switch {
	case !s.filter.who(&run.Who):
		return nil
	case run.Outcome == Removed:
		r.Removed++
		return nil
	}
	day := run.Time.In(r.zone).Format(time.DateOnly)
	for _, t := range []*Totals{
		&r.Totals, &of(s.days, day, Day{Day: day}).Totals,
		&of(s.customers, string(run.Customer), Group{Name: string(run.Customer)}).Totals, &of(s.users, string(run.User), Group{Name: string(run.User)}).Totals,
	} {
		t.add(run)
	}
	r.ByRisk[named(run.Risk)]++
	r.ByAction[named(run.Action)]++
	high := run.Risk == audit.Text(risk.High.String()) || run.Risk == audit.Text(risk.Critical.String())
	if len(run.Violations) > 0 || high || run.Outcome != OK && run.Outcome != Waits {
		r.NotableCount++
		r.Notable = append(r.Notable, Notable{run.ID, run.Time, run.Customer, run.User, run.Name, run.Risk, run.Outcome, run.Violations, run.Error})
		if len(r.Notable) > 2*MaxNotable { // the latest come first, except a few
			r.cutNotable()
		}
	}
	return nil
}

func (r *Report) cutNotable() {
	slices.SortStableFunc(r.Notable, func(a, b Notable) int { return b.Time.Compare(a.Time) })
	r.Notable = r.Notable[:min(len(r.Notable), MaxNotable)]
}

func (t *Totals) add(r *Run) {
	t.Executions++
	count(&t.WithViolations, len(r.Violations) > 0)
	count(&t.HighRisk, r.Risk == audit.Text(risk.High.String()))
	count(&t.Critical, r.Risk == audit.Text(risk.Critical.String()))
	count(&t.Failed, r.Success != nil && !*r.Success)
	count(&t.Refused, r.Outcome == Refused)
	count(&t.Unknown, r.Outcome == Unknown)
	if r.DurationMS != nil {
		t.MeanMS = mean(&t.ended, &t.ms, *r.DurationMS)
	}
	if r.TokensUsed != nil {
		t.TokensUsed += *r.TokensUsed
	}
	if r.TokensSaved != nil {
		t.TokensSaved += *r.TokensSaved
	}
}

func count(n *int, yes bool) {
	if yes {
		*n++
	}
}

// mean adds a value and returns the mean.
func mean(n *int, sum *float64, value float64) *float64 {
	*n++
	*sum += value
	m := *sum / float64(*n)
	return &m
}

// of returns the entry of a map, which it adds if it is missing.
func of[T any](m map[string]*T, key string, zero T) *T {
	if m[key] == nil {
		m[key] = &zero
	}
	return m[key]
}

func (s *sums) row(r *row) error {
	if r.Forgotten || !s.filter.who(&r.Who) {
		return nil
	}
	switch r.Kind {
	case audit.KindCallEnd:
		return with(r, func(b *audit.CallEnd) {
			s.ended[callKey{r.Run, b.Call}] = true
			var c Call
			c.finish(r, b)
			s.tool(&c).add(c.class(), b.DurationMS)
		})
	case audit.KindCall:
		return with(r, func(b *audit.CallStart) {
			if key := (callKey{r.Run, b.Call}); s.ended[key] {
				delete(s.ended, key)
				return
			}
			var c Call
			c.start(r, b)
			s.open = append(s.open, &Event{Run: audit.Text(r.Run), Body: r.Body, Call: &c})
		})
	case audit.KindApproval:
		return with(r, func(b *audit.Approval) { of(s.approvers, string(b.By), Approver{By: string(b.By)}).add(b) })
	case audit.KindConnection:
		return with(r, func(b *egress.Event) { of(s.hosts, b.Host, Host{Host: b.Host}).add(b) })
	case audit.KindPersonal:
		return with(r, func(b *audit.Personal) {
			addAll(s.report.Personal, b.Tokens)
			addAll(s.report.Clear, b.Clear)
		})
	case audit.KindChange:
		return with(r, func(b *audit.Change) {
			if s.report.ChangeCount++; len(s.report.Changes) < MaxNotable {
				s.report.Changes = append(s.report.Changes, Change{r.Index, r.Time, r.Who.User, *b})
			}
		})
	}
	return nil
}

// tool returns the numbers of a call's tool. What a tool does may change.
func (s *sums) tool(c *Call) *Tool {
	return of(s.tools, c.Tool+" "+string(c.Hint), Tool{Tool: c.Tool, Hint: named(c.Hint)})
}

func (t *Tool) add(class string, ms float64) {
	t.Calls++
	count(&t.OK, class == OK)
	count(&t.Failed, class == Failed)
	count(&t.Refused, class == Refused)
	count(&t.Unknown, class == Unknown)
	if class == OK || class == Failed {
		t.MeanMS = mean(&t.ended, &t.ms, ms)
	}
}

func (a *Approver) add(b *audit.Approval) {
	a.MeanMS = (a.MeanMS*float64(a.Questions) + b.WaitMS) / float64(a.Questions+1)
	a.MaxMS = max(a.MaxMS, b.WaitMS)
	a.Questions++
	count(&a.Approved, b.Answer == "approved")
	count(&a.Refused, b.Answer == "refused")
	count(&a.NoAnswer, b.Answer != "approved" && b.Answer != "refused")
}

func (h *Host) add(e *egress.Event) {
	count(&h.Allowed, e.Allowed)
	count(&h.Refused, !e.Allowed)
	count(&h.Blocked, e.Check == egress.ByRange)
	h.Sent, h.Received = h.Sent+e.Sent, h.Received+e.Received
}

func (s *sums) finish(ctx context.Context, rec store.Record) error {
	r := s.report
	for _, e := range s.open {
		ended := false
		if !s.filter.To.IsZero() {
			var err error
			if ended, err = endOfCall(ctx, rec, e); err != nil {
				return err
			}
		}
		if !ended { // otherwise it counts in the period in which it ended
			s.tool(e.Call).add(Unknown, 0)
		}
	}
	r.Customers, r.Users = groups(s.customers), groups(s.users)
	r.Tools = most(s.tools, func(t *Tool) (int, string) { return t.Calls, t.Tool + " " + t.Hint })
	r.Approvers = most(s.approvers, func(a *Approver) (int, string) { return a.Questions, a.By })
	r.Hosts = most(s.hosts, func(h *Host) (int, string) { return h.Allowed + h.Refused, h.Host })
	r.Days = daily(s.days)
	r.cutNotable()
	return nil
}

func groups(m map[string]*Group) []Group {
	return most(m, func(g *Group) (int, string) { return g.Executions, g.Name })
}

// most returns the entries of a map, those with the greatest number first.
func most[T any](m map[string]*T, by func(*T) (int, string)) []T {
	list := make([]T, 0, len(m))
	for _, v := range m {
		list = append(list, *v)
	}
	slices.SortFunc(list, func(a, b T) int {
		n, name := by(&a)
		k, other := by(&b)
		return cmp.Or(cmp.Compare(k, n), cmp.Compare(name, other))
	})
	return list
}

// maxDays is for how many days between the first and the last execution a report lists those without any too.
const maxDays = 366

// daily returns the days from the first to the last.
func daily(m map[string]*Day) []Day {
	names := slices.Sorted(maps.Keys(m))
	days := []Day{}
	for i, name := range names {
		if i > 0 {
			for day := next(names[i-1]); day < name && len(days) < maxDays; day = next(day) {
				days = append(days, Day{Day: day})
			}
		}
		days = append(days, *m[name])
	}
	return days
}

func next(day string) string {
	t, err := time.Parse(time.DateOnly, day)
	if err != nil {
		panic(fmt.Sprintf("report: day %q", day)) // days are made by Format
	}
	return t.AddDate(0, 0, 1).Format(time.DateOnly)
}
