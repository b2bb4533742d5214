package docker

import (
	"bytes"
	"io"
)

// heapWatch passes a guest's stderr on and notes when V8 says that it has no memory left. Its heap has a limit that
// is made from the run's, so a script that reaches it ran into the run's limit, although what ends it is V8's own abort.
type heapWatch struct {
	next io.Writer
	tail []byte // of what was passed on: the words may come in parts
	full bool
}

var (
	heapFatal = []byte("FATAL ERROR: ")
	heapWords = []byte("JavaScript heap out of memory")
)

// heapLine is how long the line with the words can be; it names one of a few places in V8.
const heapLine = 256

func (w *heapWatch) Write(p []byte) (int, error) {
	if !w.full {
		w.tail = append(w.tail, p...)
		if at := bytes.Index(w.tail, heapWords); at >= 0 {
			w.full = bytes.Contains(w.tail[max(0, at-heapLine):at], heapFatal)
		}
		w.tail = append(w.tail[:0], w.tail[max(0, len(w.tail)-heapLine):]...)
	}
	return w.next.Write(p)
}

// aborted tells whether an exit code is that of a program that ended itself as V8 does: by SIGILL, SIGTRAP or SIGABRT.
func aborted(code int) bool { return code == 128+4 || code == 128+5 || code == 128+6 }
