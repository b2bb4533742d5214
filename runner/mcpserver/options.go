package mcpserver

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/durable"
	"github.com/mcpgen/mcpgen/runner/model"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/telemetry"
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
	TypeScript = string(sandbox.LangTypeScript)
	Python     = string(sandbox.LangPython)
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
	// Refused is told of calls of execute_code, call_tool and, in ModePassthrough, tools of the tree that neither Run nor Call gets to see. Of one
	// customer, it is called at most 21 times a minute. It may be nil.
	Refused func(Refusal)
	// Customer opens a customer, once for each id. The customer is closed with the server.
	Customer func(ctx context.Context, id string) (*Customer, error)

	// Parallel bounds the runs and calls in progress. Zero: 8, or 64 in ModePassthrough, which has no runs.
	Parallel int
	// Share bounds the runs and calls in progress of one customer. Zero: Parallel.
	Share int
	// Waiting bounds how many runs and calls of one customer wait for their turn, and MaxWait how long each waits. Zero: 64 and 30 s; in ModePassthrough
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
	// TaskAfter is how long a call may take before it becomes a task, if its client declares the extension io.modelcontextprotocol/tasks.
	// Zero: 500 ms. Negative: no tasks are offered.
	TaskAfter time.Duration
	// KeepTask is how long the result of a task is kept. Zero: 1 h.
	KeepTask time.Duration
	// Engine makes tasks outlive this process, and lets calls wait in a queue that all processes share. It must not be launched; the server
	// does that, and closes it. Nil: tasks and the queue are in memory.
	Engine *durable.Engine
	// Workflows runs the workflows of the project, with Engine. Nil: they are not offered.
	Workflows *Workflows
	// State and Secret are required with Engine: where processes tell each other about calls, and at least 16 bytes, the same in all of them,
	// from which the key is derived that encrypts what is kept of calls. The caller closes State after the server.
	State  State
	Secret []byte
	// Settled is called when a run or call with a [Job.Work] will not begin again: it ended before it was work, its outcome is kept, or it was
	// cancelled. It may be nil.
	Settled func(ctx context.Context, customer, work string)
	// Made returns how often the run or call with a [Job.Work] has called which tools that change something, if it has ended otherwise than by
	// itself. It may be nil.
	Made func(ctx context.Context, customer, work string) (map[string]int, error)
	// StrandTime is how long the calls of servers that were started in another way wait for one of these, before any server ends them. Zero:
	// 10 min.
	StrandTime time.Duration
	// Sweep is called now and then, to delete what processes that died have left of runs and calls with a [Job.Work]: what was not added to since
	// a time, and is of no known work. It may be nil.
	Sweep func(ctx context.Context, since time.Time, known func(ctx context.Context, work string) (bool, error)) error
	// Rate bounds how many runs and calls start in RatePeriod, over all processes. All of them then wait in the queue of the engine. Zero: no
	// limit.
	Rate       int
	RatePeriod time.Duration
	// Prices are used by get_execution_stats. Zero: model.MidRange.
	Prices model.Prices
	// ShowPaths tells clients the path of the workspace on this machine. It is for clients on the same machine.
	ShowPaths bool
	// Quiet is how long a call may be silent before its client is told what the call waits for. Zero: 10 s.
	Quiet time.Duration
	// KeepAlive is how long an HTTP answer may be silent before an empty comment is sent. Zero: 15 s.
	KeepAlive time.Duration
	// MaxSessions bounds the HTTP sessions of one customer. Stateless requests have none. Zero: 1,000.
	MaxSessions int
	// Telemetry records requests and sessions. Nil: they are not recorded.
	Telemetry *telemetry.Telemetry
	// Logger receives diagnostics. Nil discards them.
	Logger *slog.Logger
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
	o.TaskAfter = cmp.Or(o.TaskAfter, 500*time.Millisecond)
	o.StrandTime = cmp.Or(o.StrandTime, strandTime)
	o.KeepTask = cmp.Or(o.KeepTask, time.Hour)
	o.Prices = cmp.Or(o.Prices, model.MidRange())
	o.Quiet = cmp.Or(o.Quiet, 10*time.Second)
	o.KeepAlive = cmp.Or(o.KeepAlive, 15*time.Second)
	o.MaxSessions = cmp.Or(o.MaxSessions, 1000)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}
