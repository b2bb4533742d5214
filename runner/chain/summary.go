package chain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runner/cache"
	"github.com/mcpgen/mcpgen/runner/journal"
)

// Summary describes the calls of a run that has ended.
type Summary struct {
	Calls    []CallRecord   // in the order in which the script made them, at most 10,000; never nil
	Count    int            // of all calls
	InFlight string         // the calls in flight when the run ended, as text; empty if there were none
	Steps    []StepRecord   // in the order in which they ended, at most 10,000
	Waits    []journal.Step // what the script waits for, if the run was suspended
	Warnings []string       // in the order in which they came, at most 100
	// ArgumentTokens and ResultTokens are what direct calls would have cost; zero without Run.CountTokens.
	ArgumentTokens, ResultTokens int
	// ParsedTools returned JSON as text, which the script got as a value. TextTools have no output schema and returned other text. Both are
	// sorted tool ids.
	ParsedTools, TextTools []string
	Cache                  cache.Use
	Handles                bool // a result, or a part of one, was replaced by a handle
	AskedHost              bool // the script called one of Run.Answers
	// Nulls and Undefined report that a result itself contains the text that scripts print for a missing value: null, which Python prints
	// as None, or the words undefined, NaN and [object Object]. Results of more than 1 MiB count as containing them.
	Nulls, Undefined bool
}

// Finish waits for checks and counts in progress and returns the summary. The bridge must have ended.
func (c *Calls) Finish() *Summary {
	c.work.Wait()
	c.usage.counted()
	c.flushCache()
	u := c.usage
	u.mu.Lock()
	defer u.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	waits := c.Waiting()
	calls := append([]CallRecord{}, u.calls...)
	inOrder := func(a, b CallRecord) int { return cmp.Compare(a.Call, b.Call) }
	slices.SortStableFunc(calls, inOrder)
	return &Summary{
		Calls: calls, Count: u.total, Steps: c.steps.records, Waits: waits, InFlight: describeInFlight(slices.SortedFunc(slices.Values(u.inFlight), inOrder)), Warnings: slices.Clone(c.warnings),
		ArgumentTokens: u.arguments, ResultTokens: u.results, ParsedTools: slices.Sorted(maps.Keys(c.parsed)), TextTools: slices.Sorted(maps.Keys(c.texts)), Handles: c.kept.Load(), AskedHost: c.askedHost.Load(), Cache: u.cache,
		Nulls: c.nulls.Load(), Undefined: c.undefined.Load(),
	}
}

// maxMade bounds the rows of calls that a message lists.
const maxMade = 20

// Made lists, as text, the calls that reached a server, so that their effects are not repeated by accident. It is empty if there were no
// such calls.
func (s *Summary) Made() string {
	rows, count := describeCalls(s.Calls, false)
	if len(rows) > maxMade {
		rows, _ = describeCalls(s.Calls, true)
	}
	if count == 0 {
		return ""
	}
	if len(rows) > maxMade {
		rows = append(rows[:maxMade:maxMade], fmt.Sprintf("and %d more", len(rows)-maxMade))
	}
	if more := s.Count - len(s.Calls); more > 0 {
		rows = append(rows, fmt.Sprintf("%d further calls were not recorded", more))
	}
	calls, them := "calls", "them"
	if count == 1 {
		calls, them = "call", "it"
	}
	verb := "already succeeded"
	if slices.ContainsFunc(s.Calls, func(c CallRecord) bool { return c.reached && c.Outcome != OutcomeOK }) {
		verb = "already reached a server"
	}
	return fmt.Sprintf("%d %s %s; running the script again will repeat %s: %s", count, calls, verb, them, strings.Join(rows, ", "))
}

// describeCalls counts the calls that were sent and describes them in rows. Equal calls that follow one another share a row; with together,
// all equal calls do.
func describeCalls(calls []CallRecord, together bool) (rows []string, count int) {
	type kind struct{ tool, outcome string }
	var kinds []kind
	var times []int
	row := map[kind]int{}
	for _, c := range calls {
		if !c.reached {
			continue
		}
		count++
		k := kind{c.Tool, c.Outcome}
		at, known := row[k]
		if !known || !together && at != len(kinds)-1 {
			at = len(kinds)
			row[k] = at
			kinds, times = append(kinds, k), append(times, 0)
		}
		times[at]++
	}
	for i, k := range kinds {
		text := k.tool + " " + k.outcome
		if k.outcome != OutcomeOK {
			text = k.tool + " failed (" + k.outcome + ")"
		}
		if times[i] > 1 {
			text += fmt.Sprintf(" ×%d", times[i])
		}
		rows = append(rows, text)
	}
	return rows, count
}

// maxInFlightRows bounds the rows of calls in flight that a message lists.
const maxInFlightRows = 5

// describeInFlight lists calls that were in flight when the run ended, or returns "" if there were none.
func describeInFlight(calls []CallRecord) string {
	type kind struct{ tool, waits string }
	var kinds []kind
	times, longest := map[kind]int{}, map[kind]float64{}
	for _, c := range calls {
		if c.WaitingFor == "" {
			continue
		}
		k := kind{c.Tool, c.WaitingFor}
		if times[k]++; times[k] == 1 {
			kinds = append(kinds, k)
		}
		longest[k] = max(longest[k], c.WaitedMS)
	}
	var rows []string
	for _, k := range kinds[:min(len(kinds), maxInFlightRows)] {
		row := fmt.Sprintf("%s (waiting for %s for %v)", k.tool, k.waits, rounded(longest[k]))
		if times[k] > 1 {
			row += fmt.Sprintf(" ×%d", times[k])
		}
		rows = append(rows, row)
	}
	if more := len(kinds) - len(rows); more > 0 {
		rows = append(rows, fmt.Sprintf("and %d more", more))
	}
	if rows == nil {
		return ""
	}
	return "still in progress: " + strings.Join(rows, ", ")
}

// rounded returns milliseconds as a duration rounded for people.
func rounded(ms float64) time.Duration {
	d := time.Duration(ms * float64(time.Millisecond))
	if d >= time.Second {
		return d.Round(time.Second)
	}
	return d.Round(time.Millisecond)
}
