// Package eventstream keeps HTTP answers alive while a call is quiet. Proxies and clients close a response that sends no
// bytes, commonly after 60 s; a stream of server-sent events may carry comments, which clients ignore.
//
// [Streams.Serve] wraps the response of one request. From the moment it is an event stream, because go-sdk began one or
// because [Streams.Open] was called, a comment goes out whenever nothing was written for the interval given, and only
// between events. A response that is not an event stream is passed through unchanged.
package eventstream

import (
	"bytes"
	"crypto/rand"
	"net/http"
	"sync"
	"time"
)

// header names the stream that answers a request. Serve sets it, replacing any value that the client sent.
const header = "Mcprun-Stream"

// comment is an event that clients ignore.
var comment = []byte(": keep-alive\n\n")

// Streams are the responses in progress. The zero value is ready to use, and is safe for concurrent use.
type Streams struct{ byName sync.Map }

// Serve lets next answer the request. Once the answer is an event stream, a comment follows each interval of silence.
func (s *Streams) Serve(w http.ResponseWriter, r *http.Request, interval time.Duration, next http.Handler) {
	stream, name := newStream(w, interval), rand.Text()
	defer stream.close()
	s.byName.Store(name, stream)
	defer s.byName.Delete(name)
	r.Header.Set(header, name)
	next.ServeHTTP(stream, r)
}

// Open starts the event stream that answers the request with these headers, unless the answer has begun. It is called once a call was
// accepted and its answer can no longer be an HTTP error. The client gets headers and a first comment at once, because clients wait no
// longer for headers than for an answer, and proxies pass headers on with the first byte of the body.
func (s *Streams) Open(request http.Header) {
	if found, ok := s.byName.Load(request.Get(header)); ok {
		found.(*stream).open()
	}
}

// stream is one response.
type stream struct {
	w        http.ResponseWriter
	interval time.Duration

	mu      sync.Mutex
	header  http.Header // set by the handler; open sends its own headers
	begun   bool        // the headers are sent
	between bool        // the last write completed an event
	last    time.Time   // time of the last write
	closed  bool
	timer   *time.Timer // nil unless this is an event stream
}

func newStream(w http.ResponseWriter, interval time.Duration) *stream {
	return &stream{w: w, interval: interval, header: w.Header().Clone(), between: true}
}

// Header returns the headers that go out with the first byte. It is a copy of the response's, because open may run in
// another goroutine while the handler changes them.
func (s *stream) Header() http.Header { return s.header }

// WriteHeader sends status and headers, unless open has sent them.
func (s *stream) WriteHeader(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin(status, s.header)
}

// Write writes a part of the body. go-sdk writes each event with one call.
func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin(http.StatusOK, s.header)
	s.between, s.last = bytes.HasSuffix(p, []byte("\n\n")), time.Now()
	return s.w.Write(p)
}

// FlushError sends what was written.
func (s *stream) FlushError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return http.NewResponseController(s.w).Flush()
}

func (s *stream) open() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.begun {
		return
	}
	s.begin(http.StatusOK, http.Header{"Content-Type": {"text/event-stream"}, "Cache-Control": {"no-cache, no-transform"}, "Connection": {"keep-alive"}})
	s.comment()
}

// begin sends status and headers, unless they were sent. The caller holds mu.
func (s *stream) begin(status int, header http.Header) {
	if s.begun {
		return
	}
	s.begun = true
	sent := s.w.Header()
	for name, values := range header {
		sent[name] = values
	}
	s.w.WriteHeader(status)
	if status == http.StatusOK && sent.Get("Content-Type") == "text/event-stream" {
		s.last = time.Now()
		s.timer = time.AfterFunc(s.interval, s.tick)
	}
}

// tick writes a comment if nothing was written for an interval.
func (s *stream) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	left := time.Until(s.last.Add(s.interval))
	if left <= 0 {
		s.comment()
		left = s.interval
	}
	s.timer.Reset(left)
}

// comment writes a comment unless an event is incomplete. The caller holds mu. Errors are ignored: the server notices
// elsewhere that a client is gone.
func (s *stream) comment() {
	if !s.between {
		return
	}
	s.last = time.Now()
	if _, err := s.w.Write(comment); err == nil {
		_ = http.NewResponseController(s.w).Flush()
	}
}

// close ends the comments: nothing may be written after the handler has returned.
func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.timer != nil {
		s.timer.Stop()
	}
}
