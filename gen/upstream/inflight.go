package upstream

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpgen/mcpgen/gen/ident"
)

const (
	// maxProgressText bounds the message of a progress notification, in bytes.
	maxProgressText = 1 << 10
	// maxProgressWaiting is the maximum number of a request's notifications that wait to be passed on. One is passed on each
	// progressPause.
	maxProgressWaiting = 64
	progressPause      = 20 * time.Millisecond
)

// inflight holds the requests in flight of a session, so that notifications and questions of the server reach the
// request that they are about.
type inflight struct {
	server string
	log    *slog.Logger
	elicit bool // questions are asked at all

	// asksAside is set when the server has asked a question that did not come with the answer to a request, and this
	// client asks questions at all.
	asksAside atomic.Bool

	mu        sync.Mutex
	lastToken int64
	requests  map[int64]*activeRequest // by progress token
}

// activeRequest is one request in flight.
type activeRequest struct {
	ctx      context.Context
	opt      CallOptions
	token    int64
	progress chan Progress // nil if nobody listens
	ended    chan struct{} // closed with progress
	told     chan struct{} // closed when the listener will not be called any more
	// knownAside says that asksAside was set when the request began.
	knownAside bool

	asked     atomic.Int64 // questions
	declining sync.Mutex   // Declined is called by one goroutine at a time
}

func newInflight(server string, elicit bool, log *slog.Logger) *inflight {
	return &inflight{server: server, elicit: elicit, log: log, requests: make(map[int64]*activeRequest)}
}

// begin adds a request. The caller must end it. ctx is the request's own.
func (in *inflight) begin(ctx context.Context, opt *CallOptions) *activeRequest {
	r := &activeRequest{ctx: ctx, knownAside: in.asksAside.Load()}
	if opt != nil {
		r.opt = *opt
	}
	if !in.elicit {
		r.opt.Elicit = nil
	}
	if r.opt.Progress != nil {
		r.progress, r.ended, r.told = make(chan Progress, maxProgressWaiting), make(chan struct{}), make(chan struct{})
		go r.passOn()
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.lastToken++
	r.token = in.lastToken
	in.requests[r.token] = r
	return r
}

// end removes the request, after it has passed on the progress that came by then.
func (in *inflight) end(r *activeRequest) {
	in.mu.Lock()
	delete(in.requests, r.token) // so that nothing is sent to progress any more
	in.mu.Unlock()
	if r.progress != nil {
		close(r.ended)
		close(r.progress)
		<-r.told
	}
}

// noteProgress passes a progress notification on to the request that it names. Some servers quote the token.
func (in *inflight) noteProgress(params json.RawMessage) {
	var note struct {
		Token    json.Number `json:"progressToken"`
		Progress float64     `json:"progress"`
		Total    float64     `json:"total"`
		Message  string      `json:"message"`
	}
	if json.Unmarshal(params, &note) != nil {
		return
	}
	if token, err := note.Token.Int64(); err == nil {
		in.tell(token, Progress{Progress: note.Progress, Total: note.Total, Message: ident.Printable(note.Message, maxProgressText)})
	}
}

// tell queues progress for a request. It never waits: further notifications replace the oldest.
func (in *inflight) tell(token int64, note Progress) {
	in.mu.Lock()
	defer in.mu.Unlock()
	r := in.requests[token]
	if r == nil || r.progress == nil {
		return
	}
	for {
		select {
		case r.progress <- note:
			return
		default:
		}
		select {
		case <-r.progress:
		default:
		}
	}
}

// passOn calls the listener of a request until the request has ended. There are pauses until then.
func (r *activeRequest) passOn() {
	defer close(r.told)
	for note := range r.progress {
		r.opt.Progress(note)
		select {
		case <-time.After(progressPause):
		case <-r.ended:
		}
	}
}
