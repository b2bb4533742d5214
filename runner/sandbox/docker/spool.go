package docker

import (
	"io"
	"sync"
)

// spoolSize is how much output is kept for a writer that is slower than its guest.
const spoolSize = 8 << 20

// spool takes a guest's output from the engine and hands it to a writer at the writer's pace. The engine throws away
// what has not been fetched two seconds after a container's end, so it is fetched as soon as it is there; a guest that
// is spoolSize ahead of the writer waits.
type spool struct {
	mu     sync.Mutex
	change *sync.Cond
	buf    []byte
	closed bool
	free   bool // no bound any more
	broken bool // the writer takes no more: output is thrown away
	done   chan struct{}
}

// newSpool starts handing over to w, which may be nil.
func newSpool(w io.Writer) *spool {
	s := &spool{done: make(chan struct{}), broken: w == nil}
	s.change = sync.NewCond(&s.mu)
	go s.run(w)
	return s
}

// Write never fails: output that nobody wants is no reason to stop the guest.
func (s *spool) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.buf) >= spoolSize && !s.broken && !s.free {
		s.change.Wait()
	}
	if !s.broken {
		s.buf = append(s.buf, p...)
		s.change.Broadcast()
	}
	return len(p), nil
}

// unbound lifts the bound: the guest has ended, and what the engine still holds is little and lost when not fetched.
func (s *spool) unbound() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = true
	s.change.Broadcast()
}

// close says that there will be no more; wait returns when all of it was handed over.
func (s *spool) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.change.Broadcast()
}

func (s *spool) wait() { <-s.done }

func (s *spool) run(w io.Writer) {
	defer close(s.done)
	var chunk []byte
	for {
		s.mu.Lock()
		for len(s.buf) == 0 && !s.closed {
			s.change.Wait()
		}
		if len(s.buf) == 0 {
			s.mu.Unlock()
			return
		}
		chunk, s.buf = s.buf, chunk[:0]
		s.change.Broadcast()
		s.mu.Unlock()
		if _, err := w.Write(chunk); err != nil {
			s.mu.Lock()
			s.broken, s.buf = true, nil
			s.change.Broadcast()
			s.mu.Unlock()
		}
	}
}
