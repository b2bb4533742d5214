//go:build !linux && !386 && !arm

package guest

import (
	"syscall"
	"time"
)

// linger does nothing here.
func (w *wire) linger(time.Duration, func([]byte) bool) bool { return false }

func descriptor(any) (syscall.RawConn, int) { return nil, -1 }

// readNow is never called: there are no descriptors here.
func readNow(uintptr, []byte) (int, error) { return -1, nil }
