package main

import (
	"io"
	"os"
	"sync"
)

// streams carry a script's output to the person and know whether its last line was ended: what a limit cuts off, or a
// script never finished, must not run into what mcprun says next.
type streams struct {
	stderr io.Writer
	shared bool // both streams end up in one place

	mu   sync.Mutex
	open bool // the last byte that stderr, or what it shares, has seen is no newline
}

func newStreams(stdout, stderr io.Writer) (s *streams, out, err io.Writer) {
	s = &streams{stderr: stderr, shared: sameFile(stdout, stderr)}
	return s, stream{s, stdout, s.shared}, stream{s, stderr, true}
}

// endLine ends a line that was left open. Nothing may be written any more.
func (s *streams) endLine() {
	if s.open {
		_, _ = io.WriteString(s.stderr, "\n")
		s.open = false
	}
}

// stream is one of the two.
type stream struct {
	s       *streams
	w       io.Writer
	watched bool
}

func (t stream) Write(p []byte) (int, error) {
	n, err := t.w.Write(p)
	if t.watched && n > 0 {
		t.s.mu.Lock()
		t.s.open = p[n-1] != '\n'
		t.s.mu.Unlock()
	}
	return n, err
}

// sameFile tells whether two writers are one terminal, pipe or file.
func sameFile(a, b io.Writer) bool {
	x, ok := a.(*os.File)
	if !ok {
		return a == b
	}
	y, ok := b.(*os.File)
	if !ok {
		return false
	}
	xs, err := x.Stat()
	if err != nil {
		return false
	}
	ys, err := y.Stat()
	return err == nil && os.SameFile(xs, ys)
}
