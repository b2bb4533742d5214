package upstream

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// ErrCircuitOpen is what a [*ConnectionError] is, besides [ErrConnection], when a server has failed so often that it is
// left alone for a while. RetryAt says until when.
var ErrCircuitOpen = errors.New("the server failed repeatedly and is left alone for a while")

const (
	// maxFailures within failureWindow open the circuit: nothing is tried for openTime then, which doubles up to
	// maxOpenTime each time that the next try fails as well.
	maxFailures   = 5
	failureWindow = time.Minute
	openTime      = 15 * time.Second
	maxOpenTime   = 5 * time.Minute
	// firstDelay is what goes before a second try in a row to start a server; it doubles up to maxDelay.
	firstDelay = 100 * time.Millisecond
	maxDelay   = 5 * time.Second
	// failurePause is the shortest time between two failures that count, where one cause may end many calls.
	failurePause = 500 * time.Millisecond
	// doubtPause is how often a session that may be forgotten is asked whether its last calls have ended.
	doubtPause = 20 * time.Millisecond
)

// health is how a server has done lately. The pool's mutex guards it.
type health struct {
	failures []failure // those within failureWindow, the oldest first
	opened   int       // how often the circuit opened without a good answer since
	until    time.Time // the circuit is open until then
	probing  bool      // the circuit was open, and nothing was answered since: the next failure opens it again
	last     string    // why it failed last
	restarts int
}

type failure struct {
	at   time.Time
	said bool // whoever stands before the server said so, in an answer to a call
}

// fail notes a failure.
func (h *health) fail(f failure, reason string) {
	now := f.at
	h.last = reason
	h.forget(now)
	h.failures = append(h.failures, f)
	if len(h.failures) < maxFailures && !h.probing {
		return
	}
	open := min(openTime<<min(h.opened, 10), maxOpenTime)
	h.until = now.Add(open/2 + rand.N(open/2))
	h.opened++
	h.probing, h.failures = true, nil
}

// succeed notes an answer. It disproves what was only said of the server, and not that it crashes time and again.
func (h *health) succeed() {
	h.failures = slices.DeleteFunc(h.failures, func(f failure) bool { return f.said })
	if h.probing {
		h.probing, h.opened = false, 0
	}
}

// forget drops failures that are too old to count.
func (h *health) forget(now time.Time) {
	for len(h.failures) > 0 && now.Sub(h.failures[0].at) > failureWindow {
		h.failures = h.failures[1:]
	}
}

// repeats reports whether a failure is likely one with the last: many calls end by one cause.
func (h *health) repeats(now time.Time) bool {
	n := len(h.failures)
	return n > 0 && now.Sub(h.failures[n-1].at) < failurePause
}

// delay is how long to wait before the server is started again; with jitter, so that many who use it do not come at once.
func (h *health) delay(now time.Time) time.Duration {
	h.forget(now)
	if len(h.failures) < 2 {
		return 0
	}
	d := min(firstDelay<<(len(h.failures)-2), maxDelay)
	return d/2 + rand.N(d/2)
}

// open returns the error of an open circuit, nil when it is closed.
func (h *health) open(server string, now time.Time) error {
	left := h.until.Sub(now)
	if left <= 0 {
		return nil
	}
	return &ConnectionError{
		Server: server, NotSent: true, RetryAt: h.until,
		Reason: fmt.Sprintf("it failed repeatedly and is left alone; it is tried again in %v; the last failure: %s", max(left.Round(time.Second), time.Second), h.last),
	}
}

// counts reports whether an error of connecting is a failure of the server: not what its configuration lacks, nor a
// login, nor the end of those who waited.
func counts(err error) (string, bool) {
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
