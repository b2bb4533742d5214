package trace

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/chain"
)

//go:embed page.css
var style string

// maxTools bounds the tools that have totals and can be selected.
const maxTools = 200

// row is a call on the page. Left, Queue and Work are percentages of the page's width.
type row struct {
	chain.CallRecord
	ToolN                      int
	Left, Queue, Work          string
	Start, Took, Waited        string
	ArgumentSize, ResultSize   string
	Failed                     bool
	At, Source                 string
	Arguments, Received        string
	ArgumentNote, ReceivedNote string
}

// HTML writes a page with the waterfall of a script's run, the totals of each tool, and the details of each call. The page loads
// nothing and runs no script: its style sheet selects calls, and its Content-Security-Policy forbids the rest.
func HTML(w io.Writer, name string, res *runner.Result) error {
	whole := max(res.StartMS+end(res), 0.001)
	percent := func(ms float64) string { return strconv.FormatFloat(100*ms/whole, 'f', 3, 64) }
	tools, all := totals(res.Calls)
	script := name[strings.LastIndexAny(name, `/\`)+1:]
	numbers := map[string]int{}
	for i := range tools {
		numbers[tools[i].id] = tools[i].N
	}
	rows := make([]row, len(res.Calls))
	for i, c := range res.Calls {
		r := row{
			ToolN: numbers[c.Tool], Left: percent(res.StartMS + c.StartMS), Queue: percent(c.QueueMS), Work: percent(c.DurationMS - c.QueueMS),
			Start: duration(res.StartMS + c.StartMS), Took: duration(c.DurationMS), Waited: duration(c.QueueMS),
			ArgumentSize: size(c.ArgumentBytes), ResultSize: size(c.ResultBytes), Failed: failed(&c),
		}
		if d := c.Details; d != nil {
			c.Error = d.Error
			r.At, r.Source = ident.CleanLine(d.At), ident.CleanLine(d.Line)
			if file, line, ok := strings.Cut(r.At, ":"); ok && file == script {
				r.At = "line " + line
			}
			r.Arguments, r.ArgumentNote = pretty(d.Arguments)
			r.Received, r.ReceivedNote = pretty(d.Result)
		}
		c.Tool, c.Error, c.Outcome = ident.CleanLine(c.Tool), ident.CleanLine(c.Error), noteOf(c)
		r.CallRecord = c
		rows[i] = r
	}
	v := view{
		title: heading(name, res), run: runLine(res), rows: rows, more: res.CallCount - len(rows), began: duration(res.StartMS), half: duration(whole / 2), end: duration(whole),
		tools: tools[:min(len(tools), maxTools)], moreTools: max(0, len(tools)-maxTools), all: all, network: networkTable(res),
	}
	if res.StartMS > 0 {
		v.beganWidth = percent(res.StartMS)
	}
	return v.write(w)
}

// toolTotal is the sum over the calls of a tool.
type toolTotal struct {
	N                    int // from 1; the tool that took longest comes first
	Tool, id             string
	Calls, Failed        int
	Time, Sent, Received string

	ms             float64
	sent, received int
}

func (t *toolTotal) add(c *chain.CallRecord) {
	t.Calls++
	if failed(c) {
		t.Failed++
	}
	t.ms, t.sent, t.received = t.ms+c.DurationMS, t.sent+c.ArgumentBytes, t.received+c.ResultBytes
	t.Time, t.Sent, t.Received = duration(t.ms), size(t.sent), size(t.received)
}

// totals returns the totals of each tool, and of all.
func totals(calls []chain.CallRecord) (tools []toolTotal, all toolTotal) {
	at := map[string]int{}
	for i := range calls {
		c := &calls[i]
		if _, ok := at[c.Tool]; !ok {
			at[c.Tool] = len(tools)
			tools = append(tools, toolTotal{id: c.Tool, Tool: ident.CleanLine(c.Tool)})
		}
		tools[at[c.Tool]].add(c)
		all.add(c)
	}
	slices.SortStableFunc(tools, func(a, b toolTotal) int { return cmp.Compare(b.ms, a.ms) })
	for i := range tools {
		tools[i].N = i + 1
	}
	return tools, all
}

func failed(c *chain.CallRecord) bool {
	return c.Outcome != chain.OutcomeOK && c.Outcome != chain.OutcomeDry
}

// runLine describes the run.
func runLine(res *runner.Result) string {
	parts := []string{fmt.Sprintf("exit code %d", res.ExitCode)}
	if res.Sandbox != "" {
		parts = append([]string{fmt.Sprintf("sandbox %s, ready after %s", res.Sandbox, duration(res.StartMS))}, parts...)
	}
	if res.MaxMemoryBytes > 0 {
		parts = append(parts, "memory "+size(int(res.MaxMemoryBytes)))
	}
	if res.Message != "" {
		parts = append(parts, ident.CleanLine(res.Message))
	}
	return strings.Join(parts, "; ")
}

// pretty indents a JSON text for people. A truncated text is shown as it is.
func pretty(text string) (shown, note string) {
	var b bytes.Buffer
	switch {
	case text == "":
		return "", ""
	case json.Indent(&b, []byte(text), "", "  ") == nil:
		text = b.String()
	default:
		note = "the beginning"
	}
	return ident.CleanText(text), note
}
