// Package chain is what a tool call of a script passes through on its way to the server, and its result on the way back.
//
// A [Chain] serves all runs of one tree: it has the servers, the tools as the lock has them, and what is shared between runs, such
// as limits of parallel calls and compiled schemas. [Chain.NewCalls] makes the [Calls] of one run, with its settings and its record
// of what was called. A run hands [Calls.Handler] and [Calls.Answerer] to the bridge, which calls them once for each request of the
// guest, concurrently. At the end [Calls.Finish] returns the record.
//
// A stage is a function that wraps the next one. It may change the request, refuse it with a *call.Error, answer it itself, or look
// at the result; what it holds for the call, it has given back when it returns. The order of the stages is in chain.go, and nowhere
// else; each stage is in the file that is named after it or its kind.
package chain

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/poison"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/call"
)

// Handler returns the function that makes the run's tool calls: its stages, outermost first.
func (c *Calls) Handler() call.Handler {
	return wrap(c.chain.callUpstream,
		c.report,         // sees every call, also those that are refused, so that the run's record is complete
		c.reserve,        // holds memory for a large result until the result is delivered
		c.large,          // replaces large results by handles; the recording below keeps them whole
		c.learn,          // above mark, which has read the text by then; below large, so that it sees the whole result
		c.mark,           // below large, so that a handle knows what is in its file; above the recording, which keeps results as they came
		c.respell,        // above the recording, which keeps the arguments as they are sent
		c.record,         // also calls that are refused: in a replay each call then has the number it had
		c.resolve,        // turns the script's tool id into a server and a tool, by the lock alone
		c.validateArgs,   // refuses bad arguments before anything is sent
		c.policy,         // judges the real tool and the final arguments, before the call waits or is sent; also in replays and dry runs
		c.replay,         // below it servers take part, and a replay has none
		c.dryRun,         // the same for calls that a dry run skips
		c.queue,          // waiting here does not count against the call's timeout, which starts below
		c.waitForMemory,  // below the queue, so that a call which waits for memory does not hold back calls to other servers
		c.scriptTimeout,  // the timeout that the script gave; it starts when the call has left the queue
		c.retry,          // keeps its place in the queue, so that retries add nothing to a server's load
		c.timeout,        // of one try: all that follows except the start of its server
		c.drift,          // below retry: a restarted server may have other tools; listing them counts against the timeout
		c.validateResult, // a bad result is not retried
	).callHandler()
}

// asker returns the stages of requests that are not tool calls: the same, without those about tools.
func (c *Calls) asker() handler {
	return wrap(c.chain.askUpstream, c.report, c.reserve, c.resourceParts, c.record, c.policy, c.replay, c.queue, c.retry, c.timeout)
}

// wrap wraps last in the stages; the first stage is outermost.
func wrap(last handler, stages ...stage) handler {
	h := last
	for i := len(stages) - 1; i >= 0; i-- {
		h = stages[i](h)
	}
	return h
}

// Upstreams calls configured servers by their key. *upstream.Pool implements it.
type Upstreams interface {
	Call(ctx context.Context, server, tool string, args json.RawMessage, opt *upstream.CallOptions) (*upstream.CallResult, error)
}

// Options configure a Chain.
type Options struct {
	// Catalog has the tools that may be called, as they were when the tree was made.
	Catalog *catalog.Catalog
	// Upstreams makes the calls. Nil: every call is refused.
	Upstreams Upstreams
	// Servers are the settings of calls to a server, by its key. A server without an entry has the zero value.
	Servers map[string]ServerSettings
	// Observer keeps shapes of the results of tools that declare none. Nil: none are kept.
	Observer Observer
	// Memory bounds the large results in memory. Nil: the Chain makes its own.
	Memory *MemoryBudget
	// Logger receives diagnostics.
	Logger *slog.Logger
}

// Chain passes calls to the servers. It is safe for concurrent use.
type Chain struct {
	upstreams Upstreams // nil: none
	observer  Observer  // nil: none
	settings  map[string]ServerSettings
	catalog   *catalog.Catalog
	memory    *MemoryBudget
	log       *slog.Logger

	mu       sync.Mutex
	compiled map[string]*validators       // by tool id
	named    map[string]map[string]string // parameters by tool id
	servers  map[string]chan struct{}     // the calls in flight, by server
	compared map[string]*drifted          // live definitions, by tool id
	texts    func() *poison.Checker       // finds suspicious texts in live definitions
}

// New returns a Chain.
func New(opt Options) *Chain {
	if opt.Memory == nil {
		opt.Memory = NewMemoryBudget(0)
	}
	return &Chain{
		upstreams: opt.Upstreams, observer: opt.Observer, settings: opt.Servers, catalog: opt.Catalog, memory: opt.Memory, log: opt.Logger,
		compiled: map[string]*validators{}, named: map[string]map[string]string{}, servers: map[string]chan struct{}{}, compared: map[string]*drifted{},
		texts: sync.OnceValue(func() *poison.Checker { return poison.NewChecker(opt.Catalog.Servers, nil) }),
	}
}
