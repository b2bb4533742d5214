package stdio

import (
	"io"
	"sync"
)

// Buffer passes bytes on at the reader's pace, and never makes the writer wait. Its owner bounds what is written.
type Buffer struct {
	mu     sync.Mutex
	change *sync.Cond
	data   []byte
	ended  bool
}

// NewBuffer returns an empty Buffer.
func NewBuffer() *Buffer {
	b := &Buffer{}
	b.change = sync.NewCond(&b.mu)
	return b
}

// Write adds p. It fails only after End.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return 0, io.ErrClosedPipe
	}
	b.data = append(b.data, p...)
	b.change.Signal()
	return len(p), nil
}

// End marks the end of the input.
func (b *Buffer) End() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	b.change.Signal()
}

// CopyTo copies everything to w until the end, and calls passed, if not nil, with the size of each piece. If w is nil or has failed, the
// bytes are discarded. Call it once.
func (b *Buffer) CopyTo(w io.Writer, passed func(n int)) {
	if w == nil {
		w = io.Discard
	}
	for chunk := b.take(nil); chunk != nil; chunk = b.take(chunk) {
		if _, err := w.Write(chunk); err != nil {
			w = io.Discard
		}
		if passed != nil {
			passed(len(chunk))
		}
	}
}

// take waits for data and returns it in exchange for an empty buffer. It returns nil at the end.
func (b *Buffer) take(empty []byte) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.data) == 0 && !b.ended {
		b.change.Wait()
	}
	if len(b.data) == 0 {
		return nil
	}
	data := b.data
	b.data = empty[:0]
	return data
}
