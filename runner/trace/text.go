package trace

import (
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/chain"
)

const (
	// minWidth is the least width, in columns. On a narrower terminal, lines wrap.
	minWidth = 32
	// minBar is the least width of bars. With fewer columns there are no bars, and the names get their columns.
	minBar = 8
	// maxRows bounds how many calls are drawn. The page has all of them.
	maxRows = 200
)

// Text draws the waterfall of a script's run in lines of at most width columns, which is at least 32; 0 means 80. Waiting is drawn lighter
// than working.
func Text(w io.Writer, name string, res *runner.Result, width int) error {
	if width == 0 {
		width = 80
	}
	width = max(width, minWidth)
	shown := res.Calls[:min(len(res.Calls), maxRows)]
	names, note := 4, 2
	for _, c := range shown {
		names = max(names, utf8.RuneCountInString(ident.CleanLine(c.Tool)))
		note = max(note, utf8.RuneCountInString(noteOf(c)))
	}
	numbers := len(fmt.Sprint(maxNumber(shown)))
	free := width - numbers - len("  ") - len(" ") - len("1234.5 ms ")
	note = min(note, width/4)
	bar := free - note - min(names, width*2/5) - len("  ")
	if bar >= minBar {
		names = min(names, width*2/5)
	} else {
		bar, names = 0, min(names, free-note)
	}
	var b strings.Builder
	b.WriteString(ident.Shorten(heading(name, res), width) + "\n")
	end := end(res)
	for _, c := range shown {
		drawn := ""
		if bar > 0 {
			drawn = "  " + bars(c, end, bar)
		}
		fmt.Fprintf(&b, "%*d  %s%s %9s %s\n", numbers, c.Call, pad(ident.CleanLine(c.Tool), names), drawn, duration(c.DurationMS), ident.Shorten(noteOf(c), note))
	}
	if more := res.CallCount - len(shown); more > 0 {
		fmt.Fprintf(&b, "and %d more\n", more)
	}
	connections(&b, res, width)
	_, err := io.WriteString(w, b.String())
	return err
}

func maxNumber(calls []chain.CallRecord) int {
	n := 0
	for _, c := range calls {
		n = max(n, c.Call)
	}
	return n
}

// noteOf returns how a call ended.
func noteOf(c chain.CallRecord) string {
	note := ident.CleanLine(c.Outcome)
	switch {
	case c.Retries == 1:
		note += ", 1 retry"
	case c.Retries > 1:
		note += fmt.Sprintf(", %d retries", c.Retries)
	}
	return note
}

// bars draws one call on a line of n columns, which represent the time until end.
func bars(c chain.CallRecord, end float64, n int) string {
	if end <= 0 {
		return strings.Repeat(" ", n)
	}
	column := func(ms float64) int { return min(n, max(0, int(math.Round(ms/end*float64(n))))) }
	from := min(column(c.StartMS), n-1)
	to := max(column(c.StartMS+c.DurationMS), from+1) // so that even the shortest call is visible
	work := min(column(c.StartMS+c.QueueMS), to-1)
	work = max(work, from)
	return strings.Repeat(" ", from) + strings.Repeat("░", work-from) + strings.Repeat("█", to-work) + strings.Repeat(" ", n-to)
}

// pad makes s exactly n characters long.
func pad(s string, n int) string {
	s = ident.Shorten(s, n)
	return s + strings.Repeat(" ", n-utf8.RuneCountInString(s))
}
