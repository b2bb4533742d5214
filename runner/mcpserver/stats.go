package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/workspace"
)

// stats are the totals of one customer since the server was started.
type stats struct {
	mu     sync.Mutex
	Runs   int `json:"runs"`
	Failed int `json:"failedRuns"`
	Calls  int `json:"calls"` // of scripts and of call_tool
	Used   int `json:"tokensUsed"`
	Saved  int `json:"tokensSaved"`
	// MS is the time of all runs, in milliseconds.
	MS float64 `json:"durationMs"`
	// Files counts files by name, up to maxWritten: concurrent runs may report the same file.
	Files int `json:"filesWritten"`
	files map[string]bool
	tools map[string]*toolStats
	// sent counts tokens of definitions that direct calls would have sent, by session.
	sent map[string]int
}

type toolStats struct {
	Tool   string `json:"tool"`
	Calls  int    `json:"calls"`
	Failed int    `json:"failed,omitempty"`
}

// maxToolStats bounds the number of tools whose calls are counted separately.
const maxToolStats = 1000

// countCall counts a call of a tool. The caller holds mu.
func (s *stats) countCall(name string, failed bool) {
	if s.tools == nil {
		s.tools = map[string]*toolStats{}
	}
	t := s.tools[name]
	if t == nil {
		if len(s.tools) >= maxToolStats {
			return
		}
		t = &toolStats{Tool: name}
		s.tools[name] = t
	}
	t.Calls++
	if failed {
		t.Failed++
	}
}

// maxWritten bounds the number of files that are counted.
const maxWritten = 10_000

// countFiles counts files that a run wrote. The caller holds mu.
func (s *stats) countFiles(files []string) {
	if s.files == nil {
		s.files = map[string]bool{}
	}
	for _, name := range files {
		if len(s.files) >= maxWritten {
			break
		}
		s.files[name] = true
	}
	s.Files = len(s.files)
}

// maxSent bounds the number of sessions that are told apart; further ones count as one.
const maxSent = 1000

// countTokens counts the tokens of a run, and returns how many it saved: direct calls need the definitions once a session.
// The caller holds mu.
func (s *stats) countTokens(session string, t *runner.Tokens) (saved int) {
	if s.sent == nil {
		s.sent = map[string]int{}
	}
	if _, known := s.sent[session]; !known && len(s.sent) >= maxSent {
		session = ""
	}
	definitions := max(0, t.Definitions-s.sent[session])
	s.sent[session] += definitions
	saved = definitions + t.Arguments + t.Results - t.Used
	s.Used += t.Used
	s.Saved += saved
	return saved
}

// noteCall counts a call without a script.
func (s *stats) noteCall(tool string, failed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Calls++
	s.countCall(strings.ToValidUTF8(tool[:min(len(tool), maxNameBytes)], ""), failed)
}

// note counts a run, adds it to the customer's log, and returns how many tokens it saved.
func (cs *customerServer) note(e Entry) (saved int) {
	s := &cs.stats
	s.mu.Lock()
	s.Runs++
	if e.Result == nil || e.Result.ExitCode != 0 || e.Result.Cause != runner.CauseExit {
		s.Failed++
	}
	if r := e.Result; r != nil {
		s.Calls += r.CallCount
		s.MS = math.Round(1000*(s.MS+r.DurationMS)) / 1000
		s.countFiles(r.Files)
		if r.Tokens != nil {
			saved = s.countTokens(e.Session, r.Tokens)
		}
		for _, c := range r.Calls {
			s.countCall(c.Tool, c.Outcome != runner.OutcomeOK && c.Outcome != runner.OutcomeDry)
		}
	}
	s.mu.Unlock()
	if cs.customer.Log == nil {
		return saved
	}
	if err := cs.customer.Log.Append(e); err != nil {
		cs.logger().Warn("the customer's log could not be written", "error", err)
	}
	return saved
}

// environment is what get_execution_stats reports about where scripts run. It is read for each call, so it is right before
// the first run and after a restart.
type environment struct {
	Workspace struct {
		Path  string `json:"path"` // that scripts see
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

func (cs *customerServer) environment() (*environment, error) {
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
	if k := cs.customer.Skills; k != nil {
		list, err := k.List()
		if err != nil {
			return nil, err
		}
		e.Skills = len(list)
	}
	can := &e.Capabilities
	can.Languages, can.Skills, can.PII, can.CallTool = o.Languages, cs.customer.Skills != nil, cs.customer.Vault != nil, o.Call != nil
	if o.Catalog != nil {
		can.Servers, can.Tools = len(o.Catalog.Servers), o.Catalog.Tools()
	}
	l := &e.Limits
	l.Timeout, l.MaxTimeout, l.Memory, l.MaxMemory = o.Time.Seconds(), o.MaxTime.Seconds(), float64(o.Memory)/1e6, float64(o.MaxMemory)/1e6
	l.Output, l.Parallel, l.Quota = o.MaxText, min(o.Parallel, o.Share), cs.customer.Quota
	return e, nil
}

type statsArgs struct {
	Top *int `json:"top"`
}

func callGetExecutionStats(_ context.Context, c *toolCall, args *statsArgs) (*reply, error) {
	top := 10 // tools
	if args.Top != nil {
		top = max(0, *args.Top)
	}
	env, err := c.cs.environment()
	if err != nil {
		return nil, err
	}
	s := &c.cs.stats
	s.mu.Lock()
	tools := make([]toolStats, 0, len(s.tools))
	for _, t := range s.tools {
		tools = append(tools, *t)
	}
	slices.SortFunc(tools, func(a, b toolStats) int {
		if a.Calls != b.Calls {
			return b.Calls - a.Calls
		}
		return strings.Compare(a.Tool, b.Tool)
	})
	data := struct {
		*environment
		*stats
		Tools []toolStats     `json:"tools"`
		Log   json.RawMessage `json:"session,omitempty"`
	}{environment: env, stats: s, Tools: firstOf(tools, top)}
	totals, err := compactJSON(data)
	s.mu.Unlock()
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
