// Package circuit decides when a server that fails is started again: after a pause that grows and, when it has failed
// repeatedly, not at all for a while.
package circuit

import (
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/sony/gobreaker/v2"
)

const (
	// MaxFailures within failureWindow, if they are at least half of all outcomes, open the circuit: nothing is tried
	// for OpenTime, nor for another OpenTime if the next try fails as well. It is shorter than the default time limit of a
	// run, so that a run can still use a server that has recovered.
	MaxFailures   = 5
	failureWindow = time.Minute
	OpenTime      = 15 * time.Second
	// firstDelay is the mean pause before the second start in a row that follows a failure; it doubles up to maxDelay.
	firstDelay = 100 * time.Millisecond
	maxDelay   = 5 * time.Second
	// FailurePause is the shortest time between two failed requests that count: one cause may end many.
	FailurePause = 500 * time.Millisecond
)

// Circuit records the recent failures of a server. It may not be used from several goroutines at once.
type Circuit struct {
	breaker *gobreaker.TwoStepCircuitBreaker[any]
	delays  *backoff.ExponentialBackOff
	failing int           // failures in a row
	delay   time.Duration // of the next start
	retryAt time.Time     // when an open circuit is tried again
	failed  time.Time     // when it failed last
	last    string        // the reason of that
}

// New returns a closed circuit.
func New() *Circuit {
	c := &Circuit{delays: backoff.NewExponentialBackOff()}
	c.delays.InitialInterval, c.delays.MaxInterval, c.delays.Multiplier = firstDelay, maxDelay, 2
	c.breaker = gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{
		MaxRequests: 1, Interval: failureWindow, BucketPeriod: failureWindow / 6, Timeout: OpenTime,
		ReadyToTrip: func(n gobreaker.Counts) bool {
			return n.TotalFailures >= MaxFailures && 2*n.TotalFailures >= n.Requests
		},
		OnStateChange: func(_ string, _, to gobreaker.State) {
			if to == gobreaker.StateOpen {
				c.retryAt = time.Now().Add(OpenTime)
			}
		},
	})
	return c
}

// Fail notes a failure.
func (c *Circuit) Fail(reason string) {
	c.note(errors.New(reason))
	c.failed, c.last = time.Now(), reason
	if c.failing++; c.failing > 1 {
		c.delay = c.delays.NextBackOff()
	}
}

// FailRequest notes that one request failed, unless it probably failed for the same cause as the one before.
func (c *Circuit) FailRequest(reason string) {
	if time.Since(c.failed) >= FailurePause {
		c.Fail(reason)
	}
}

// StartDelay returns the pause before the next start.
func (c *Circuit) StartDelay() time.Duration {
	if time.Since(c.failed) > failureWindow {
		return 0
	}
	return c.delay
}

// Succeed notes an answer.
func (c *Circuit) Succeed() {
	c.note(nil)
	c.failing, c.delay = 0, 0
	c.delays.Reset()
}

func (c *Circuit) note(outcome error) {
	if done, err := c.breaker.Allow(); err == nil {
		done(outcome)
	}
}

// Failures returns how many failures count at present.
func (c *Circuit) Failures() int { return int(c.breaker.Counts().TotalFailures) }

// LastFailure returns the reason of the last failure; it may be empty.
func (c *Circuit) LastFailure() string { return c.last }

// RetryAt returns when an open circuit is tried again, the zero time if it is closed.
func (c *Circuit) RetryAt() time.Time {
	if c.breaker.State() != gobreaker.StateOpen {
		return time.Time{}
	}
	return c.retryAt
}
