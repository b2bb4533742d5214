//go:build !linux && !386 && !arm

package guest

import "time"

// linger does nothing here.
func (w *wire) linger(time.Duration) {}

func descriptor(any) int { return -1 }
