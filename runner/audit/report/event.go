package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/egress"
	"github.com/mcpgen/mcpgen/runner/store"
)

// Event is a row other than those of runs. A call is one event, although it has two rows.
type Event struct {
	Row  int64      `json:"row"` // of a call that has ended: that of its end
	Time time.Time  `json:"time"`
	Kind audit.Kind `json:"kind"`
	Run  audit.Text `json:"run"`
	audit.Who
	// Text says in words what happened, and holds names from elsewhere.
	Text string          `json:"text"`
	Body json.RawMessage `json:"body"` // null: retention has removed it
	Call *Call           `json:"call"` // null: it is about something else
}

// EventKinds are the kinds that [Events] lists.
var EventKinds = []audit.Kind{
	audit.KindCall, audit.KindApproval, audit.KindPlan, audit.KindConnection, audit.KindPersonal, audit.KindAccess, audit.KindLogin, audit.KindChange, audit.KindSchedule, audit.KindForget,
}

// Events returns the events of a kind, the latest first. The filter's Risk, Violations and Code select nothing here; Tool, Failed and Changes
// are about calls, and Tool about approvals too.
func Events(ctx context.Context, rec store.Record, kind audit.Kind, f Filter) ([]*Event, error) {
	events := []*Event{}
	r := store.Range{From: f.From, To: f.To, Kinds: []string{string(kind)}, NewestFirst: true}
	if kind == audit.KindCall {
		r.Kinds = append(r.Kinds, string(audit.KindCallEnd))
	}
	ended := map[callKey]bool{}
	var unended []*Event // calls, and To is set: they may have ended later
	err := rec.Rows(ctx, r, func(s store.Row) error {
		row, err := decode(s)
		if err != nil {
			return err
		}
		e := new(newEvent(row))
		e.Kind = kind // also of the end of a call
		tool, class, err := e.read(row, ended)
		if err != nil || class == "" {
			return err
		}
		if !f.who(&row.Who) || f.Tool != "" && f.Tool != tool || f.Failed && class == OK || f.Changes && (e.Call == nil || !e.Call.changes()) {
			return nil
		}
		if events = append(events, e); class == Unknown {
			unended = append(unended, e)
		}
		if len(events) == f.Limit && f.To.IsZero() {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	if f.To.IsZero() {
		unended = nil
	}
	for _, e := range unended {
		end, err := endOfCall(ctx, rec, e)
		if err != nil {
			return nil, err
		}
		if end {
			events = slices.DeleteFunc(events, func(other *Event) bool { return other == e })
		}
	}
	if f.Limit > 0 {
		events = events[:min(len(events), f.Limit)]
	}
	return events, addStarts(ctx, rec, events)
}

func newEvent(r *row) Event {
	return Event{Row: r.Index, Time: r.Time, Kind: r.Kind, Run: audit.Text(r.Run), Who: r.Who, Text: Removed, Body: r.Body}
}

// addStarts adds to the texts of calls that have ended what was decided before they were sent.
func addStarts(ctx context.Context, rec store.Record, events []*Event) error {
	runs := map[string][]*Event{}
	for _, e := range events {
		if e.Call != nil && e.Call.Effect == "" {
			runs[string(e.Run)] = append(runs[string(e.Run)], e)
		}
	}
	for run, ends := range runs {
		starts := map[int]*audit.CallStart{}
		err := rec.Rows(ctx, store.Range{Run: run, Kinds: []string{string(audit.KindCall)}}, func(s store.Row) error {
			r, err := decode(s)
			if err != nil || r.Forgotten {
				return err
			}
			return with(r, func(b *audit.CallStart) { starts[b.Call] = b })
		})
		if err != nil {
			return err
		}
		for _, e := range ends {
			if b := starts[e.Call.Call]; b != nil {
				e.Call.decided(b)
				e.Text = e.Call.text()
			}
		}
	}
	return nil
}

// endOfCall reports whether a call has an end anywhere in the record.
func endOfCall(ctx context.Context, rec store.Record, e *Event) (found bool, err error) {
	var start struct{ Call int }
	if err := json.Unmarshal(e.Body, &start); err != nil {
		return false, err
	}
	err = rec.Rows(ctx, store.Range{Run: string(e.Run), Kinds: []string{string(audit.KindCallEnd)}}, func(s store.Row) error {
		r, err := decode(s)
		if err != nil || r.Forgotten {
			return err
		}
		return with(r, func(b *audit.CallEnd) { found = found || b.Call == start.Call })
	})
	return found, err
}

// read describes a row in words, and returns its tool and how it went. No outcome: the row is the beginning of a call whose end was seen.
func (e *Event) read(r *row, ended map[callKey]bool) (tool, class string, err error) {
	class = OK
	if r.Forgotten {
		return "", class, nil
	}
	var c Call
	switch r.Kind {
	case audit.KindRun:
		err = with(r, func(b *audit.RunStart) { e.Text = join(b.Action, " ", b.Name) + " is about to start" })
	case audit.KindRunEnd:
		err = with(r, func(b *audit.RunEnd) {
			class, e.Text = outcomeOf(b), join(b.Action, " ", b.Name)+" ended: "+outcomeOf(b)
		})
	case audit.KindCallEnd:
		err = with(r, func(b *audit.CallEnd) { c.finish(r, b); ended[callKey{r.Run, b.Call}] = true })
		tool, class, e.Text, e.Call = c.Tool, c.class(), c.text(), &c
	case audit.KindCall:
		err = with(r, func(b *audit.CallStart) { c.start(r, b) })
		tool, class, e.Text, e.Call = c.Tool, c.class(), c.text(), &c
		if ended[callKey{r.Run, c.Call}] {
			class = ""
		}
	case audit.KindApproval:
		err = with(r, func(b *audit.Approval) { tool, e.Text = string(b.Tool), approvalText(b) })
	case audit.KindPlan:
		err = with(r, func(b *audit.Plan) {
			e.Text = join(fmt.Sprintf("plan %s %s, calls: %d", b.Plan, b.Event, b.Calls), " by ", b.By)
		})
	case audit.KindConnection:
		err = with(r, func(b *egress.Event) {
			if e.Text = Connection(b); !b.Allowed {
				class = Refused
			}
		})
	case audit.KindPersonal:
		err = with(r, func(b *audit.Personal) { e.Text = Left(b.Tokens, b.Clear) })
	case audit.KindAccess:
		err = with(r, func(b *audit.Access) {
			e.Text = fmt.Sprintf("%s (%d): %s", b.Action, b.Count, strings.Join(b.Names, ", "))
		})
	case audit.KindLogin:
		err = with(r, func(b *audit.Login) { e.Text = join(join(b.Event, " of ", r.Who.Customer), " from ", b.Subject) })
	case audit.KindChange:
		err = with(r, func(b *audit.Change) { e.Text = changeText(b) })
	case audit.KindSchedule:
		err = with(r, func(b *audit.Schedule) { class, e.Text = Failed, scheduleText(b) })
	case audit.KindForget:
		err = with(r, func(b *audit.Forget) { e.Text = fmt.Sprintf("contents of rows below %d removed", b.Before) })
	}
	return tool, class, err
}

func (c *Call) text() string {
	text := c.Tool + ": " + c.Outcome
	if decision := c.Decision(); decision != "" {
		return text + ", " + decision
	}
	return text
}

// Decision says what was decided about the call, by which rule and whom, and why it failed, with names from elsewhere. It may be empty.
func (c *Call) Decision() string {
	var parts []string
	for _, part := range []audit.Text{c.Effect, c.Rule, c.By} {
		if part != "" {
			parts = append(parts, string(part))
		}
	}
	text := strings.Join(parts, ", ")
	if c.Rule == "" || !strings.Contains(string(c.Error), string(c.Rule)) { // the error of a refused call has the rule
		text = strings.TrimPrefix(join(text, "; ", c.Error), "; ")
	}
	for i := range c.Plugins {
		if p := &c.Plugins[i]; !strings.Contains(text, p.Name) { // the error of a refused call has the plugin
			text = strings.TrimPrefix(text+"; "+p.String(), "; ")
		}
	}
	return text
}

func changeText(b *audit.Change) string {
	if b.Unsure {
		return b.What + " is " + short(b.To) + "; what it was before was removed"
	}
	return b.What + " changed from " + short(b.From) + " to " + short(b.To)
}

func approvalText(b *audit.Approval) string {
	text := join(join(b.Subject, " ", b.Tool)+": "+b.Answer, " by ", b.By)
	return fmt.Sprintf("%s after %s", text, Millis(b.WaitMS))
}

func scheduleText(b *audit.Schedule) string {
	text := "schedule " + b.Schedule + " " + b.Event + " at " + b.First.Format(time.RFC3339)
	if b.Count > 1 {
		text = fmt.Sprintf("schedule %s %s %d times from %s to %s", b.Schedule, b.Event, b.Count, b.First.Format(time.RFC3339), b.Last.Format(time.RFC3339))
	}
	return join(text, ": ", b.Error)
}

// Connection describes a connection in words, with names from elsewhere.
func Connection(e *egress.Event) string {
	text := strings.TrimSpace(fmt.Sprintf("%s %s://%s:%d%s", e.Method, e.Protocol, e.Host, e.Port, e.Path))
	switch {
	case !e.Allowed:
		return join("refused "+text+" by "+string(e.Check), ": ", audit.Text(e.Reason))
	case e.Error != "":
		return "allowed " + text + ", failed: " + e.Error
	}
	return fmt.Sprintf("allowed %s, %d bytes sent, %d received", text, e.Sent, e.Received)
}

// join adds a text that may be unknown.
func join(text, word string, more audit.Text) string {
	if more == "" {
		return text
	}
	return text + word + string(more)
}

// short returns the beginning of a digest.
func short(digest audit.Text) string {
	if digest == "" {
		return "none"
	}
	return string(digest[:min(len(digest), 12)])
}

// Counts writes numbers by name, as in "EMAIL 3, PHONE 1".
func Counts(n map[string]int) string {
	parts := []string{}
	for _, name := range keys(n) {
		parts = append(parts, fmt.Sprintf("%s %d", name, n[name]))
	}
	return strings.Join(parts, ", ")
}

func keys(m map[string]int) []string { return slices.Sorted(maps.Keys(m)) }

// Millis writes a time in milliseconds for people.
func Millis(ms float64) string {
	switch {
	case ms >= 120_000:
		return time.Duration(ms * float64(time.Millisecond)).Round(time.Second).String()
	case ms >= 10_000:
		return fmt.Sprintf("%.1f s", ms/1000)
	}
	return fmt.Sprintf("%.0f ms", ms)
}

// Left says how much personal data left, as tokens and in the clear. It may be empty.
func Left(tokens, clear map[string]int) string {
	var parts []string
	if len(tokens) > 0 {
		parts = append(parts, "left as tokens: "+Counts(tokens))
	}
	if len(clear) > 0 {
		parts = append(parts, "left in the clear: "+Counts(clear))
	}
	return strings.Join(parts, "; ")
}

// callOf returns what a row says about a call, or nil.
func callOf(r *row) (c *Call, err error) {
	c = &Call{}
	switch {
	case r.Forgotten:
	case r.Kind == audit.KindCall:
		return c, with(r, func(b *audit.CallStart) { c.start(r, b) })
	case r.Kind == audit.KindCallEnd:
		return c, with(r, func(b *audit.CallEnd) { c.finish(r, b) })
	}
	return nil, nil
}
