package journal

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/mcpgen/mcpgen/runner/store"
)

// Call is a call that this execution makes.
type Call struct {
	j        *Journal
	id       id
	tool     string
	in       string // the path of its step
	former   *entry // what former executions have kept; nil: nothing
	doubtful bool
	intends  bool // it was announced, by this execution or another
	counted  []string
}

// Call returns what the journal has of a call. in is the path of the step that makes it, or "" outside of steps. args are its arguments in
// their canonical form; raw says that the script wants the result whole.
func (j *Journal) Call(in, tool string, args []byte, raw bool) *Call {
	c := &Call{j: j, tool: tool, in: in}
	digest := func(in string) [sha256.Size]byte {
		text := fmt.Appendf(nil, "%q %t %s", tool, raw, args)
		if in != "" {
			text = fmt.Appendf(nil, "in %q: %s", in, text)
		}
		return sha256.Sum256(text)
	}
	c.id.Digest = digest(in)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.find(c)
	for _, path := range j.loose {
		e := j.entries[id{Digest: digest(path)}]
		c.doubtful = c.doubtful || in == "" && c.former == nil && e != nil && e.sent
	}
	if c.intends {
		at := place{tool, in}
		if j.waiting[at]--; j.waiting[at] == 0 {
			close(j.settled)
			j.settled = make(chan struct{})
		}
	}
	return c
}

// find numbers a call, and looks for what former executions have kept of it. The caller holds mu.
func (j *Journal) find(c *Call) {
	c.id.Number = j.asked[c.id.Digest]
	j.asked[c.id.Digest]++
	if c.former = j.entries[c.id]; c.former != nil {
		c.intends = c.former.sent
		delete(j.entries, c.id)
	}
}

// Size returns about how many bytes Outcome reads, or 0 for few.
func (c *Call) Size() int {
	if c.former == nil || c.former.outcome == nil {
		return 0
	}
	return c.former.outcome.Large
}

// Outcome returns the outcome that a former execution has kept, or nil. After an error the call must not be made.
func (c *Call) Outcome(ctx context.Context) (*Outcome, error) {
	if c.former == nil || c.former.outcome == nil {
		return nil, nil
	}
	if c.former.outcome.Large == 0 {
		return c.former.outcome, nil
	}
	var sealed []byte
	err := c.j.logs.Lines(ctx, c.largeKey(), 0, func(l store.Line) error {
		sealed = l.Value // the last one, if a crash has left several
		return nil
	})
	if err == nil && sealed == nil {
		err = errors.New("it is missing")
	}
	out := &Outcome{}
	if err == nil {
		err = c.j.unseal(c.largeKey(), sealed, out)
	}
	if err != nil {
		return nil, fmt.Errorf("read the result of %s from the journal: %w", c.tool, err)
	}
	return out, nil
}

// Interrupted reports whether a former execution has announced the call and has not kept how it ended. So it is unknown.
func (c *Call) Interrupted() bool { return c.intends && c.former.outcome == nil }

// Doubtful reports whether the call is new, outside of steps, and equal to one that was sent while a [Step.Loose] step ran. So it may be that
// one.
func (c *Call) Doubtful() bool { return c.doubtful }

// Alone reports whether the call cannot be one that a former execution has sent with other arguments, because this execution has asked for all
// calls of the tool that were sent. It waits some seconds for those that it has not asked for, since a script that does several things at a
// time may be about to. Once it has waited in vain, it does not wait again in this execution.
func (c *Call) Alone(ctx context.Context) bool {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		c.j.mu.Lock()
		left, settled, hasty := c.j.waiting[place{c.tool, c.in}], c.j.settled, c.j.hasty
		c.j.mu.Unlock()
		if left == 0 || hasty {
			return left == 0
		}
		select {
		case <-settled:
		case <-timer.C:
			c.j.mu.Lock()
			c.j.hasty = true
			c.j.mu.Unlock()
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// Count says what the call counts for, which [Journal.Past] sums up in later executions. It is kept with the intent, or else with the outcome. A
// nil Call counts for nothing.
func (c *Call) Count(names []string) {
	if c != nil {
		c.counted = names
	}
}

// add adds a line of the call, the first with what it counts for.
func (c *Call) add(ctx context.Context, l line) error {
	l.Call, l.Tool, l.In, l.Counted = &c.id, c.tool, c.in, c.counted
	err := c.j.add(ctx, &l)
	if err == nil {
		c.counted = nil
	}
	return err
}

// Intend announces that the call is about to be sent, once. After an error it must not be sent.
func (c *Call) Intend(ctx context.Context) error {
	if c.intends {
		return nil
	}
	if err := c.add(ctx, line{Intent: true}); err != nil {
		return err
	}
	c.intends = true
	return nil
}

// Finish keeps how the call ended, whether ctx has ended or not. The script may get the outcome even if that fails; the call is unknown then, if
// it was announced. Some outcomes of calls that were not announced are not kept, but what they count for is; see [maxSpared] and [maxUnsent].
func (c *Call) Finish(ctx context.Context, out *Outcome) error {
	if !c.intends && !c.j.admits(out) {
		if len(c.counted) == 0 {
			return nil
		}
		out = nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), outcomeTime)
	defer cancel()
	if out == nil || out.Error == nil && len(out.Value) <= maxInline || out.Error != nil && len(out.Error.Content)+len(out.Error.Data) <= maxInline {
		return c.add(ctx, line{Outcome: out})
	}
	sealed, err := c.j.sealed(c.largeKey(), out)
	if err != nil {
		return err
	}
	if _, err := c.j.logs.AppendLine(ctx, c.largeKey(), sealed); err != nil {
		return err
	}
	return c.add(ctx, line{Outcome: &Outcome{Large: len(sealed), At: out.At, Message: out.Message}})
}

// admits reports whether there is room for an outcome that could do without.
func (j *Journal) admits(out *Outcome) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !out.Sent {
		j.unsent++
		return j.unsent <= maxUnsent
	}
	j.spared += int64(len(out.Value))
	return j.spared <= maxSpared
}

// largeKey names the log of a large result.
func (c *Call) largeKey() store.Key {
	k := c.j.key
	return store.Key{Customer: k.Customer, Kind: k.Kind + largeKind, Name: fmt.Sprintf("%s/%x-%d", k.Name, c.id.Digest, c.id.Number)}
}
