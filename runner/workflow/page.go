package workflow

import (
	_ "embed"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/durable"
	"github.com/mcpgen/mcpgen/runner/internal/page"
	"github.com/mcpgen/mcpgen/runner/journal"
)

//go:embed page.css
var style string

const (
	pageSteps = 2000 // steps that are drawn
	pageText  = 2000 // bytes of a text
)

var el, attr, text = page.El, page.Attr, page.Text

func class(name string) page.Node { return attr("class", name) }

func span(classes string, nodes ...page.Node) page.Node {
	return el("span", append([]page.Node{class(classes)}, nodes...)...)
}

// line is a text of a script or a person on one line.
func line(t string) page.Node { return text(ident.Clip(ident.CleanLine(t), pageText)) }

// Page writes a page with the steps of a workflow that [Engine.Get] has returned: when each began, how long it took, and what the workflow waits
// for. It has the sizes of what they were given and returned, but not the values. The page loads nothing and runs no script, and its
// Content-Security-Policy forbids both. Times are those of now's location, and what has not ended lasts until now.
func (s *Status) Page(w io.Writer, now time.Time) error {
	ends := s.Ended
	if ends.IsZero() {
		ends = now
	}
	title := "Workflow " + s.ID
	about := fmt.Sprintf("%s: %s, started %s", s.Name, s.State, clock(s.Created, now))
	if !s.Ended.IsZero() {
		about += ", ended " + clock(s.Ended, now)
	}
	if s.Customer != "" {
		about += ", of the customer " + s.Customer
	}
	bad := s.State == durable.Failed || s.State == durable.Unknown
	whole := max(ends.Sub(s.Created), time.Millisecond)
	body := []page.Node{el("h1", text(title)), el("p", line(about))}
	if out := s.Outcome; out != nil && out.Message != "" {
		body = append(body, el("p", page.If(bad, class("bad")), line(out.Message)))
	}
	body = append(body, s.waitsOn(now), el("h2", text("Steps")))
	if len(s.Steps) == 0 {
		body = append(body, el("p", text("It has begun no step.")))
	} else {
		scale := span("scale", span("", text("0")), span("", text(took(whole/2))), span("", text(took(whole))))
		body = append(body, el("div", class("row head"), span("", text("Step")), scale,
			span("began n", text("Began")), span("n", text("Took")), span("bytes n", text("Input")), span("bytes n", text("Output"))))
	}
	shown := s.Steps[:min(len(s.Steps), pageSteps)]
	body = append(body, page.Each(shown, func(k *journal.Kept) page.Node { return s.row(k, whole, now) }))
	if more := len(s.Steps) - len(shown); more > 0 {
		body = append(body, el("p", text(fmt.Sprintf("And %d more.", more))))
	}
	if len(s.Unknown) > 0 && s.State != durable.Running {
		body = append(body, el("h2", text("Calls that may have been made, or not")), page.Each(s.Unknown, func(u *journal.Unknown) page.Node { return el("p", line(u.String())) }))
	}
	if len(s.Calls) > 0 {
		body = append(body, el("h2", text("Calls that changed something")))
		for _, tool := range slices.Sorted(maps.Keys(s.Calls)) {
			body = append(body, el("p", line(fmt.Sprintf("%s: %d", tool, s.Calls[tool]))))
		}
	}
	return page.Write(w, &page.Page{
		Title: title, Style: style, Body: body,
		Head: []page.Node{el("meta", attr("http-equiv", "Content-Security-Policy"), attr("content", "default-src 'none'; style-src 'unsafe-inline'"))},
	})
}

// waitsOn says what the workflow waits for, and which command ends that.
func (s *Status) waitsOn(now time.Time) page.Node {
	var all []page.Node
	add := func(words, command string) {
		all = append(all, el("p", line(words), page.If(command != "", el("code", text("mcprun workflow "+command)))))
	}
	if s.Stop != nil {
		add("It has stopped: "+s.Stop.Reason, "resume "+s.ID)
	}
	for _, w := range s.Waits() {
		until := ""
		if !w.Until.IsZero() {
			until = " until " + clock(w.Until, now)
		}
		switch w.Kind {
		case journal.StepSleep:
			add("It sleeps"+until+".", "")
		case journal.StepAsk:
			add("It waits for an answer"+until+": "+w.Name, "answer "+s.ID)
		default:
			add("It waits for the value "+w.Name+until+".", "send "+s.ID+" TOPIC JSON") // a topic could be a command of the shell
		}
	}
	return page.If(len(all) > 0, el("h2", text("Waits for")), el("div", append([]page.Node{class("waits")}, all...)...))
}

// row draws a step on the time that the workflow took as a whole.
func (s *Status) row(k *journal.Kept, whole time.Duration, now time.Time) page.Node {
	ends, classes, output := k.Ended, string(k.Kind), ""
	switch {
	case k.Outcome == nil:
		classes += " open"
		if ends = s.Ended; ends.IsZero() {
			ends = now
		}
	case k.Outcome.Error != nil:
		classes += " failed"
	case k.Kind != journal.StepSleep:
		output = size(max(len(k.Outcome.Value), k.Outcome.Large))
	}
	name, lasted := k.Name, max(ends.Sub(k.Began), 0)
	if k.Kind == journal.StepSleep {
		name = ""
	}
	if k.Number > 0 {
		name += fmt.Sprintf(" #%d", k.Number+1)
	}
	words := took(lasted)
	switch {
	case k.Outcome == nil && s.State.Ended():
		words = "not ended"
	case k.Outcome == nil:
		words += " so far"
	case k.Outcome.Error != nil:
		words += ", failed"
	}
	percent := func(d time.Duration) string {
		return strconv.FormatFloat(100*min(1, max(0, float64(d)/float64(whole))), 'f', 3, 64) + "%"
	}
	return el("div", class("row "+classes),
		span("", span("kind", text(string(k.Kind)+" ")), line(name)),
		span("bar", el("i", attr("style", "left:"+percent(k.Began.Sub(s.Created))+";width:"+percent(lasted)))),
		span("began n", text(clock(k.Began, now))), span("took n", text(words)),
		span("bytes n", page.If(k.Input != nil, text(size(len(k.Input))))), span("bytes n", text(output)))
}

func clock(t, now time.Time) string { return t.In(now.Location()).Format("2006-01-02 15:04:05") }

// took writes a time with two units at most.
func took(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return fmt.Sprintf("%dm %ds", d/time.Minute, d%time.Minute/time.Second)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh %dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd %dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}

func size(n int) string {
	if n < 10_000 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%d KiB", n>>10)
}
