// Package trace shows the calls of a run as a waterfall: when each began, how long it waited for its turn, how long it
// took. [Text] is for a terminal; [HTML] writes a page that needs no other file. Names and errors may be hostile text, which
// is harmless in both forms.
package trace

import (
	"fmt"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner"
)

// end returns when the last call ended, in milliseconds from the start of the script.
func end(res *runner.Result) float64 {
	end := 0.0
	for _, c := range res.Calls {
		end = max(end, c.StartMS+c.DurationMS)
	}
	return end
}

// duration formats milliseconds.
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

// size formats a number of bytes.
func size(n int) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d B", n)
}

// heading returns the first line of both forms.
func heading(name string, res *runner.Result) string {
	calls := "1 call"
	if res.CallCount != 1 {
		calls = fmt.Sprintf("%d calls", res.CallCount)
	}
	return fmt.Sprintf("%s: %s, run %s", ident.CleanLine(name), calls, duration(res.DurationMS))
}
