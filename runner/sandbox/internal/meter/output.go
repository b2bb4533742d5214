// Package meter measures what no kernel counts for a guest, in the same way for every sandbox: the bytes it prints ([Output]) and the space
// its workspace takes on disk ([WatchDisk]). Both call a function once when a limit is exceeded; the guest's owner then kills the guest and
// reports why. [Heap] recognises that node has run out of memory.
package meter

import (
	"io"
	"sync"
)

// Output counts the bytes written to all of its writers together.
type Output struct {
	mu   sync.Mutex
	left int64
	late int64 // allowance of each writer
	hit  bool
	by   *counted // the writer that exceeded the limit
	over func()
}

// lateBytes is how much a writer still passes on after another has exceeded the limit. Streams are read concurrently, so output printed to
// one stream before the other was flooded, at most the content of a pipe, may arrive later.
const lateBytes = 64 << 10

// NewOutput allows limit bytes. The write that exceeds the limit is cut there, and calls over, which must not wait for the
// guest. Later writes are dropped, except for the first 64 KiB of each other writer, but never more than limit.
func NewOutput(limit int64, over func()) *Output {
	return &Output{left: limit, late: min(lateBytes, limit), over: over}
}

// Writer returns a writer that counts what it is given and passes it to w. A nil w discards. Its Write never fails, so that
// a reader that has gone away does not end a guest.
func (o *Output) Writer(w io.Writer) io.Writer { return &counted{output: o, next: w, late: o.late} }

// Hit reports whether the limit was exceeded.
func (o *Output) Hit() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.hit
}

// take returns how many of n bytes of a writer may pass.
func (o *Output) take(c *counted, n int) int {
	o.mu.Lock()
	pass := min(int64(n), o.left)
	o.left -= pass
	if o.hit && o.by != c {
		more := min(int64(n)-pass, c.late)
		c.late -= more
		pass += more
	}
	first := pass < int64(n) && !o.hit
	if first {
		o.hit, o.by = true, c
	}
	o.mu.Unlock()
	if first {
		o.over()
	}
	return int(pass)
}

type counted struct {
	output *Output
	next   io.Writer
	late   int64 // bytes that still pass once another writer has exceeded the limit
}

func (c *counted) Write(p []byte) (int, error) {
	n := c.output.take(c, len(p))
	if n > 0 && c.next != nil {
		if _, err := c.next.Write(p[:n]); err != nil {
			c.next = nil
		}
	}
	return len(p), nil
}
