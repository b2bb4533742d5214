package bridge

import (
	"context"
	"time"
)

// pace limits the rate at which frames are read. Otherwise a guest that makes and cancels calls as fast as it can would keep a processor of
// the host busy without ever having too many calls in flight.
type pace struct {
	rate int // frames per second, and the size of a burst
	next time.Time
}

// wait counts one frame. It returns when the frame may be handled, or ctx's error.
func (p *pace) wait(ctx context.Context) error {
	now := time.Now()
	if full := now.Add(-time.Second); p.next.Before(full) {
		p.next = full
	}
	p.next = p.next.Add(time.Second / time.Duration(p.rate))
	early := p.next.Sub(now)
	if early <= 0 {
		return nil
	}
	timer := time.NewTimer(early)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
