package meter

import (
	"bytes"
	"io"
)

// Heap passes a guest's stderr on and notes when V8 says that it has no memory left. What it may have follows from the
// run's limit, so a script that reaches it ran into that limit, although what ends it is V8's own abort. A script can
// print such words and abort, too: that says of its end only what it wants to be said.
type Heap struct {
	next io.Writer
	tail []byte // of what was passed on: the words may come in parts
	full bool
}

// NewHeap passes on to next.
func NewHeap(next io.Writer) *Heap { return &Heap{next: next} }

var (
	heapFatal = []byte("FATAL ERROR: ")
	heapWords = []byte("JavaScript heap out of memory")
)

// heapLine is how long the line with the words can be; it names one of a few places in V8.
const heapLine = 256

// Write fails as the next writer does.
func (w *Heap) Write(p []byte) (int, error) {
	if !w.full {
		w.tail = append(w.tail, p...)
		if at := bytes.Index(w.tail, heapWords); at >= 0 {
			w.full = bytes.Contains(w.tail[max(0, at-heapLine):at], heapFatal)
		}
		w.tail = append(w.tail[:0], w.tail[max(0, len(w.tail)-heapLine):]...)
	}
	return w.next.Write(p)
}

// Ended tells whether a guest with this exit code was ended by V8 for want of memory. It is to be called when everything
// was written. V8 ends its program by SIGILL, SIGTRAP or SIGABRT.
func (w *Heap) Ended(code int) bool {
	return w.full && (code == 128+4 || code == 128+5 || code == 128+6)
}
