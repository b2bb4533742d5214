package meter

import (
	"bytes"
	"io"
	"strconv"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// HeapFlag is what node is started with for its heap to follow from the memory limit.
func HeapFlag(limits sandbox.Limits) string {
	return "--max-old-space-size=" + strconv.FormatInt(max(limits.WithDefaults().Memory/4*3>>20, 16), 10)
}

// largeHeap is the memory limit, in bytes, up to which V8 left alone is not the first to give up: it sizes its heap by the
// machine, at 2 to 4 GB where that has as much.
const largeHeap = 1 << 30

// LargeHeap is the memory limit that a guest must know when it starts, as HeapFlag; zero where it need not.
func LargeHeap(runtime sandbox.Runtime, limits sandbox.Limits) int64 {
	if memory := limits.WithDefaults().Memory; runtime == sandbox.Node && memory > largeHeap {
		return memory
	}
	return 0
}

// Heap passes a guest's stderr on and notes when V8 says that it has no memory left. What it may have follows from the
// run's limit (see HeapFlag and LargeHeap), so a script that reaches it ran into that limit, although what ends it is V8's own abort. A
// script can print such words and abort, too: that says of its end only what it wants to be said.
type Heap struct {
	next io.Writer
	tail []byte // of what was passed on: the words may come in parts
	full bool
}

// NewHeap passes on to next.
func NewHeap(next io.Writer) *Heap { return &Heap{next: next} }

var heapFatal = []byte("FATAL ERROR: ")

// heapWords are those for the heap, and for memory that V8 itself works with. It has more of the latter kind, but says
// them also of a stack that is full.
var heapWords = [][]byte{[]byte("JavaScript heap out of memory"), []byte("Zone Allocation failed - process out of memory")}

// heapLine is how long the line before the words can be; it names one of a few places in V8. heapKept is how much is kept
// for words that have come in part.
const (
	heapLine = 256
	heapKept = heapLine + 64
)

// Write fails as the next writer does.
func (w *Heap) Write(p []byte) (int, error) {
	if !w.full {
		w.tail = append(w.tail, p...)
		w.full = saysFull(w.tail)
		w.tail = append(w.tail[:0], w.tail[max(0, len(w.tail)-heapKept):]...)
	}
	return w.next.Write(p)
}

// saysFull tells whether V8's words are in text. A script may print some of them before.
func saysFull(text []byte) bool {
	for _, words := range heapWords {
		for end := 0; ; {
			at := bytes.Index(text[end:], words)
			if at < 0 {
				break
			}
			at, end = end+at, end+at+len(words)
			if bytes.Contains(text[max(0, at-heapLine):at], heapFatal) {
				return true
			}
		}
	}
	return false
}

// Ended tells whether a guest with this exit code was ended by V8 for want of memory. It is to be called when everything
// was written. V8 ends its program by SIGILL, SIGTRAP or SIGABRT.
func (w *Heap) Ended(code int) bool {
	return w.full && (code == 128+4 || code == 128+5 || code == 128+6)
}
