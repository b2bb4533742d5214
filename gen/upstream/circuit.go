package upstream

import (
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/sony/gobreaker/v2"
)

// ErrCircuitOpen is matched by a [*ConnectionError], besides [ErrConnection], if a server has failed so often that it is
// left alone for a while. RetryAt says until when.
var ErrCircuitOpen = errors.New("the server failed repeatedly and is left alone for a while")

const (
	// maxFailures within failureWindow, if they are at least half of all outcomes, open the circuit: nothing is tried
	// for openTime, nor for another openTime if the next try fails as well. It is shorter than the default time limit of a
	// run, so that a run can still use a server that has recovered.
	maxFailures   = 5
	failureWindow = time.Minute
	openTime      = 15 * time.Second
	// firstDelay is the mean pause before the second start in a row that follows a failure; it doubles up to maxDelay.
	firstDelay = 100 * time.Millisecond
	maxDelay   = 5 * time.Second
	// failurePause is the shortest time between two failed requests that count: one cause may end many.
	failurePause = 500 * time.Millisecond
)

// circuit records the recent failures of a server. The pool's mutex guards it.
type circuit struct {
	breaker *gobreaker.TwoStepCircuitBreaker[any]
	delays  *backoff.ExponentialBackOff
	failing int           // failures in a row
	delay   time.Duration // of the next start
	retryAt time.Time     // when an open circuit is tried again
	failed  time.Time     // when it failed last
	last    string        // the reason of that
}

func newCircuit() *circuit {
	c := &circuit{delays: backoff.NewExponentialBackOff()}
	c.delays.InitialInterval, c.delays.MaxInterval, c.delays.Multiplier = firstDelay, maxDelay, 2
	c.breaker = gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{
		MaxRequests: 1, Interval: failureWindow, BucketPeriod: failureWindow / 6, Timeout: openTime,
		ReadyToTrip: func(n gobreaker.Counts) bool {
			return n.TotalFailures >= maxFailures && 2*n.TotalFailures >= n.Requests
		},
		OnStateChange: func(_ string, _, to gobreaker.State) {
			if to == gobreaker.StateOpen {
				c.retryAt = time.Now().Add(openTime)
			}
		},
	})
	return c
}

// fail notes a failure.
func (c *circuit) fail(reason string) {
	c.note(errors.New(reason))
	c.failed, c.last = time.Now(), reason
	if c.failing++; c.failing > 1 {
		c.delay = c.delays.NextBackOff()
	}
}

// failRequest notes that one request failed, unless it probably failed for the same cause as the one before.
func (c *circuit) failRequest(reason string) {
	if time.Since(c.failed) >= failurePause {
		c.fail(reason)
	}
}

// startDelay returns the pause before the next start.
func (c *circuit) startDelay() time.Duration {
	if time.Since(c.failed) > failureWindow {
		return 0
	}
	return c.delay
}

// succeed notes an answer.
func (c *circuit) succeed() {
	c.note(nil)
	c.failing, c.delay = 0, 0
	c.delays.Reset()
}

func (c *circuit) note(outcome error) {
	if done, err := c.breaker.Allow(); err == nil {
		done(outcome)
	}
}

// failures returns how many failures count at present.
func (c *circuit) failures() int { return int(c.breaker.Counts().TotalFailures) }

// isOpen reports whether the circuit is open.
func (c *circuit) isOpen() bool { return c.breaker.State() == gobreaker.StateOpen }

// openError returns the error of an open circuit, nil if it is closed.
func (c *circuit) openError(server string) error {
	if !c.isOpen() {
		return nil
	}
	return &ConnectionError{
		Server: server, NotSent: true, RetryAt: c.retryAt,
		Reason: fmt.Sprintf("it failed repeatedly and is left alone; it is tried again in %v; the last failure: %s", max(time.Until(c.retryAt).Round(time.Second), time.Second), c.last),
	}
}

// failureReason returns the reason of an error of connecting, and whether the server failed: a login that is missing, or
// a caller that gives up, is not a failure of the server.
func failureReason(err error) (string, bool) {
	var gone *ConnectionError
	if errors.As(err, &gone) {
		return gone.Reason, !gone.Login
	}
	var refused *ProtocolError
	if errors.As(err, &refused) {
		return refused.Error(), true
	}
	return "", false
}
