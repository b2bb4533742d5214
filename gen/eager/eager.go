// Package eager lets who waits for an answer read it itself. A connection has one ordinary reader, a goroutine that the
// runtime wakes when something arrives; for that one to wake another goroutine, which waits for just that, costs as much
// again as all else that is done for a small message. So while the ordinary reader waits between two messages, another
// goroutine may wait in its place, not for long and in the kernel, and take what comes. What it cannot make use of is given
// back to the ordinary reader, in order. Start with [New].
//
// It works on Linux, where there is more than one processor. Elsewhere there is the ordinary reader alone.
package eager

import (
	"io"
	"syscall"
)

// File is what a connection is made of: an [os.File] that is a pipe, or a [net.UnixConn].
type File interface {
	io.ReadWriteCloser
	syscall.Conn
}

// most is how many bytes are taken at once; what is larger is the ordinary reader's.
const most = 32 << 10
