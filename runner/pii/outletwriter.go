package pii

import (
	"bytes"
	"io"
	"sync"
)

// Writer returns a writer that masks a stream of text and passes it on to w, line by line.
func (o *Outlet) Writer(w io.Writer) *OutletWriter { return &OutletWriter{o: o, w: w} }

// maxHeld bounds what an OutletWriter holds back, in bytes.
const maxHeld = 1 << 20

// OutletWriter masks a stream. It holds back the end of a line, so that a value in two chunks is found. It is safe for concurrent use.
type OutletWriter struct {
	o  *Outlet
	w  io.Writer
	mu sync.Mutex
	in []byte // not yet written
}

// Write masks p and passes on what is complete.
func (w *OutletWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.in = append(w.in, p...)
	end := bytes.LastIndexAny(w.in, "\r\n") + 1
	if len(w.in)-end > maxHeld {
		end = len(w.in)
	}
	if err := w.pass(end); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush passes on what is held back.
func (w *OutletWriter) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pass(len(w.in))
}

// Close is Flush. It does not close the writer below.
func (w *OutletWriter) Close() error { return w.Flush() }

// pass writes the first bytes that are held back.
func (w *OutletWriter) pass(end int) error {
	if end == 0 {
		return nil
	}
	text := string(w.in[:end])
	w.in = append(w.in[:0], w.in[end:]...)
	_, err := io.WriteString(w.w, w.o.Mask(text))
	return err
}
