// Package meter measures what a guest uses where no kernel counts it, the same for every sandbox: the bytes it prints
// ([Output]) and what its workspace takes on disk ([WatchDisk]). Both call back once when a limit is passed; whoever owns
// the guest then kills it and says why.
package meter

import (
	"io"
	"sync"
)

// Output counts what goes through its writers together.
type Output struct {
	mu   sync.Mutex
	left int64
	late int64 // of each writer
	hit  bool
	by   *counted // whose write passed the limit
	over func()
}

// lateBytes is what a writer may still be given when another has passed the limit. Streams are read side by side, and what
// was printed to one before the other was flooded, its pipe at most, may come later.
const lateBytes = 64 << 10

// NewOutput allows limit bytes. over is called once, by the write that passes the limit, which is cut there; it must
// not wait for the guest. What is written later is dropped, but for the first 64 KiB of each other writer, and no more than limit.
func NewOutput(limit int64, over func()) *Output {
	return &Output{left: limit, late: min(lateBytes, limit), over: over}
}

// Writer returns a writer that passes on to w, and counts what it is given. A nil w discards. Its Write never fails, so
// that a reader that is gone does not end a guest.
func (o *Output) Writer(w io.Writer) io.Writer { return &counted{output: o, next: w, late: o.late} }

// Hit tells whether the limit was passed.
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
	late   int64 // may still pass when another has passed the limit
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
