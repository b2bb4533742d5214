package remote

import (
	"io"
	"net"
	"sync"

	"github.com/mcpgen/mcpgen/runner/sandbox/internal/stdio"
)

// credit is the send window of a channel: the number of bytes that may still be sent.
type credit struct {
	mu     sync.Mutex
	change *sync.Cond
	left   int
	closed bool
}

func newCredit() *credit {
	c := &credit{left: Window}
	c.change = sync.NewCond(&c.mu)
	return c
}

// take waits until something may be sent, and returns how many of n bytes. It returns zero after close.
func (c *credit) take(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.left == 0 && !c.closed {
		c.change.Wait()
	}
	if c.closed {
		return 0
	}
	n = min(n, c.left, maxFrame)
	c.left -= n
	return n
}

// add adds a grant. It returns false if the grant exceeds what was taken.
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
	c.closed = true
	c.change.Broadcast()
}

// inbox holds the bytes received on a channel. Its content, together with the bytes passed on but not yet granted, is bounded by the
// channel's window.
type inbox struct {
	*stdio.Buffer
	mu     sync.Mutex
	window int // bytes that may still be received
	owed   int // bytes passed on but not yet granted
}

func newInbox() *inbox { return &inbox{Buffer: stdio.NewBuffer(), window: Window} }

// put adds received bytes. It returns false if they exceed the window or come after the end.
func (b *inbox) put(p []byte) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(p) > b.window {
		return false
	}
	b.window -= len(p)
	_, err := b.Write(p)
	return err == nil
}

// passed records that n bytes were passed on, and returns how many to grant now, which is usually zero.
func (b *inbox) passed(n int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.owed += n; b.owed < Window/4 {
		return 0
	}
	n = b.owed
	b.owed = 0
	b.window += n
	return n
}

// widen adds n bytes to the window.
func (b *inbox) widen(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.window += n
}

// drain copies a channel to w until its end.
func (h *Host) drain(kind byte, w io.Writer) {
	box := h.in[kind]
	box.CopyTo(w, func(n int) {
		if n := box.passed(n); n > 0 {
			h.grant(kind, n)
		}
	})
}

// feed copies r to a channel until its end.
func (h *Host) feed(kind byte, r io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		if sendErr := h.sendAll(kind, buf[:n]); sendErr != nil {
			return
		}
		if err != nil {
			h.send(kind|closed, nil)
			return
		}
	}
}

// sendAll sends p as the channel's window allows.
func (h *Host) sendAll(kind byte, p []byte) error {
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

// bridge connects the host's end of the bridge to the channel.
func (h *Host) bridge() net.Conn {
	ours, theirs := net.Pipe()
	go h.feed(kindBridge, ours) // ends when the other end is closed
	go func() {
		h.drain(kindBridge, ours)
		ours.Close()
	}()
	return theirs
}
