package meter

import (
	"bytes"
	"io"
	"strconv"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// HeapFlag returns node's flag that sets the size of its heap according to the memory limit.
func HeapFlag(limits sandbox.Limits) string {
	return "--max-old-space-size=" + strconv.FormatInt(max(limits.WithDefaults().Memory/4*3>>20, 16), 10)
}

// largeHeap is the memory limit, in bytes, up to which V8's own heap size is large enough: V8 chooses 2 to 4 GB if the machine has that
// much.
const largeHeap = 1 << 30

// LargeHeap returns the memory limit, in bytes, for which a guest must be started with HeapFlag, or zero if it needs no flag.
func LargeHeap(runtime sandbox.Runtime, limits sandbox.Limits) int64 {
	if memory := limits.WithDefaults().Memory; runtime == sandbox.Node && memory > largeHeap {
		return memory
	}
	return 0
}

// Heap copies a guest's stderr and detects V8's message that it is out of memory. V8's heap size follows from the run's
// memory limit (see HeapFlag and LargeHeap), so such a script has reached that limit, although V8's own abort ends it. A
// script can print the message and abort, too; that changes nothing but the reason given for its end.
type Heap struct {
	next io.Writer
	tail []byte // the end of what was written, because the message may come in parts
	full bool
}

// NewHeap returns a Heap that copies to next.
func NewHeap(next io.Writer) *Heap { return &Heap{next: next} }

var heapFatal = []byte("FATAL ERROR: ")

// heapWords are V8's messages about the heap and about its own working memory. There are more of the latter kind, but V8 prints those also
// when a stack is full.
var heapWords = [][]byte{[]byte("JavaScript heap out of memory"), []byte("Zone Allocation failed - process out of memory")}

// markWords is the message of V8's collector about memory for its own lists of objects.
var markWords = []byte("Fatal process out of memory: Worklist::Segment::Create")

// heapLine is the maximum length of the line before the words, which names a place in V8. heapKept is how many bytes are kept to find words
// that come in parts.
const (
	heapLine = 256
	heapKept = heapLine + 64
)

// Write returns the next writer's errors.
func (w *Heap) Write(p []byte) (int, error) {
	if !w.full {
		w.tail = append(w.tail, p...)
		w.full = outOfMemory(w.tail)
		w.tail = append(w.tail[:0], w.tail[max(0, len(w.tail)-heapKept):]...)
	}
	return w.next.Write(p)
}

// outOfMemory reports whether text has V8's message. A script may have printed parts of it before.
func outOfMemory(text []byte) bool {
	if bytes.Contains(text, markWords) {
		return true
	}
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

// Ended reports whether V8 ended the guest with this exit code because it was out of memory. Call it when all output has been written. V8
// ends its process with SIGILL, SIGTRAP or SIGABRT.
func (w *Heap) Ended(code int) bool {
	return w.full && (code == 128+4 || code == 128+5 || code == 128+6)
}
