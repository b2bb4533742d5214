// Package clock limits how long something may take.
//
// A [Clock] ends it when the soft limit has passed since the last sign of progress, or the hard limit since the start. While the clock is
// held, neither limit runs. A nil Clock has no limits. A Clock is safe for concurrent use.
package clock

import (
	"sync"
	"time"
)

// Clock is a pair of limits. See the package comment.
type Clock struct {
	soft time.Duration
	end  func(hard bool)

	mu               sync.Mutex
	timer            *time.Timer
	softEnd, hardEnd time.Time
	held             int // how often Hold was called without Release
	since            time.Time
	over             bool
}

// New starts a clock. It calls end at most once, in a goroutine of its own, and reports whether the hard limit has passed.
func New(soft, hard time.Duration, end func(hard bool)) *Clock {
	now := time.Now()
	c := &Clock{soft: soft, end: end, softEnd: now.Add(soft), hardEnd: now.Add(hard)}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer = time.AfterFunc(min(soft, hard), c.fire)
	return c
}

func (c *Clock) fire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over || c.held > 0 {
		return
	}
	now := time.Now()
	if left := c.left(now); left > 0 { // it was renewed in the meantime
		c.timer.Reset(left)
		return
	}
	c.over = true
	go c.end(!now.Before(c.hardEnd))
}

// left returns the time until the earlier of the two limits.
func (c *Clock) left(now time.Time) time.Duration {
	return min(c.softEnd.Sub(now), c.hardEnd.Sub(now))
}

// Renew restarts the soft limit. The timer keeps running, and notices the renewal when it fires.
func (c *Clock) Renew() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.softEnd = time.Now().Add(c.soft)
}

// Hold stops the clock until Release has been called as often as Hold.
func (c *Clock) Hold() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held++; c.held == 1 {
		c.since = time.Now()
		c.timer.Stop()
	}
}

// Release lets the clock continue with the remaining time.
func (c *Clock) Release() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held--; c.held > 0 || c.over {
		return
	}
	now := time.Now()
	paused := now.Sub(c.since)
	c.softEnd, c.hardEnd = c.softEnd.Add(paused), c.hardEnd.Add(paused)
	c.timer.Reset(max(0, c.left(now)))
}

// Stop ends the clock. It no longer calls end, unless that has already begun.
func (c *Clock) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	c.timer.Stop()
}
