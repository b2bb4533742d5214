package docker

import (
	"io"
	"sync"
)

// spool takes a guest's output from the engine and hands it to a writer at the writer's pace. The engine throws away
// what has not been fetched two seconds after a container's end, so it is fetched as soon as it is there. The run's limit of
// output bounds what is kept.
type spool struct {
	mu     sync.Mutex
	change *sync.Cond
	buf    []byte
	closed bool
	done   chan struct{}
}

// newSpool starts handing over to w, which may be nil.
func newSpool(w io.Writer) *spool {
	if w == nil {
		w = io.Discard
	}
	s := &spool{done: make(chan struct{})}
	s.change = sync.NewCond(&s.mu)
	go s.run(w)
	return s
}

// Write never fails: unwanted output is not a reason to stop the guest.
func (s *spool) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buf = append(s.buf, p...)
	s.change.Signal()
	return len(p), nil
}

// close marks the end of the output; wait returns when all of it has been written.
func (s *spool) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.change.Signal()
}

func (s *spool) wait() { <-s.done }

func (s *spool) run(w io.Writer) {
	defer close(s.done)
	for chunk := s.take(nil); chunk != nil; chunk = s.take(chunk) {
		if _, err := w.Write(chunk); err != nil {
			w = io.Discard
		}
	}
}

// take waits for output and returns it in exchange for a buffer; nil when there will be no more.
func (s *spool) take(empty []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.buf) == 0 && !s.closed {
		s.change.Wait()
	}
	if len(s.buf) == 0 {
		return nil
	}
	chunk := s.buf
	s.buf = empty[:0]
	return chunk
}
