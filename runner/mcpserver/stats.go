package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runner/cache"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/workspace"
	"github.com/mcpgen/mcpgen/runner/workspace/customer"
)

// stats are the totals of one customer since the server's start, kept per client session, because direct calls would need the definitions
// once a session.
type stats struct {
	mu        sync.Mutex
	bySession map[string]*customer.Stats
}

// maxSessionStats bounds the number of sessions counted separately; all further ones count as one.
const maxSessionStats = 1000

// add adds a run, and returns its share of the tokens.
func (s *stats) add(e Entry) customer.Tokens {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bySession == nil {
		s.bySession = map[string]*customer.Stats{}
	}
	if s.bySession[e.Session] == nil && len(s.bySession) >= maxSessionStats {
		e.Session = ""
	}
	one := s.bySession[e.Session]
	if one == nil {
		one = &customer.Stats{}
		s.bySession[e.Session] = one
	}
	return one.Add(time.Now(), e.Run)
}

// total returns the totals of all sessions.
func (s *stats) total() *customer.Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := &customer.Stats{}
	for _, one := range s.bySession {
		all.Merge(one)
	}
	return all
}

// note counts a run or call, adds it to the customer's log, and returns how many tokens it saved.
func (cs *customerServer) note(e Entry) (saved int64) {
	saved = cs.stats.add(e).Saved
	if cs.customer.Log != nil {
		if err := cs.customer.Log.Append(e); err != nil {
			cs.logger().Warn("the customer's log could not be written", "error", err)
		}
	}
	return saved
}

// environment is what get_execution_stats reports about where scripts run. It is read for each call, so that it is right before the first
// run and after a restart.
type environment struct {
	Workspace struct {
		Path  string `json:"path"` // the path that scripts see
		Local string `json:"localPath,omitempty"`
		Files int    `json:"files"`
		Bytes int64  `json:"bytes"`
	} `json:"workspace"`
	Skills       int `json:"skills"`
	Capabilities struct {
		Languages []string `json:"languages"`
		Servers   int      `json:"servers"`
		Tools     int      `json:"tools"`
		Skills    bool     `json:"skills"`
		PII       bool     `json:"pii"`
		CallTool  bool     `json:"callTool"`
	} `json:"capabilities"`
	Limits struct {
		Timeout    float64 `json:"timeoutSeconds"`
		MaxTimeout float64 `json:"maxTimeoutSeconds"`
		Memory     float64 `json:"memoryMb"`
		MaxMemory  float64 `json:"maxMemoryMb"`
		Output     int     `json:"outputCharacters"`
		Parallel   int     `json:"parallelRuns"`
		Quota      int64   `json:"workspaceBytes,omitempty"` // 0: no quota
	} `json:"limits"`
}

func (cs *customerServer) environment(v *view) (*environment, error) {
	o, e := &cs.s.opt, &environment{}
	if files := cs.customer.Files; files != "" {
		e.Workspace.Path = sandbox.WorkspaceDir
		if o.ShowPaths {
			e.Workspace.Local = files
		}
		there, err := workspace.Take(files)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // the first run creates it
			return nil, err
		}
		for file := range there {
			if strings.HasPrefix(file, workspace.StoreDir+"/") { // the host's files
				delete(there, file)
			}
		}
		e.Workspace.Files, e.Workspace.Bytes = len(there), there.Bytes()
	}
	if cs.customer.Skills != nil {
		store, err := cs.customer.Skills()
		if err != nil {
			return nil, err
		}
		list, err := store.List()
		if err != nil {
			return nil, err
		}
		e.Skills = len(list)
	}
	can := &e.Capabilities
	can.Languages, can.Skills, can.PII, can.CallTool = v.Languages, cs.customer.Skills != nil, cs.customer.Vault != nil, o.Call != nil
	if v.Catalog != nil {
		can.Servers, can.Tools = len(v.Catalog.Servers), v.Catalog.Tools()
	}
	l := &e.Limits
	l.Timeout, l.MaxTimeout, l.Memory, l.MaxMemory = v.Time.Seconds(), o.MaxTime.Seconds(), float64(v.Memory)/1e6, float64(o.MaxMemory)/1e6
	l.Output, l.Parallel, l.Quota = o.MaxText, min(o.Parallel, o.Share), cs.customer.Quota
	return e, nil
}

// knownTools returns the rows of the tools in the tree, and one row for all others, whose names clients may have mistyped.
func (v *view) knownTools(rows []customer.ToolStats) []customer.ToolStats {
	var known []customer.ToolStats
	others := customer.ToolStats{Tool: "others"}
	for _, row := range rows {
		if v.Catalog != nil {
			if _, _, ok := v.Catalog.Lookup(row.Tool); ok {
				known = append(known, row)
				continue
			}
		}
		others.Calls += row.Calls
		others.Failed += row.Failed
		others.MS += row.MS
	}
	if others.Calls > 0 {
		known = append(known, others)
	}
	return known
}

type statsArgs struct {
	Top *int `json:"top"`
}

func callGetExecutionStats(_ context.Context, c *toolCall, args *statsArgs) (*reply, error) {
	top := 10 // number of tools
	if args.Top != nil {
		top = max(0, *args.Top)
	}
	env, err := c.cs.environment(c.view)
	if err != nil {
		return nil, err
	}
	all := c.cs.stats.total()
	all.Tools = c.view.knownTools(all.Tools)
	slices.SortStableFunc(all.Tools, func(a, b customer.ToolStats) int { return b.Calls - a.Calls })
	data := struct {
		*environment
		Runs   int                  `json:"runs"` // includes calls without a script
		Failed int                  `json:"failedRuns"`
		Calls  int                  `json:"calls"`
		Used   int64                `json:"tokensUsed"`
		Saved  int64                `json:"tokensSaved"`
		Search int64                `json:"tokensSavedBesideSearch"`
		Costs  customer.Costs       `json:"costs"`
		Cache  cache.Use            `json:"cache"`
		MS     float64              `json:"durationMs"`
		Tools  []customer.ToolStats `json:"tools"`
	}{env, all.Runs, all.Failed, all.Calls, all.Tokens.Used, all.Tokens.Saved, all.Tokens.SavedSearch, all.Tokens.Costs(c.cs.s.opt.Prices), all.Cache, all.DurationMS, append([]customer.ToolStats{}, firstOf(all.Tools, top)...)}
	totals, err := compactJSON(data)
	if err != nil {
		return nil, err
	}
	if log := c.cs.customer.Log; log != nil {
		kept, err := log.Stats()
		if err != nil {
			return nil, c.errorf("%v", err)
		}
		if kept != nil {
			totals = fmt.Sprintf(`%s,"session":%s}`, strings.TrimSuffix(totals, "}"), kept)
		}
	}
	return &reply{text: totals, data: json.RawMessage(totals)}, nil
}
