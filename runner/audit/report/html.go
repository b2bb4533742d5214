package report

import (
	_ "embed"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/internal/page"
)

//go:embed report.css
var style string

const (
	chartTools = 12  // tools in a chart
	tableRows  = 200 // rows of a table
	longCell   = 26  // bytes beyond which a text is broken anywhere, as a name without spaces must be
)

// HTML writes the report as a page that loads nothing, runs no script, and prints on A4.
func (r *Report) HTML(w io.Writer) error {
	return page.Write(w, &page.Page{
		Title: r.Title(), Style: style,
		Head: []page.Node{el("meta", attr("http-equiv", "Content-Security-Policy"), attr("content", "default-src 'none'; style-src 'unsafe-inline'"))},
		Body: []page.Node{
			el("h1", text(r.Title())), el("p", text("Made "+r.Cell(r.Made)+".")),
			el("p", when(r.RecordChanged, class("alarm")), text("Record: "+ident.CleanLine(r.Record)+".")),
			when(r.Removed > 0, el("p", text(fmt.Sprintf("%d more runs are not counted, because their contents were removed.", r.Removed)))),
			el("dl", page.Each(r.Figures(), func(f *Figure) page.Node {
				return el("div", el("dt", text(f.Name)), el("dd", text(r.Cell(f.Value))))
			})),
			when(len(r.Days) == 0, el("p", text("Nothing was executed."))),
			page.Each(r.Tables(), r.section),
		},
	})
}

// section returns a table, with its chart above it.
func (r *Report) section(t *Table) page.Node {
	more := len(t.Rows) - tableRows
	return el("section", el("h2", text(t.Title)), when(t.Note != "", el("p", text(t.Note))), t.chart(),
		el("div", class("scroll"), el("table", when(len(t.Head) == 2, class("pair")),
			el("thead", el("tr", each(t.Head, func(i int, name string) page.Node { return el("th", t.class(i), attr("scope", "col"), text(name)) }))),
			el("tbody", page.Each(t.Rows[:min(len(t.Rows), tableRows)], func(row *[]any) page.Node {
				return el("tr", each(*row, func(i int, cell any) page.Node {
					content := ident.CleanLine(r.Cell(cell))
					return el("td", t.class(i), when(len(content) > longCell, class("l")), text(content))
				}))
			})))),
		when(more > 0, el("p", text(fmt.Sprintf("%d more rows are in the report as JSON.", more)))))
}

func each[T any](list []T, node func(int, T) page.Node) page.Node {
	nodes := make([]page.Node, len(list))
	for i, v := range list {
		nodes[i] = node(i, v)
	}
	return page.Group(nodes...)
}

// class sets the class of a column: n for numbers, t for times.
func (t *Table) class(column int) page.Node {
	for _, row := range t.Rows {
		switch row[column].(type) {
		case string:
			continue
		case time.Time:
			return class("t")
		}
		return class("n")
	}
	return page.Group()
}

// chart returns the chart of a table that has one. Its bars consist of the columns in Parts.
func (t *Table) chart() page.Node {
	if len(t.Parts) == 0 {
		return page.Group()
	}
	var bars []bar
	for _, row := range t.Rows {
		b := bar{label: row[0].(string), parts: make([]int, 3)}
		for i, part := range t.Parts {
			b.parts[part] += row[i+1].(int)
		}
		bars = append(bars, b)
	}
	words := []string{"succeeded", "failed or refused", "unknown"}
	description := "The table below has the numbers."
	if t.Time {
		return el("figure", columns(t.id(), t.Title, description, bars), legend(words...))
	}
	figure := lines(t.id(), t.Title, description, bars[:min(len(bars), chartTools)])
	return el("figure", figure, when(len(t.Parts) > 1, legend(words...)))
}

func legend(words ...string) page.Node {
	return el("figcaption", each(words, func(i int, word string) page.Node {
		return page.Group(el("i", class("p"+strconv.Itoa(i))), text(word))
	}))
}
