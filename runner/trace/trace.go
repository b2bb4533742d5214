// Package trace shows the calls of a run as a waterfall: when each began, how long it waited for its turn, how long it
// took. [Text] is for a terminal, [HTML] makes a page that needs nothing else. Names and errors are foreign text; neither
// form lets them do anything.
package trace

import (
	"fmt"
	"strings"
	"unicode"
)

// Run is what is shown.
type Run struct {
	// Name is that of the script.
	Name string
	// DurationMS is how long the run took.
	DurationMS float64
	// Calls are in the order in which they were made; Total counts those that are not listed too.
	Calls []Call
	Total int
}

// Call is one call. Times are in milliseconds, StartMS from when the script started.
type Call struct {
	Number              int
	Tool                string
	StartMS, DurationMS float64
	QueueMS             float64 // the part of DurationMS in which it waited for its turn
	Retries             int
	ArgumentBytes       int
	ResultBytes         int
	Outcome             string // "ok", "dry", or the kind of the error
	Error               string
}

// end is when the last call ended.
func (r *Run) end() float64 {
	end := 0.0
	for _, c := range r.Calls {
		end = max(end, c.StartMS+c.DurationMS)
	}
	return end
}

// duration writes milliseconds for people.
func duration(ms float64) string {
	switch {
	case ms >= 99_950:
		return fmt.Sprintf("%.0f s", ms/1000)
	case ms >= 999.5:
		return fmt.Sprintf("%.1f s", ms/1000)
	case ms >= 9.95:
		return fmt.Sprintf("%.0f ms", ms)
	}
	return fmt.Sprintf("%.1f ms", ms)
}

// size writes a number of bytes for people.
func size(n int) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d B", n)
}

// clean takes out what could steer a terminal or turn text around, and puts everything on one line.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) || r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, s)
}

// heading is the first line of both forms.
func (r *Run) heading() string {
	calls := "1 call"
	if r.Total != 1 {
		calls = fmt.Sprintf("%d calls", r.Total)
	}
	return fmt.Sprintf("%s: %s, run %s", clean(r.Name), calls, duration(r.DurationMS))
}
