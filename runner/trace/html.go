package trace

import (
	_ "embed"
	"html/template"
	"io"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/chain"
)

//go:embed page.html
var page string

// row is a call on the page. Left, Queue and Work are percentages of the page's width.
type row struct {
	chain.CallRecord
	Left, Queue, Work      float64
	Start, Took, Waited    string
	ArgumentSize, Received string
	Failed                 bool
}

// HTML writes a page with the waterfall of a script's run and the details of each call. The page loads nothing and runs no script.
func HTML(w io.Writer, name string, res *runner.Result) error {
	t, err := template.New("trace").Parse(page)
	if err != nil {
		return err
	}
	end := max(end(res), 0.001)
	rows := make([]row, len(res.Calls))
	for i, c := range res.Calls {
		c.Tool, c.Error, c.Outcome = ident.CleanLine(c.Tool), ident.CleanLine(c.Error), noteOf(c)
		rows[i] = row{
			CallRecord: c, Left: 100 * c.StartMS / end, Queue: 100 * c.QueueMS / end, Work: 100 * (c.DurationMS - c.QueueMS) / end,
			Start: duration(c.StartMS), Took: duration(c.DurationMS), Waited: duration(c.QueueMS),
			ArgumentSize: size(c.ArgumentBytes), Received: size(c.ResultBytes),
			Failed: res.Calls[i].Outcome != "ok" && res.Calls[i].Outcome != "dry",
		}
	}
	return t.Execute(w, map[string]any{
		"Title": heading(name, res), "Rows": rows, "More": res.CallCount - len(rows), "End": duration(end), "Half": duration(end / 2),
	})
}
