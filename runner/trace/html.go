package trace

import (
	_ "embed"
	"html/template"
	"io"
)

//go:embed page.html
var page string

// row is a call as the page shows it. Left, Queue and Work are percentages of the page's width.
type row struct {
	Call
	Left, Queue, Work      float64
	Start, Took, Waited    string
	ArgumentSize, Received string
	Failed                 bool
}

// HTML writes a page with the waterfall and all that is known of each call. It loads nothing and runs nothing.
func HTML(w io.Writer, r Run) error {
	t, err := template.New("trace").Parse(page)
	if err != nil {
		return err
	}
	end := max(r.end(), 0.001)
	rows := make([]row, len(r.Calls))
	for i, c := range r.Calls {
		c.Tool, c.Error, c.Outcome = clean(c.Tool), clean(c.Error), noteOf(c)
		rows[i] = row{
			Call: c, Left: 100 * c.StartMS / end, Queue: 100 * c.QueueMS / end, Work: 100 * (c.DurationMS - c.QueueMS) / end,
			Start: duration(c.StartMS), Took: duration(c.DurationMS), Waited: duration(c.QueueMS),
			ArgumentSize: size(c.ArgumentBytes), Received: size(c.ResultBytes),
			Failed: r.Calls[i].Outcome != "ok" && r.Calls[i].Outcome != "dry",
		}
	}
	return t.Execute(w, map[string]any{
		"Title": r.heading(), "Rows": rows, "More": r.Total - len(rows), "End": duration(end), "Half": duration(end / 2),
	})
}
