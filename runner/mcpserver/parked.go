package mcpserver

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/mcpserver/internal/progress"
)

// maxParked bounds the calls of one customer that wait for an answer.
const maxParked = 32

// longCall is a call that may outlive a request. It belongs to the requests that successively ask for its result. If a client cancels its
// request, or does not return with an answer, the call is cancelled.
type longCall struct {
	tool      string
	began     time.Time
	ctx       context.Context
	progress  *progress.Progress
	cancel    context.CancelCauseFunc
	questions chan *pendingQuestion
	done      chan struct{} // closed when result and err are set
	result    *mcp.CallToolResult
	err       error

	// With an engine.
	input   *workInput
	turn    chan func()   // gets what frees the place, if the call waits for its turn in the queue; nil: it runs
	adopted chan struct{} // closed when the call is work
	decided atomic.Bool   // it is, or will be, work, or it has ended before
	detach  func() bool   // makes it outlive the closing of the server
}

// pendingQuestion is a question on its way to the client.
type pendingQuestion struct {
	question *hiddenQuestion
	asked    int                  // how often the client was asked
	answer   chan *upstream.Reply // of capacity 1
}

// parkedCalls are the calls that wait for their client to return, keyed by an unguessable requestState.
type parkedCalls struct {
	mu      sync.Mutex
	byState map[string]*parkedCall
}

// take removes and returns a parked call, or nil if there is none.
func (p *parkedCalls) take(state string) *parkedCall {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.byState[state]
	delete(p.byState, state)
	return c
}

type parkedCall struct {
	*longCall
	pending *pendingQuestion
	timeout *time.Timer
}
