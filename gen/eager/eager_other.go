//go:build !linux

package eager

import "time"

// Conn is a connection. One goroutine is its ordinary reader and calls Read and Boundary; any may call Take, Write and
// Close.
type Conn struct{ File }

// New takes over a pipe or a socket that nobody else reads from or writes to. The caller must Close the Conn.
func New(from File) (*Conn, error) { return &Conn{from}, nil }

// Boundary says that the next byte which Read returns begins a message, and that the caller has done with those before.
func (c *Conn) Boundary() {}

// Take does nothing here.
func (c *Conn) Take(time.Duration, func() bool, func(arrived []byte) bool) bool { return false }
