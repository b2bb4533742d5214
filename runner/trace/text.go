package trace

import (
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"
)

const (
	// minWidth is the narrowest terminal that is written for; on a narrower one lines wrap.
	minWidth = 32
	// minBar is the least room that bars are drawn in; without it the names get it.
	minBar = 8
	// maxRows bounds how many calls are drawn; a person reads no more, and the page has them all.
	maxRows = 200
)

// Text draws the waterfall in lines of at most width columns; 0 stands for 80. Waiting is drawn lighter than working.
func Text(w io.Writer, r Run, width int) error {
	if width == 0 {
		width = 80
	}
	width = max(width, minWidth)
	shown := r.Calls[:min(len(r.Calls), maxRows)]
	names, note := 4, 2
	for _, c := range shown {
		names = max(names, utf8.RuneCountInString(clean(c.Tool)))
		note = max(note, utf8.RuneCountInString(noteOf(c)))
	}
	numbers := len(fmt.Sprint(maxNumber(shown)))
	room := width - numbers - len("  ") - len(" ") - len("1234.5 ms ")
	note = min(note, width/4)
	bar := room - note - min(names, width*2/5) - len("  ")
	if bar >= minBar {
		names = min(names, width*2/5)
	} else {
		bar, names = 0, min(names, room-note)
	}
	var b strings.Builder
	b.WriteString(cut(r.heading(), width) + "\n")
	end := r.end()
	for _, c := range shown {
		drawn := ""
		if bar > 0 {
			drawn = "  " + bars(c, end, bar)
		}
		fmt.Fprintf(&b, "%*d  %s%s %9s %s\n", numbers, c.Number, pad(clean(c.Tool), names), drawn, duration(c.DurationMS), cut(noteOf(c), note))
	}
	if more := r.Total - len(shown); more > 0 {
		fmt.Fprintf(&b, "and %d more\n", more)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func maxNumber(calls []Call) int {
	n := 0
	for _, c := range calls {
		n = max(n, c.Number)
	}
	return n
}

// noteOf says how a call ended.
func noteOf(c Call) string {
	note := clean(c.Outcome)
	switch {
	case c.Retries == 1:
		note += ", 1 retry"
	case c.Retries > 1:
		note += fmt.Sprintf(", %d retries", c.Retries)
	}
	return note
}

// bars draws one call on a line of n columns that stands for the time until end.
func bars(c Call, end float64, n int) string {
	if end <= 0 {
		return strings.Repeat(" ", n)
	}
	column := func(ms float64) int { return min(n, max(0, int(math.Round(ms/end*float64(n))))) }
	from := min(column(c.StartMS), n-1)
	to := max(column(c.StartMS+c.DurationMS), from+1) // the shortest call can be seen
	work := min(column(c.StartMS+c.QueueMS), to-1)
	work = max(work, from)
	return strings.Repeat(" ", from) + strings.Repeat("░", work-from) + strings.Repeat("█", to-work) + strings.Repeat(" ", n-to)
}

// pad makes s exactly n characters long.
func pad(s string, n int) string {
	s = cut(s, n)
	return s + strings.Repeat(" ", n-utf8.RuneCountInString(s))
}

// cut shortens s to at most n characters.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}
