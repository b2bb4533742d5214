package upstreamtest

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
)

// stream is a stream of events to a client.
type stream struct {
	mu      sync.Mutex
	w       http.ResponseWriter // nil once it has ended
	dropped chan struct{}
	session string // the id of its session
}

func (s *stream) send(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.w == nil {
		return
	}
	s.w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(s.w, "event: message\ndata: "+text+"\n\n")
	s.w.(http.Flusher).Flush()
}

// listen serves a stream for what belongs to no request.
func (h *HTTP) listen(w http.ResponseWriter, r *http.Request) {
	s := &stream{w: w, dropped: make(chan struct{}), session: r.Header.Get("Mcp-Session-Id")}
	// A client that has the head of the answer may count on the stream.
	s.mu.Lock()
	h.mu.Lock()
	h.streams[s] = true
	h.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, "retry: 10\n\n")
	w.(http.Flusher).Flush()
	s.mu.Unlock()
	select {
	case <-r.Context().Done():
	case <-h.closing:
	case <-s.dropped:
	}
	h.mu.Lock()
	delete(h.streams, s)
	h.mu.Unlock()
	s.end()
}

// end prevents further writes, which are not allowed once the handler has returned.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.w = nil
}

// Streams returns how many clients have such a stream open.
func (h *HTTP) Streams() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.streams)
}

// Drop ends those streams, like a proxy with a time limit.
func (h *HTTP) Drop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.streams {
		close(s.dropped)
		delete(h.streams, s)
	}
}

// notify sends a notification with an answer or, if there is none, on the open streams.
func (h *HTTP) notify(out *stream, method, params string) {
	text := `{"jsonrpc":"2.0","method":"` + method + `","params":` + params + `}`
	if h.opts.EventStream && method != "notifications/tools/list_changed" {
		out.send(text)
		return
	}
	h.broadcast(out.session, text)
}

// broadcast sends a message on the open streams of a session.
func (h *HTTP) broadcast(session, text string) {
	h.mu.Lock()
	open := slices.Collect(maps.Keys(h.streams))
	h.mu.Unlock()
	for _, s := range open {
		if s.session == session {
			s.send(text)
		}
	}
}

// ask asks the client, and waits for its answer or until the client is gone.
func (h *HTTP) ask(out *stream, gone <-chan struct{}, method, params string) message {
	answer := make(chan message, 1)
	id := fmt.Sprintf(`"q%d"`, h.asked.Add(1))
	h.waiters.Store(id, answer)
	text := `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + `}`
	switch {
	case h.opts.Standalone:
		h.broadcast(out.session, text)
	case h.opts.EventStream:
		out.send(text)
	default:
		return message{}
	}
	select {
	case m := <-answer:
		return m
	case <-gone:
		return message{}
	}
}

// Hanging returns how often [ToolHang] was called, Cancelled how many requests the client has cancelled.
func (h *HTTP) Hanging() int { return int(h.fake.hangs.Load()) }

// Cancelled is described at Hanging.
func (h *HTTP) Cancelled() int {
	h.fake.mu.Lock()
	defer h.fake.mu.Unlock()
	return h.fake.cancelled
}
