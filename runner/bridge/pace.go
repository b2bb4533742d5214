package bridge

import (
	"context"
	"time"
)

// pace slows down the reading of frames that come too fast: a guest that makes calls and cancels them as fast as it can
// would keep a processor of the host busy without ever having too many of them at once.
type pace struct {
	rate int // frames a second; as many may come at once
	next time.Time
}

// wait returns when one more frame may be handled, or ctx's error.
func (p *pace) wait(ctx context.Context) error {
	now := time.Now()
	if full := now.Add(-time.Second); p.next.Before(full) {
		p.next = full
	}
	p.next = p.next.Add(time.Second / time.Duration(p.rate))
	ahead := p.next.Sub(now)
	if ahead <= 0 {
		return nil
	}
	timer := time.NewTimer(ahead)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
