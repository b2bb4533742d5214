package mcpserver

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runner/internal/seal"
	"github.com/mcpgen/mcpgen/runner/mcpserver/internal/eventstream"
	"github.com/mcpgen/mcpgen/runner/mcpserver/internal/runqueue"
	"github.com/mcpgen/mcpgen/runner/workflow"
)

// Server answers MCP clients. It is safe for concurrent use.
type Server struct {
	opt     Options
	log     *slog.Logger
	now     atomic.Pointer[view]
	queue   *runqueue.Queue
	sealer  *seal.Sealer     // of what is kept of calls; nil without an engine
	flows   *workflow.Engine // nil: there are no workflows
	streams eventstream.Streams
	here    sync.Map // calls of this process that are work, or wait in the queue: *longCall by the id of the work

	ctx    context.Context // the context of all work in progress
	cancel context.CancelCauseFunc
	work   sync.WaitGroup
	ending sync.Once

	reloading sync.Mutex
	mu        sync.Mutex
	customers map[string]*customerServer
	closed    bool
}

// errClosing is the cause with which the server's end cancels runs.
var errClosing = errors.New("the server is ending")

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

// end ends all calls and waits for them. Those that are work may end within closeTime; then they are interrupted, and continue in another
// process.
func (s *Server) end() {
	s.cancel(errClosing)
	if s.flows != nil {
		s.flows.Stop()
	}
	if s.opt.Engine != nil {
		s.ending.Do(func() {
			ctx, cancel := context.WithTimeout(context.Background(), closeTime)
			defer cancel()
			if err := s.opt.Engine.Close(ctx); err != nil {
				s.log.Warn("the engine of durable work did not close", "error", err)
			}
		})
	}
	s.work.Wait()
}

// customerServer is the MCP server of one customer, through which alone clients reach the customer.
type customerServer struct {
	s        *Server
	customer *Customer
	mcp      *mcp.Server
	parked   parkedCalls
	tasks    tasks
	stats    stats
	refusals refusals
	calls    sessionCalls
}

func (cs *customerServer) logger() *slog.Logger { return cs.s.log.With("customer", cs.customer.ID) }
