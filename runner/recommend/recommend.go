// Package recommend says which tools and skills were used together, from a customer's own runs in the record. It returns names and numbers of
// runs, and nothing else that the record holds.
//
// It reads a bounded part of the record: of the last [maxEnds] runs of everybody, the last [MaxRuns] scripts of the customer, and of each the
// last [maxCalls] calls. Only calls that succeeded count, and each tool once for each run.
package recommend

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/search"
	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/store"
)

const (
	// MaxRuns is the number of a customer's runs that count, the latest.
	MaxRuns = 50
	// MinRuns is the smallest number of runs with both for which something is said.
	MinRuns = 3
	// MaxPairs bounds what is said of one tool.
	MaxPairs = 3

	maxEnds  = 500
	maxCalls = 1000
)

// Pair is a tool or skill that was used together with another tool.
type Pair struct {
	// Name is the id of a tool, or skills/NAME.
	Name string `json:"name"`
	// Runs is the number of runs that used both, of the Of runs that used the other tool.
	Runs int `json:"runs"`
	Of   int `json:"of"`
}

// String returns the pair for people and models: crm__update_record (in 8 of 10 runs).
func (p Pair) String() string { return fmt.Sprintf("%s (in %d of %d runs)", p.Name, p.Runs, p.Of) }

// History is what a customer's runs have used.
type History struct{ runs []map[string]bool }

// Read reads the customer's runs; an empty customer means runs without one. Runs that are not recorded, or whose contents retention has
// removed, do not count. The errors are the record's.
func Read(ctx context.Context, rec store.Record, customer string) (*History, error) {
	var ids []string
	h := &History{}
	enough := errors.New("enough")
	err := rec.Rows(ctx, store.Range{Kinds: []string{string(audit.KindRunEnd)}, NewestFirst: true, Limit: maxEnds}, func(s store.Row) error {
		row, err := audit.Decode(s)
		if err != nil || row.Forgotten || string(row.Who.Customer) != customer {
			return err
		}
		var end audit.RunEnd
		if err := decode(row, &end); err != nil || end.Action != "execute_code" || end.Sandbox == "none" {
			return err
		}
		used := map[string]bool{}
		for _, m := range end.Modules {
			if skill := skillFile.FindStringSubmatch(m.Name); skill != nil {
				used["skills/"+skill[1]] = true
			}
		}
		ids, h.runs = append(ids, row.Run), append(h.runs, used)
		if len(ids) == MaxRuns {
			return enough
		}
		return nil
	})
	if err != nil && !errors.Is(err, enough) {
		return nil, err
	}
	for i, id := range ids {
		err := rec.Rows(ctx, store.Range{Run: id, Kinds: []string{string(audit.KindCallEnd)}, NewestFirst: true, Limit: maxCalls}, func(s store.Row) error {
			row, err := audit.Decode(s)
			if err != nil || row.Forgotten || string(row.Who.Customer) != customer {
				return err
			}
			var end audit.CallEnd
			if err := decode(row, &end); err != nil {
				return err
			}
			if end.Outcome == "ok" {
				h.runs[i][end.Tool] = true
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return h, nil
}

// skillFile is the name of a skill's file in the record.
var skillFile = regexp.MustCompile(`^(?:\./)?skills/([a-z0-9-]{1,64})/`)

func decode(row audit.Row, body any) error {
	if err := json.Unmarshal(row.Body, body); err != nil {
		return fmt.Errorf("row %d of the record is damaged (%w): run mcprun audit verify", row.Index, err)
	}
	return nil
}

// With returns what the runs that used a tool, or skills/NAME, used besides, the most frequent first. Tools for which known is false are left
// out: the tree may have lost them.
func (h *History) With(name string, known func(tool string) bool) []Pair {
	count, of := map[string]int{}, 0
	for _, run := range h.runs {
		if !run[name] {
			continue
		}
		of++
		for other := range run {
			if other != name && (strings.HasPrefix(other, "skills/") || known(other)) {
				count[other]++
			}
		}
	}
	var out []Pair
	for other, n := range count {
		if n >= MinRuns {
			out = append(out, Pair{other, n, of})
		}
	}
	slices.SortFunc(out, func(a, b Pair) int { return cmp.Or(b.Runs-a.Runs, strings.Compare(a.Name, b.Name)) })
	return out[:min(len(out), MaxPairs)]
}

// Annotate sets UsedTogether of the first [search.Few] results of a search, from the customer's runs.
func Annotate(ctx context.Context, rec store.Record, customer string, found []search.Result, known func(tool string) bool) error {
	if len(found) == 0 {
		return nil
	}
	h, err := Read(ctx, rec, customer)
	if err != nil {
		return fmt.Errorf("read which tools were used together: %w", err)
	}
	for i := range found[:min(len(found), search.Few)] {
		for _, p := range h.With(found[i].Tool, known) {
			found[i].UsedTogether = append(found[i].UsedTogether, p.String())
		}
	}
	return nil
}
