package chain

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/journal"
)

// maxSleep bounds the sleeps of a run that cannot be suspended.
const maxSleep = 10 * time.Minute

// duration reads a time to wait: a number of seconds, or a text such as "5s".
func duration(a *call.Ask, what string, raw json.RawMessage) (time.Duration, error) {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw) + "s"
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, badStep(a.Method, `%s is %.50s; give seconds, or a text such as "90s" or "2h30m"`, what, raw)
	}
	return d, nil
}

// sleep answers workflow/sleep.
func (c *Calls) sleep(ctx context.Context, a *call.Ask) (json.RawMessage, error) {
	var in struct {
		Time json.RawMessage `json:"time"`
	}
	if err := readStep(a, &in); err != nil {
		return nil, err
	}
	d, err := duration(a, "the time", in.Time)
	if err != nil {
		return nil, err
	}
	if !c.suspends() && !c.maySleep(d) {
		return nil, badStep(a.Method, "%v is too long for this run, which can sleep %v in all; mcprun workflow run has no limit", d, maxSleep)
	}
	s := c.stepOf(journal.StepSleep, c.path(a.Step), "sleep")
	if c.set.DryRun || c.player != nil {
		d = 0
	}
	if s.Until.IsZero() {
		s.Until = time.Now().Add(d)
	}
	_, err = c.await(ctx, a, s, !c.suspends() || d <= c.set.Suspend, nil)
	return json.RawMessage("{}"), err
}

// maySleep reports whether a run that is not suspended may sleep for so long, which does not count against its timeout.
func (c *Calls) maySleep(d time.Duration) bool {
	c.steps.mu.Lock()
	defer c.steps.mu.Unlock()
	if c.set.DryRun || d > maxSleep-c.steps.slept {
		return c.set.DryRun
	}
	c.steps.slept += d
	return true
}

// wait answers workflow/wait.
func (c *Calls) wait(ctx context.Context, a *call.Ask) (json.RawMessage, error) {
	var in struct {
		Topic   string          `json:"topic"`
		Timeout json.RawMessage `json:"timeout"`
	}
	if err := cmp.Or(readStep(a, &in), checkName(a, "a topic", in.Topic)); err != nil {
		return nil, err
	}
	if !c.suspends() {
		return nil, badStep(a.Method, "nobody can send a value to this run; start it with mcprun workflow run")
	}
	s := c.stepOf(journal.StepWait, c.path(a.Step), in.Topic)
	s.Topic = in.Topic
	return c.awaitUntil(ctx, a, s, in.Timeout, false, nil)
}

// awaitUntil is await with a timeout, which may be missing.
func (c *Calls) awaitUntil(ctx context.Context, a *call.Ask, s *openStep, timeout json.RawMessage, stay bool, other func(context.Context) (*journal.Outcome, error)) (json.RawMessage, error) {
	if len(timeout) > 0 && string(timeout) != "null" && s.Until.IsZero() {
		d, err := duration(a, "the timeout", timeout)
		if err != nil {
			return nil, err
		}
		s.Until = time.Now().Add(d)
	}
	out, err := c.await(ctx, a, s, stay, other)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{"value": json.RawMessage(out.Value)})
}

// await returns how a wait has ended, or waits for that: for its time, for a value that was sent to the run, or for what other returns.
// With stay, the run is not suspended meanwhile. Waits that end by their time and are not sleeps fail.
func (c *Calls) await(ctx context.Context, a *call.Ask, s *openStep, stay bool, other func(context.Context) (*journal.Outcome, error)) (*journal.Outcome, error) {
	out, err := s.Outcome(ctx)
	if replayed := out != nil; err == nil && replayed {
		c.recordStep(s, out, true)
		return out, failureOf(out)
	}
	if err == nil {
		err = s.Begin(ctx)
	}
	if err == nil {
		out, err = s.Receive(ctx)
	}
	if err != nil {
		return nil, c.stepFailed(ctx, a, err)
	}
	if out == nil {
		if out, err = c.pause(ctx, s, stay, other); err != nil {
			return nil, err
		}
		c.finishStep(ctx, s, out)
	} else {
		c.recordStep(s, out, false)
	}
	return out, failureOf(out)
}

func failureOf(out *journal.Outcome) error {
	if out.Error != nil {
		return out.Error
	}
	return nil
}

// pause waits, while the run's clock is held.
func (c *Calls) pause(ctx context.Context, s *openStep, stay bool, other func(context.Context) (*journal.Outcome, error)) (*journal.Outcome, error) {
	c.clock.Hold()
	defer c.clock.Release()
	if !s.Until.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, s.Until)
		defer cancel()
	}
	if !stay && other == nil {
		if err := c.park(s); err != nil {
			return nil, err
		}
		defer c.unpark(s)
	}
	if other != nil {
		out, err := other(ctx)
		if err == nil || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return out, err
		}
	}
	<-ctx.Done()
	switch {
	case !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, ctx.Err()
	case s.Kind == journal.StepSleep:
		return &journal.Outcome{Value: []byte("null")}, nil
	}
	return &journal.Outcome{Error: &call.Error{Kind: call.KindTimeout, Message: fmt.Sprintf("nothing came in time: %s", s.Name)}}, nil
}
