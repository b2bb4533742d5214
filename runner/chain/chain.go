// Package chain passes a script's tool call through stages on its way to the server, and the result on its way back.
//
// A [Chain] serves all runs of one tree: it has the servers, the tools as the lock has them, and what is shared between runs, such
// as limits of parallel calls and compiled schemas. [Chain.NewCalls] makes the [Calls] of one run, with its settings and its record
// of what was called. A run hands [Calls.Handler] and [Calls.Answerer] to the bridge, which calls them once for each request of the
// guest, concurrently. At the end [Calls.Finish] returns the record.
//
// A stage is a function that wraps the next one. It may change the request, refuse it with a *call.Error, answer it itself, or look at the
// result. It releases what it holds for the call before it returns. The order of the stages is in stages.go, and nowhere else; each stage
// is in the file that is named after it or its kind.
package chain

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/learn"
	"github.com/mcpgen/mcpgen/gen/poison"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/telemetry"
)

// Upstreams calls configured servers by their key. *upstream.Pool implements it.
type Upstreams interface {
	Call(ctx context.Context, server, tool string, args json.RawMessage, opt *upstream.CallOptions) (*upstream.CallResult, error)
}

// Observer keeps shapes of results. *traffic.Store implements it.
type Observer interface {
	// Observe adds a result. It must not keep the value.
	Observe(o *learn.Observation) error
	// Flush stores what is new, now or soon. It is called after each run.
	Flush() error
}

// Options configure a Chain.
type Options struct {
	// Catalog has the tools that may be called, as they were when the tree was generated.
	Catalog *catalog.Catalog
	// Upstreams makes the calls. Nil: every call is refused.
	Upstreams Upstreams
	// Servers are the settings of calls to a server, by its key. A server without an entry has the zero value.
	Servers map[string]ServerSettings
	// Memory bounds the large results in memory. Nil: the Chain creates its own.
	Memory *MemoryBudget
	// Telemetry records the requests to servers. Nil: they are not recorded.
	Telemetry *telemetry.Telemetry
	// Logger receives diagnostics.
	Logger *slog.Logger
}

// Chain passes calls to the servers. It is safe for concurrent use.
type Chain struct {
	upstreams Upstreams // nil: none
	settings  map[string]ServerSettings
	catalog   *catalog.Catalog
	memory    *MemoryBudget
	telemetry *telemetry.Telemetry // nil: none
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
		upstreams: opt.Upstreams, settings: opt.Servers, catalog: opt.Catalog, memory: opt.Memory, telemetry: opt.Telemetry, log: opt.Logger,
		compiled: map[string]*validators{}, named: map[string]map[string]string{}, servers: map[string]chan struct{}{}, compared: map[string]*drifted{},
		texts: sync.OnceValue(func() *poison.Checker { return poison.NewChecker(opt.Catalog.Servers, nil) }),
	}
}

// readOnly reports whether a person or a trusted server says that the tool changes nothing.
func (ch *Chain) readOnly(req *request) bool {
	s := ch.settings[req.Server]
	return config.Believed(s.ReadOnly, s.Trusted, req.Name, ch.hints(req).ReadOnly)
}

// changesNothing is readOnly, or one of MCP's lists, reads and prompts.
func (ch *Chain) changesNothing(req *request) bool {
	_, _, known := ch.catalog.Lookup(req.Tool)
	return ch.readOnly(req) || !known && req.isAsk
}

// repeatable reports whether a person or a trusted server says that a second call has no further effect.
func (ch *Chain) repeatable(req *request) bool {
	s := ch.settings[req.Server]
	return config.Believed(s.Idempotent, s.Trusted, req.Name, ch.hints(req).Idempotent) || ch.changesNothing(req)
}

// hints returns the server's annotations of the tool, or none if the tool is not in the catalog.
func (ch *Chain) hints(req *request) catalog.Hints {
	if _, tool, ok := ch.catalog.Lookup(req.Tool); ok {
		return tool.Hints
	}
	return catalog.Hints{}
}
