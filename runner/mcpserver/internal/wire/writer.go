package wire

import (
	"errors"
	"io"
	"sync"
)

// Writer writes each message whole, one after another, and waits for the client to read them until GiveUp is called. A write to a pipe that
// nobody reads cannot be cancelled, so it is abandoned.
type Writer struct {
	io.WriteCloser
	turn   chan struct{} // holds a value while a message is being written
	given  chan struct{} // closed by GiveUp
	giveUp sync.Once
}

// NewWriter returns a Writer to out.
func NewWriter(out io.WriteCloser) *Writer {
	return &Writer{WriteCloser: out, turn: make(chan struct{}, 1), given: make(chan struct{})}
}

var errUnread = errors.New("the client does not read what it is sent")

// Write writes p. The caller must not change p afterwards.
func (w *Writer) Write(p []byte) (int, error) {
	select {
	case w.turn <- struct{}{}:
	case <-w.given:
		return 0, errUnread
	}
	type result struct {
		n   int
		err error
	}
	done := make(chan result, 1)
	go func() {
		n, err := w.WriteCloser.Write(p)
		done <- result{n, err}
		<-w.turn
	}()
	select {
	case r := <-done:
		return r.n, r.err
	case <-w.given:
		return 0, errUnread
	}
}

// GiveUp ends every wait for the client; later writes fail at once.
func (w *Writer) GiveUp() { w.giveUp.Do(func() { close(w.given) }) }
