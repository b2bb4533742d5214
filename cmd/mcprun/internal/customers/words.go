package customers

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/runner/workspace/customer"
)

// ago describes how long ago a time was.
func ago(now, at time.Time) string {
	d := now.Sub(at)
	switch {
	case at.IsZero():
		return "never"
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return cli.Count(int(d/time.Minute), "minute") + " ago"
	case d < day:
		return cli.Count(int(d/time.Hour), "hour") + " ago"
	case d < 60*day:
		return cli.Count(int(d/day), "day") + " ago"
	}
	return at.Local().Format(time.DateOnly)
}

// saved formats the share of the other way's cost that was saved, or how much more was used.
func saved(used, other int64) string {
	switch {
	case other == 0:
		return "-"
	case used > other:
		return fmt.Sprintf("%d more", used-other)
	}
	return fmt.Sprintf("%.1f %%", math.Floor(1000*float64(other-used)/float64(other))/10) // rounded down: 100 % would mean that nothing was used
}

func savedWord(used, other int64) string {
	if used > other {
		return saved(used, other)
	}
	return saved(used, other) + " saved"
}

// money formats an amount, with more digits if it is small.
func money(amount float64) string {
	if math.Abs(amount) < 0.00005 {
		return "0.00"
	}
	if amount != 0 && amount > -1 && amount < 1 {
		return fmt.Sprintf("%.4f", amount)
	}
	return fmt.Sprintf("%.2f", amount)
}

func seconds(s float64) string {
	if math.Abs(s) < 0.05 {
		s = 0
	}
	return fmt.Sprintf("%.1f s", s)
}

func millis(ms float64) string {
	if ms >= 10_000 {
		return fmt.Sprintf("%.1f s", ms/1000)
	}
	return fmt.Sprintf("%.0f ms", ms)
}

// tokenWords describes how many tokens were used, and how many the other ways would have used. Calls without a script are not counted.
func tokenWords(t *customer.Tokens) string {
	if t.Used == 0 {
		return "tokens not counted"
	}
	text := cli.Count(int(t.Used), "token") + " used"
	for _, other := range []struct {
		way    string
		tokens int64
	}{{"search-then-call", t.Search}, {"direct calls", t.Direct}} {
		if other.tokens > 0 {
			text += fmt.Sprintf(", %d with %s (%s)", other.tokens, other.way, savedWord(t.Used, other.tokens))
		}
	}
	return text
}

func checkpointWords(info *customer.CheckpointInfo) string {
	text := fmt.Sprintf("checkpoint %s: %s, %s", info.Name, cli.Count(info.Files, "file"), flags.Bytes(int(info.Bytes)))
	if info.Skipped > 0 {
		text += fmt.Sprintf("; %d left out (%s)", info.Skipped, cli.EscapeLine(info.Example))
	}
	return text
}

// callWords counts the calls of each tool, and its failures, in the order of their first call.
func callWords(calls []customer.Call) string {
	var tools []string
	made, failed := map[string]int{}, map[string]int{}
	for _, c := range calls {
		if made[c.Tool]++; made[c.Tool] == 1 {
			tools = append(tools, c.Tool)
		}
		if c.Outcome != "ok" && c.Outcome != "dry" {
			failed[c.Tool]++
		}
	}
	var words []string
	for _, t := range tools[:min(len(tools), 10)] {
		text := cli.EscapeLine(t)
		if made[t] > 1 {
			text += fmt.Sprintf(" ×%d", made[t])
		}
		if failed[t] > 0 {
			text += fmt.Sprintf(" (%d failed)", failed[t])
		}
		words = append(words, text)
	}
	if more := len(tools) - 10; more > 0 {
		words = append(words, fmt.Sprintf("and %s more", cli.Count(more, "tool")))
	}
	return strings.Join(words, ", ")
}
