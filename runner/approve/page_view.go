package approve

import (
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/runner/internal/page"
)

// Short names for the functions that build HTML.
var (
	el, attr, text = page.El, page.Attr, page.Text
	when           = page.If
)

func class(name string) page.Node { return attr("class", name) }

// write writes the page.
func (d *pageData) write(w io.Writer) error {
	return page.Write(w, &page.Page{
		Title: "Approvals · " + d.Title, Style: pageStyle,
		Head: []page.Node{when(d.Refresh, el("meta", attr("http-equiv", "refresh"), attr("content", "3")))},
		Body: []page.Node{
			el("h1", text("Approvals for "+d.Title)),
			el("nav", el("a", attr("href", "/"), text("Waiting")), el("a", attr("href", "/runs"), text("Recent runs"))),
			when(d.Note != "", note(d.Note)),
			when(d.Refresh, el("h2", text("Waiting")), d.waiting()),
			d.question(),
			when(d.ShowRuns, el("h2", text("Recent runs")), page.Each(d.Runs, runRow),
				when(len(d.Runs) == 0, el("p", text("No runs yet. Only runs with --customer are logged.")))),
		},
	})
}

func note(message string) page.Node { return el("p", class("note"), text(message)) }

func hiddenInput(name, value string) page.Node {
	return el("input", attr("type", "hidden"), attr("name", name), attr("value", value))
}

func button(answer, label string, attrs ...page.Node) page.Node {
	return el("button", append(attrs, attr("name", "answer"), attr("value", answer), text(label))...)
}

// form returns a form that answers a question.
func (d *pageData) form(q *Waiting, buttons ...page.Node) page.Node {
	return el("form", append([]page.Node{attr("method", "post"), attr("action", "/answer"),
		hiddenInput("form", d.Forms), hiddenInput("socket", q.Socket), hiddenInput("id", q.ID)}, buttons...)...)
}

// waiting returns the list of questions.
func (d *pageData) waiting() page.Node {
	if len(d.Waiting) == 0 {
		return el("p", text("Nothing is waiting. This page refreshes every three seconds."))
	}
	return el("table",
		el("tr", page.Each([]string{"Since", "What", "Script", "Customer", "Risk", ""}, func(name *string) page.Node { return el("th", text(*name)) })),
		page.Each(d.Waiting, func(q *Waiting) page.Node {
			review := "/question?" + url.Values{"socket": {q.Socket}, "id": {q.ID}}.Encode()
			return el("tr", el("td", text(q.Since.Local().Format("15:04:05"))),
				el("td", text(q.Title), page.Each(q.Arguments, func(arg *string) page.Node {
					return page.Group(el("br"), el("span", class("args"), text(*arg)))
				}), when(q.Socket == "", el("br"), el("span", class("dim"), text(q.ended())))),
				el("td", text(q.Script)), el("td", text(q.Customer)), el("td", riskSpan(q.Risk)),
				el("td", el("a", attr("href", review), text("Review")), d.form(q, button("no", "Refuse"),
					when(q.More > 0, button("none", fmt.Sprintf("Refuse this and %d more", q.More))))))
		}))
}

func riskSpan(level string) page.Node {
	return el("span", class("risk "+level), text(level))
}

// question returns the question that a person answers.
func (d *pageData) question() page.Node {
	q := d.Question
	if q == nil {
		return page.Group()
	}
	return page.Group(
		el("h2", text(q.Title)),
		when(q.Socket == "", note(q.ended())),
		el("pre", page.Each(q.Lines, func(line *string) page.Node {
			if level, ok := strings.CutPrefix(*line, riskLine); ok {
				return page.Group(text("Risk: "), riskSpan(level), text("\n"))
			}
			return text(*line + "\n")
		})),
		when(len(q.Others) > 0, el("pre", text(strings.Join(q.Others, "\n")+"\n"))),
		d.form(q, button("no", "Refuse", class("no")), page.Each(q.Scopes, scopeButton)),
		when(slices.Contains(q.Scopes, Run), el("p", class("dim"), text("“For this run” allows what the line “This run” names. “For the rest of this run” refuses all that this rule asks about."))),
		when(q.Code != "", el("h2", text("The script")),
			when(q.Missing > 0, note(fmt.Sprintf("The script is too long for this page: its last %d bytes are not shown.", q.Missing))),
			el("pre", text(q.Code))),
	)
}

// ended says what an answer does to a question whose process has ended.
func (q *Waiting) ended() string {
	holds := fmt.Sprintf("holds for %s, once, until %s.", q.Again, q.Until.Local().Format("2006-01-02 15:04"))
	if q.Answered != "" {
		return q.Answered + ". Your answer " + holds + " You can still change it."
	}
	return "The process that asked has ended. Your answer " + holds
}

func scopeButton(scope *Scope) page.Node {
	refusal := class("no")
	switch *scope {
	case Once:
		return button("once", "Allow")
	case Run:
		return button("run", "Allow for this run")
	case Batch:
		return button("batch", "Allow all shown")
	case RefusedBatch:
		return button("none", "Refuse all shown", refusal)
	}
	return button(string(*scope), "Refuse for the rest of this run", refusal)
}

func runRow(run *PageRun) page.Node {
	return el("details",
		el("summary", text(fmt.Sprintf("%s · %s · %s · %d calls ", run.At.Local().Format("2006-01-02 15:04:05"), run.Script, run.Outcome, len(run.Calls))),
			when(run.Note != "", el("span", class("dim"), text(run.Note)))),
		el("table", page.Each(run.Calls, func(c *PageCall) page.Node { return el("tr", el("td", text(c.Tool)), el("td", text(c.Outcome))) })))
}
