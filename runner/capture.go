package runner

import (
	"io"
	"sync"
)

// captureLimit bounds how much of each output stream a Result holds, in bytes.
const captureLimit = 8 << 20

// capture keeps the first captureLimit bytes written to it and counts the rest. It never fails, so a chatty script
// is not blocked.
type capture struct {
	mu   sync.Mutex
	data []byte
	cut  int64
}

func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	room := captureLimit - len(c.data)
	if room >= len(p) {
		c.data = append(c.data, p...)
		return len(p), nil
	}
	c.data = append(c.data, p[:room]...)
	c.cut += int64(len(p) - room)
	return len(p), nil
}

// tee sends output to a person and to the capture; either may be nil.
func tee(w io.Writer, c *capture) io.Writer {
	switch {
	case c == nil && w == nil:
		return io.Discard
	case c == nil:
		return w
	case w == nil:
		return c
	}
	return io.MultiWriter(w, c)
}
