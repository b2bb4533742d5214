// Package mcpserver is the MCP server of `mcprun serve`. Its tools run scripts in a sandbox, find tools, keep skills, hide personal data,
// and read and write a customer's files. Start with [New], then use [Server.Stdio] or [Server.Handler].
//
// The server speaks the stateless revision of the protocol (2026-07-28) and those before it, which have sessions. Everything a client sends
// is treated as hostile: arguments are checked here, bodies and queues are bounded, and one customer reaches nothing of another's. The
// package itself starts no sandbox and connects to no server: [Options] supplies the functions that do.
package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/mcpserver/internal/eventstream"
	"github.com/mcpgen/mcpgen/runner/mcpserver/internal/runqueue"
	"github.com/mcpgen/mcpgen/runner/workspace/customer"
)

// Mode selects the tools that clients see in tools/list.
type Mode string

const (
	// ModeCore lists the tools that run code, and find and call tools. The others are tools of a category mcprun: search_tools
	// shows them, and call_tool calls them. Clients may also call them by name.
	ModeCore Mode = "core"
	// ModeAll lists all tools.
	ModeAll Mode = "all"
	// ModeCode offers execute_code and search_tools only, which costs a model the fewest tokens.
	ModeCode Mode = "code"
	// ModePassthrough lists the tools of the tree instead, for hosts that run code themselves. Calls of them are made as those of call_tool
	// are.
	ModePassthrough Mode = "passthrough"
)

// Modes lists the modes, the default one first.
func Modes() []Mode { return []Mode{ModeCore, ModeAll, ModeCode, ModePassthrough} }

// Names of the languages of scripts.
const (
	TypeScript = "typescript"
	Python     = "python"
)

// Options are a Server's settings. Run and Customer are required.
type Options struct {
	// Version is the server's version reported to clients.
	Version string
	// Mode selects the tools. Empty: ModeCore.
	Mode Mode
	// Project is the initial project.
	Project
	// Reload returns the current project: the same pointer as before if nothing has changed. It is called before each call of a tool and
	// each list of tools, one at a time. While it returns an error, tools do nothing and answer with that error, or with the result of its
	// method ForModel. Nil: the project does not change.
	Reload func(ctx context.Context) (*Project, error)
	// IndexTokens bounds the index in the description of execute_code. Two thirds of it bound the servers' own instructions in the
	// instructions of this server. Zero: 120. Negative: both are left out.
	IndexTokens int

	// Run runs a script. Its errors are shown to the model.
	Run func(ctx context.Context, job *Job) (*runner.Result, error)
	// Call calls one tool without a script. Nil: call_tool answers that it is not available.
	Call func(ctx context.Context, job *CallJob) (*CallAnswer, error)
	// Customer opens a customer, once for each id. The customer is closed with the server.
	Customer func(ctx context.Context, id string) (*Customer, error)

	// Parallel bounds the runs and calls in progress. Zero: 8, or 64 in ModePassthrough, which has no runs.
	Parallel int
	// Share bounds the runs and calls in progress of one customer. Zero: Parallel.
	Share int
	// Waiting bounds how many runs and calls wait for their turn, and MaxWait how long each waits. Zero: 64 and 30 s; in ModePassthrough
	// 1,000 and 5 min, because a host's code starts as many calls at once as a script does.
	Waiting int
	MaxWait time.Duration
	// MaxTime bounds timeout_seconds. Zero: 10 min. MaxMemory bounds memory_mb, in bytes. Zero: 4 GB.
	MaxTime   time.Duration
	MaxMemory int64
	// MaxText bounds the text of one result, in characters. Zero: 30,000. Run itself bounds the output of scripts. MaxText does not apply
	// in ModePassthrough, where results go to code.
	MaxText int
	// AnswerTime is how long a run waits for the client to return with the answer to a question. Zero: 5 min.
	AnswerTime time.Duration
	// Prices are used by get_execution_stats. Zero: customer.DefaultPrices.
	Prices customer.Prices
	// ShowPaths tells clients the path of the workspace on this machine. It is for clients on the same machine.
	ShowPaths bool
	// Quiet is how long a call may be silent before its client is told what the call waits for. Zero: 10 s.
	Quiet time.Duration
	// KeepAlive is how long an HTTP answer may be silent before an empty comment is sent. Zero: 15 s.
	KeepAlive time.Duration
	// MaxSessions bounds the HTTP sessions of one customer. Stateless requests have none. Zero: 1,000.
	MaxSessions int
	// Logger receives diagnostics. Nil discards them.
	Logger *slog.Logger
}

// Server answers MCP clients. It is safe for concurrent use.
type Server struct {
	opt     Options
	log     *slog.Logger
	now     atomic.Pointer[view]
	queue   *runqueue.Queue
	streams eventstream.Streams

	ctx    context.Context // the context of all work in progress
	cancel context.CancelCauseFunc
	work   sync.WaitGroup

	reloading sync.Mutex
	mu        sync.Mutex
	customers map[string]*customerServer
	closed    bool
}

// errClosing is the cause with which the server's end cancels runs.
var errClosing = errors.New("the server is ending")

// New returns a Server. The error names the option that is wrong.
func New(opt *Options) (*Server, error) {
	if opt == nil || opt.Run == nil || opt.Customer == nil {
		return nil, errors.New("mcpserver: Run and Customer are required")
	}
	o := opt.WithDefaults()
	if !slices.Contains(Modes(), o.Mode) {
		return nil, fmt.Errorf("mcpserver: mode %q is not one of %s", o.Mode, Modes())
	}
	s := &Server{opt: o, log: o.Logger, queue: runqueue.New(o.Parallel, o.Share, o.Waiting, o.MaxWait), customers: map[string]*customerServer{}}
	first, err := s.newView(&o.Project)
	if err != nil {
		return nil, err
	}
	s.now.Store(first)
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	return s, nil
}

// WithDefaults returns the options with zero fields replaced by their defaults.
func (o Options) WithDefaults() Options {
	o.Mode = cmp.Or(o.Mode, ModeCore)
	o.IndexTokens = cmp.Or(o.IndexTokens, 120)
	if o.Mode == ModePassthrough {
		o.Parallel, o.Waiting, o.MaxWait = cmp.Or(o.Parallel, 64), cmp.Or(o.Waiting, 1000), cmp.Or(o.MaxWait, 5*time.Minute)
	}
	o.Parallel = cmp.Or(o.Parallel, 8)
	o.Share = cmp.Or(o.Share, o.Parallel)
	o.Waiting = cmp.Or(o.Waiting, 64)
	o.MaxWait = cmp.Or(o.MaxWait, 30*time.Second)
	o.MaxTime = cmp.Or(o.MaxTime, 10*time.Minute)
	o.MaxMemory = cmp.Or(o.MaxMemory, 4e9)
	o.MaxText = cmp.Or(o.MaxText, 30_000)
	o.AnswerTime = cmp.Or(o.AnswerTime, 5*time.Minute)
	o.Prices = cmp.Or(o.Prices, customer.DefaultPrices())
	o.Quiet = cmp.Or(o.Quiet, 10*time.Second)
	o.KeepAlive = cmp.Or(o.KeepAlive, 15*time.Second)
	o.MaxSessions = cmp.Or(o.MaxSessions, 1000)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// customer returns the customer's server, and opens it on first use.
func (s *Server) customer(id string) (*customerServer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosing
	}
	if cs, ok := s.customers[id]; ok {
		return cs, nil
	}
	c, err := s.opt.Customer(s.ctx, id)
	if err != nil {
		return nil, fmt.Errorf("open customer %q: %w", id, err)
	}
	cs := newCustomerServer(s, c)
	s.customers[id] = cs
	return cs, nil
}

// startWork reports whether a call may begin. If so, the call is counted, and the caller must call work.Done at its end.
func (s *Server) startWork() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.ctx.Err() != nil {
		return false
	}
	s.work.Add(1)
	return true
}

// Close ends runs in progress, waits for them, and closes the customers.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock() // from here on s.customers does not change
	s.cancel(errClosing)
	s.work.Wait()
	var errs []error
	for _, cs := range s.customers {
		if cs.customer.Close != nil {
			errs = append(errs, cs.customer.Close())
		}
	}
	return errors.Join(errs...)
}

// Definitions returns the result of tools/list as compact JSON, which is what a model pays for this server.
func (s *Server) Definitions() json.RawMessage {
	list := struct {
		Tools []*mcp.Tool `json:"tools"`
	}{}
	for _, t := range s.now.Load().tools {
		if s.lists(t.name) {
			list.Tools = append(list.Tools, t.definition())
		}
	}
	out, err := json.Marshal(list)
	if err != nil {
		panic(err) // the definitions are constants
	}
	return out
}
