package mcpserver

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runner/mcpserver/internal/eventstream"
	"github.com/mcpgen/mcpgen/runner/mcpserver/internal/runqueue"
)

// Server answers MCP clients. It is safe for concurrent use.
type Server struct {
	opt     Options
	log     *slog.Logger
	now     atomic.Pointer[view]
	queue   *runqueue.Queue
	streams eventstream.Streams
	front   *front

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

// customerServer is the MCP server of one customer, through which alone clients reach the customer.
type customerServer struct {
	s        *Server
	customer *Customer
	mcp      *mcp.Server
	parked   parkedCalls
	tasks    tasks
	stats    stats
	calls    sessionCalls
}

func (cs *customerServer) logger() *slog.Logger { return cs.s.log.With("customer", cs.customer.ID) }
