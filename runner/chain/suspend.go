package chain

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/journal"
)

// settleTime is how long nothing must happen in a script that waits until it is suspended.
const settleTime = 250 * time.Millisecond

// ErrSuspended is the cause with which the context of a run ends when its script does nothing but wait; see [Settings.Suspend].
var ErrSuspended = errors.New("the script waits")

// enter lets a call or a request begin. After the run was suspended, it waits for the run's end, and the error is that.
func (c *Calls) enter(ctx context.Context) (leave func(), err error) {
	s := &c.steps
	s.mu.Lock()
	if s.suspended {
		s.mu.Unlock()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	s.busy++
	s.change++
	s.mu.Unlock()
	return func() {
		s.mu.Lock()
		s.busy--
		s.mu.Unlock()
		c.considerSuspension()
	}, nil
}

// counted makes the calls of a handler count for the suspension.
func (c *Calls) counted(h call.Handler) call.Handler {
	return func(ctx context.Context, req *call.Request) (*call.Result, error) {
		leave, err := c.enter(ctx)
		if err != nil {
			return nil, err
		}
		defer leave()
		return h(ctx, req)
	}
}

// considerSuspension suspends the run if its script does nothing but wait, and goes on doing so for a moment: no call is in progress, and no
// function of a step runs that does not wait itself.
func (c *Calls) considerSuspension() {
	s := &c.steps
	s.mu.Lock()
	defer s.mu.Unlock()
	s.change++
	if !c.suspends() || !s.idle() {
		return
	}
	change := s.change
	time.AfterFunc(settleTime, func() {
		s.mu.Lock()
		stays := s.change == change && s.idle() && !s.suspended
		s.suspended = s.suspended || stays
		s.mu.Unlock()
		if stays {
			c.run.Suspend()
		}
	})
}

func (c *Calls) suspends() bool {
	return c.run.Suspend != nil && c.set.Suspend > 0 && c.journalOf() != nil
}

// idle reports whether the script only waits. The caller holds mu.
func (s *steps) idle() bool {
	waiting := map[string]bool{}
	for w := range s.waits {
		waiting[w.In] = true
	}
	for _, a := range s.active {
		if !waiting[a.Path()] && !s.staying {
			return false
		}
	}
	return s.busy == 0 && (len(s.waits) > 0 || s.staying)
}

// Waiting returns what the script waits for, the oldest first.
func (c *Calls) Waiting() (all []journal.Step) {
	c.steps.mu.Lock()
	defer c.steps.mu.Unlock()
	for w := range c.steps.waits {
		all = append(all, *w.Step)
	}
	slices.SortFunc(all, func(a, b journal.Step) int { return a.Began.Compare(b.Began) })
	return all
}

// park makes a wait one for which the run may be suspended.
func (c *Calls) park(s *openStep) error {
	c.steps.mu.Lock()
	defer c.considerSuspension()
	defer c.steps.mu.Unlock()
	if len(c.steps.waits) >= maxOpen {
		return badStep(methodWait, "the script waits for %d things already", maxOpen)
	}
	if c.steps.waits == nil {
		c.steps.waits = map[*openStep]bool{}
	}
	c.steps.waits[s] = true
	c.steps.busy--
	return nil
}

// stays makes a call that is not sent any more, since the process ends, no hindrance for the end of the run.
func (c *Calls) stays() {
	c.steps.mu.Lock()
	defer c.considerSuspension()
	defer c.steps.mu.Unlock()
	c.steps.busy--
	c.steps.staying = true
}

func (c *Calls) unpark(s *openStep) {
	c.steps.mu.Lock()
	defer c.steps.mu.Unlock()
	if !c.steps.suspended { // otherwise it is what the run waits for
		delete(c.steps.waits, s)
	}
	c.steps.busy++
	c.steps.change++
}
