package remote

import (
	"io"
	"net"
	"sync"
)

// credit is how much may still be sent on a channel.
type credit struct {
	mu     sync.Mutex
	change *sync.Cond
	left   int
	over   bool
}

func newCredit() *credit {
	c := &credit{left: Window}
	c.change = sync.NewCond(&c.mu)
	return c
}

// take waits until something may be sent and returns how much of n, or zero when nothing may any more.
func (c *credit) take(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.left == 0 && !c.over {
		c.change.Wait()
	}
	if c.over {
		return 0
	}
	n = min(n, c.left, maxFrame)
	c.left -= n
	return n
}

// add is for a grant; more than was taken is a lie.
func (c *credit) add(n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n < 0 || n > Window-c.left {
		return false
	}
	c.left += n
	c.change.Broadcast()
	return true
}

func (c *credit) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	c.change.Broadcast()
}

// inbox holds what has come on a channel until somebody takes it. What is in it, and what was taken and not granted
// yet, is bounded by the channel's window.
type inbox struct {
	mu     sync.Mutex
	change *sync.Cond
	buf    []byte
	room   int // what may still come
	owed   int // taken and not granted yet
	ended  bool
}

func newInbox() *inbox {
	b := &inbox{room: Window}
	b.change = sync.NewCond(&b.mu)
	return b
}

// put adds what has come. It is false for what may not come.
func (b *inbox) put(p []byte) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended || len(p) > b.room {
		return false
	}
	b.room -= len(p)
	b.buf = append(b.buf, p...)
	b.change.Broadcast()
	return true
}

// get waits for something and returns it in exchange for an empty buffer; nil when there will be no more.
func (b *inbox) get(empty []byte) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.buf) == 0 && !b.ended {
		b.change.Wait()
	}
	if len(b.buf) == 0 {
		return nil
	}
	got := b.buf
	b.buf = empty[:0]
	return got
}

// passed notes that n bytes were passed on, and returns what is to be granted now, which is mostly nothing.
func (b *inbox) passed(n int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.owed += n; b.owed < Window/4 {
		return 0
	}
	n = b.owed
	b.owed = 0
	b.room += n
	return n
}

// widen lets n more bytes come than were granted in turn.
func (b *inbox) widen(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.room += n
}

func (b *inbox) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	b.change.Broadcast()
}

// drain hands over what comes on a channel to w until its end. A writer that fails takes no more; what comes is then
// thrown away.
func (h *Host) drain(kind byte, w io.Writer) {
	box := h.in[kind]
	var chunk []byte
	for {
		if chunk = box.get(chunk); chunk == nil {
			return
		}
		if w != nil {
			if _, err := w.Write(chunk); err != nil {
				w = nil
			}
		}
		if n := box.passed(len(chunk)); n > 0 {
			h.grant(kind, n)
		}
	}
}

// feed sends what it reads from r until its end.
func (h *Host) feed(kind byte, r io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		if sendErr := h.pour(kind, buf[:n]); sendErr != nil {
			return
		}
		if err != nil {
			h.send(kind|closed, nil)
			return
		}
	}
}

// pour sends p, as fast as the other side takes it.
func (h *Host) pour(kind byte, p []byte) error {
	for len(p) > 0 {
		n := h.out[kind].take(len(p))
		if n == 0 {
			return io.ErrClosedPipe
		}
		if err := h.send(kind, p[:n]); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// bridge connects the host's end of the bridge with the channel.
func (h *Host) bridge() net.Conn {
	ours, theirs := net.Pipe()
	go h.feed(kindBridge, ours) // ends when theirs is closed
	go func() {
		h.drain(kindBridge, ours)
		ours.Close()
	}()
	return theirs
}
