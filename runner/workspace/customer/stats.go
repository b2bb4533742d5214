package customer

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runner/cache"
	"github.com/mcpgen/mcpgen/runner/model"
)

// Stats are totals over runs, of one conversation ([Stats.Add]) or of several ([Stats.Merge]). The zero value has no runs. It
// is not safe for concurrent use.
type Stats struct {
	Runs        int         `json:"runs"`
	Failed      int         `json:"failed"` // runs that did not end by themselves with exit code 0
	Calls       int         `json:"calls"`
	FailedCalls int         `json:"failedCalls"` // of the calls in Run.Calls
	DurationMS  float64     `json:"durationMs"`
	Tokens      Tokens      `json:"tokens"`
	Cache       cache.Use   `json:"cache"`
	Costs       *Costs      `json:"costs,omitempty"` // set by Price
	First       time.Time   `json:"first,omitzero"`  // of the runs
	Last        time.Time   `json:"last,omitzero"`
	Tools       []ToolStats `json:"tools"` // sorted by tool

	read map[string]bool // tools that the model has already read about in the conversation
}

// ToolStats are totals over the calls of one tool.
type ToolStats struct {
	Tool   string  `json:"tool"`
	Calls  int     `json:"calls"`
	Failed int     `json:"failed"`
	MS     float64 `json:"ms"`
}

// maxTools limits the number of tools in Stats, because scripts may make up the names of tools.
const maxTools = 5000

// Add adds a run of one conversation, such as a session, and returns its share of the tokens. All definitions count once, with the first
// run that makes a call. The definition and the wrapper of a tool count once, with the first run that calls it.
func (s *Stats) Add(at time.Time, r *Run) Tokens {
	var share Tokens
	s.Runs++
	if r.ExitCode != 0 || r.Cause != "exit" {
		s.Failed++
	}
	s.Calls += max(r.CallCount, len(r.Calls))
	s.DurationMS = micros(s.DurationMS + r.DurationMS)
	if r.Tokens != nil {
		share = s.unread(r).Share(s.Tokens.Definitions, max(r.CallCount, len(r.Calls)))
		s.Tokens.add(&share)
	}
	if r.Cache != nil {
		s.Cache.Add(*r.Cache)
	}
	s.span(at, at)
	for _, c := range r.Calls {
		one := ToolStats{Tool: c.Tool, Calls: 1, MS: c.MS}
		if c.Outcome != "ok" && c.Outcome != "dry" {
			one.Failed = 1
			s.FailedCalls++
		}
		s.tool(one)
	}
	return share
}

// unread returns the tokens of a run without those of tools that the model has already read about.
func (s *Stats) unread(r *Run) Tokens {
	t := *r.Tokens
	if s.read == nil {
		s.read = map[string]bool{}
	}
	for id, one := range r.ToolTokens {
		switch {
		case s.read[id]:
			t.Called -= one.Called
			t.Wrappers -= one.Wrapper
			t.Used -= one.Wrapper
		case len(s.read) < maxTools:
			s.read[id] = true
		}
	}
	return t
}

// Merge adds the totals of o, which must be of other conversations.
func (s *Stats) Merge(o *Stats) {
	s.Runs += o.Runs
	s.Failed += o.Failed
	s.Calls += o.Calls
	s.FailedCalls += o.FailedCalls
	s.DurationMS = micros(s.DurationMS + o.DurationMS)
	s.Tokens.add(&o.Tokens)
	s.Cache.Add(o.Cache)
	if o.Runs > 0 {
		s.span(o.First, o.Last)
	}
	for _, t := range o.Tools {
		s.tool(t)
	}
}

// Price sets Costs.
func (s *Stats) Price(p model.Prices) {
	costs := s.Tokens.Costs(p)
	s.Costs = &costs
}

func (s *Stats) span(first, last time.Time) {
	if s.First.IsZero() || first.Before(s.First) {
		s.First = first
	}
	if last.After(s.Last) {
		s.Last = last
	}
}

func (s *Stats) tool(t ToolStats) {
	i, known := slices.BinarySearchFunc(s.Tools, t.Tool, func(have ToolStats, name string) int { return strings.Compare(have.Tool, name) })
	if !known {
		if len(s.Tools) >= maxTools {
			return
		}
		s.Tools = slices.Insert(s.Tools, i, ToolStats{Tool: t.Tool})
	}
	s.Tools[i].Calls += t.Calls
	s.Tools[i].Failed += t.Failed
	s.Tools[i].MS = micros(s.Tools[i].MS + t.MS)
}

// micros rounds milliseconds to microseconds, so that sums do not show rounding errors.
func micros(ms float64) float64 { return math.Round(1000*ms) / 1000 }

// SessionStats are the totals of one session.
type SessionStats struct {
	Customer string    `json:"customer"`
	Session  string    `json:"session"`
	Title    string    `json:"title,omitempty"`
	Began    time.Time `json:"began"`
	Stats
}

// CustomerStats are the totals of one customer and of each of its sessions, the oldest first.
type CustomerStats struct {
	Customer string `json:"customer"`
	Stats
	Sessions []SessionStats `json:"sessions"`
}

// Stats returns the totals of the customer's sessions. It reads their logs.
func (c *Customer) Stats(ctx context.Context) (*CustomerStats, error) {
	sessions, err := c.Sessions()
	if err != nil {
		return nil, err
	}
	all := &CustomerStats{Customer: c.id, Stats: Stats{Tools: []ToolStats{}}, Sessions: []SessionStats{}}
	for _, s := range sessions {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		one, err := s.Stats()
		if err != nil {
			return nil, err
		}
		all.Merge(&one.Stats)
		all.Sessions = append(all.Sessions, *one)
	}
	slices.SortStableFunc(all.Sessions, func(a, b SessionStats) int {
		return cmp.Or(a.Began.Compare(b.Began), strings.Compare(a.Session, b.Session))
	})
	return all, nil
}

// counted is the part of a record that Stats counts. The rest of a record is not decoded.
type counted struct {
	Kind Kind      `json:"kind"`
	Time time.Time `json:"time"`
	Task string    `json:"task"`
	Run  *struct {
		ExitCode   int        `json:"exitCode"`
		Cause      string     `json:"cause"`
		DurationMS float64    `json:"durationMs"`
		Calls      []Call     `json:"calls"`
		CallCount  int        `json:"callCount"`
		Tokens     *Tokens    `json:"tokens"`
		Cache      *cache.Use `json:"cache"`

		ToolTokens map[string]ToolTokens `json:"toolTokens"`
	} `json:"run"`
}

// Stats returns the totals of the session. It reads the log.
func (s *Session) Stats() (*SessionStats, error) {
	out := &SessionStats{Customer: s.customer.id, Session: s.id, Stats: Stats{Tools: []ToolStats{}}}
	_, err := s.lines(context.Background(), func(line []byte) (bool, error) {
		var r counted
		if json.Unmarshal(line, &r) != nil || r.Kind == "" {
			return false, nil
		}
		if out.Began.IsZero() {
			out.Began = r.Time
		}
		if r.Kind == KindSession && out.Title == "" {
			out.Title = r.Task
		}
		if run := r.Run; r.Kind == KindRun && run != nil {
			out.Add(r.Time, &Run{
				ExitCode: run.ExitCode, Cause: run.Cause, DurationMS: run.DurationMS, Calls: run.Calls, CallCount: run.CallCount, Tokens: run.Tokens, ToolTokens: run.ToolTokens, Cache: run.Cache,
			})
		}
		return true, nil
	})
	return out, err
}
