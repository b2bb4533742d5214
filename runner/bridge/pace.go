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

// count counts a frame that was handled now and returns how much too early that was; zero or less when it was not.
func (p *pace) count() (ahead time.Duration) {
	now := time.Now()
	if full := now.Add(-time.Second); p.next.Before(full) {
		p.next = full
	}
	p.next = p.next.Add(time.Second / time.Duration(p.rate))
	return p.next.Sub(now)
}

// late tells whether the next frame would have to wait.
func (p *pace) late() bool { return time.Until(p.next) > -time.Second/time.Duration(p.rate) }

// wait returns when one more frame may be handled, or ctx's error.
func (p *pace) wait(ctx context.Context) error {
	ahead := p.count()
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
