package trace

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/runner/internal/page"
)

// Short names of what each line below uses.
var (
	el, attr, text = page.El, page.Attr, page.Text
	when           = page.If
)

func class(name string) page.Node { return attr("class", name) }

// view is what the page shows.
type view struct {
	title, run        string
	rows              []row
	more              int // calls without a row
	began, beganWidth string
	half, end         string
	tools             []toolTotal
	moreTools         int
	all               toolTotal
	network           page.Node
}

func (v *view) write(w io.Writer) error {
	css := style
	for i := range v.tools { // the style sheet selects the calls of a tool
		css += fmt.Sprintf("body:has(#tool-%d:checked) .call:not(.tool-%[1]d) { display: none; }\n", v.tools[i].N)
	}
	body := []page.Node{el("h1", text(v.title)), el("p", text(v.run))}
	if len(v.rows) == 0 {
		body = append(body, el("p", text("The script made no call.")))
	} else {
		body = append(body, v.toolTable(), v.callList())
	}
	body = append(body, v.network)
	return page.Write(w, &page.Page{
		Title: v.title, Style: css,
		Head: []page.Node{el("meta", attr("http-equiv", "Content-Security-Policy"), attr("content", "default-src 'none'; style-src 'unsafe-inline'"))},
		Body: append(body, when(v.more > 0, el("p", text(fmt.Sprintf("And %d more.", v.more))))),
	})
}

func (v *view) toolTable() page.Node {
	return page.Group(
		el("h2", text("Tools")),
		el("table",
			el("thead", el("tr", el("th", text("Show")), page.Each([]string{"Calls", "Failed", "Time", "Sent", "Received"}, func(name *string) page.Node {
				return el("th", class("n"), text(*name))
			}))),
			el("tbody",
				v.all.row(attr("checked", ""), text(" all")),
				page.Each(v.tools, func(t *toolTotal) page.Node { return t.row(attr("id", "tool-"+strconv.Itoa(t.N)), text(" "+t.Tool)) }))),
		when(v.moreTools > 0, el("p", text(fmt.Sprintf("And %d more tools.", v.moreTools)))),
		el("p", el("label", el("input", attr("type", "checkbox"), attr("id", "failed")), text(" only calls that failed"))),
	)
}

// row returns the row of a total, with a button that selects its calls.
func (t *toolTotal) row(mark, label page.Node) page.Node {
	return el("tr", el("th", el("label", el("input", attr("type", "radio"), attr("name", "tool"), mark), label)),
		number(strconv.Itoa(t.Calls)), number(strconv.Itoa(t.Failed)), number(t.Time), number(t.Sent), number(t.Received))
}

func number(value string) page.Node { return el("td", class("n"), text(value)) }

// span returns a cell of the list of calls.
func span(classes string, nodes ...page.Node) page.Node {
	return el("span", append([]page.Node{when(classes != "", class(classes))}, nodes...)...)
}

func (v *view) callList() page.Node {
	return page.Group(
		el("h2", text("Calls")),
		el("div", class("row head"), span("n", text("#")), span("", text("Tool")),
			span("scale", span("", text("0")), span("", text(v.half)), span("", text(v.end))),
			span("start n", text("Start")), span("n", text("Took")), span("bytes n", text("Sent")), span("bytes n", text("Received")), span("outcome", text("Outcome"))),
		when(v.beganWidth != "", el("div", class("row"), span(""), span("", text("sandbox start")),
			span("bar", el("i", class("begin"), attr("style", "left:0;width:"+v.beganWidth+"%"))),
			span("start n", text("0 ms")), span("n", text(v.began)), span("bytes"), span("bytes"), span("outcome"))),
		page.Each(v.rows, (*row).node),
	)
}

func (r *row) node() page.Node {
	classes := "call tool-" + strconv.Itoa(r.ToolN)
	if r.Failed {
		classes += " failed"
	}
	var waited string
	if r.QueueMS >= 0.1 {
		waited = "waited " + r.Waited + ", "
	}
	return el("details", class(classes),
		el("summary", class("row"), span("number n", text(fmt.Sprint(r.Call))),
			span("", text(r.Tool), when(r.At != "", text(" "), span("at", text(r.At))), when(r.Error != "", el("div", class("error"), text(r.Error)))),
			span("bar", when(r.QueueMS != 0, el("i", class("wait"), attr("style", "left:"+r.Left+"%;width:"+r.Queue+"%"))),
				el("i", class("work"), attr("style", "left:calc("+r.Left+"% + "+r.Queue+"%);width:"+r.Work+"%"))),
			span("start n", text(r.Start)), span("n", text(r.Took)), span("bytes n", text(r.ArgumentSize)), span("bytes n", text(r.ResultSize)), span("outcome", text(r.Outcome))),
		el("div", class("details"),
			el("p", text(strings.Join([]string{"Started at ", r.Start, ", ", waited, "took ", r.Took, "; sent ", r.ArgumentSize, ", received ", r.ResultSize, "."}, ""))),
			part("Code", r.At, r.Source), part("Arguments", r.ArgumentNote, r.Arguments), part("Result", r.ReceivedNote, r.Received)))
}

// part returns a titled text of a call's details, if there is one.
func part(title, small, shown string) page.Node {
	return when(shown != "", el("h3", text(title+" "), el("small", text(small))), el("pre", text(shown)))
}
