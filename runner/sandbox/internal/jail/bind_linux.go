//go:build linux && (amd64 || arm64)

package jail

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// bindTimeout is far more than a jail needs.
const bindTimeout = 5 * time.Second

// Bind gives a warm jail its run: it shows the mounts, sets the limits and connects the streams. It returns when the
// jail can be given what is not trusted. It is called once, and only for a jail started with Config.Warm. From then on
// the jail is killed when ctx ends, no more when the context of Start does. After an error the jail is dead, and Wait
// is still to be called.
func (c *Child) Bind(ctx context.Context, b Binding) (err error) {
	if !c.cfg.Warm || c.bound {
		return errors.New("the sandbox process was not started to be bound later, or it is bound already")
	}
	c.bound = true
	defer func() {
		if err != nil {
			c.Kill()
			if ctx.Err() != nil {
				err = ctx.Err()
			}
		}
	}()
	if !c.stopCtx() {
		return errors.New("the sandbox process was ended before it was bound")
	}
	c.stopCtx = context.AfterFunc(ctx, c.Kill)
	if err := ctx.Err(); err != nil {
		return err // it may take longer to be killed than to be bound
	}
	before := c.cfg.Limits
	c.cfg.Limits, c.cfg.Data = b.Limits.WithDefaults(), b.Data
	c.cfg.Stdin, c.cfg.Stdout, c.cfg.Stderr = b.Stdin, b.Stdout, b.Stderr
	c.cfg.Tmpfs = append(c.cfg.Tmpfs[:len(c.cfg.Tmpfs):len(c.cfg.Tmpfs)], b.Tmpfs...)
	var used usage
	if _, counted := c.group.CPU(); !counted {
		used = measure(c.proc.Pid, false, before.Processes+2*ownTasks)
	}
	c.before = c.processorTime(used)
	c.prepareMeters(b.Mounts)
	o, err := c.makeOrder(b)
	if err != nil {
		return err
	}
	if err := c.changeGroup(before); err != nil {
		return err
	}
	_ = c.control.SetDeadline(time.Now().Add(bindTimeout))
	if err := writeFrame(c.control, o); err != nil {
		return fmt.Errorf("bind the sandbox process: %w", err)
	}
	var m message
	switch err := c.hear.Decode(&m); {
	case err != nil:
		return fmt.Errorf("bind the sandbox process: it ended: %w", err)
	case m.Error != "":
		return fmt.Errorf("bind the sandbox process: %s", m.Error)
	case !m.Bound:
		return errors.New("bind the sandbox process: it ended")
	}
	c.missing = append(c.missing, m.Missing...)
	if err := c.control.SetDeadline(time.Time{}); err != nil {
		return err
	}
	c.follow()
	return nil
}

// makeOrder is what init is told.
func (c *Child) makeOrder(b Binding) (*order, error) {
	o := &order{Tmpfs: b.Tmpfs, TmpSize: c.cfg.Limits.Tmp, Limits: c.limits()}
	if o.Limits.CPU > 0 { // the kernel counts from the process's start
		o.Limits.CPU += uint64((c.before + time.Second - 1) / time.Second)
	}
	if o.Limits.Processes == 0 && !c.group.BoundsTasks() {
		o.Limits.Processes = uint64(boundOfTasks(c.cfg.Limits))
	}
	for _, m := range b.Mounts {
		var st unix.Stat_t
		if err := unix.Stat(m.Source, &st); err != nil {
			return nil, fmt.Errorf("look at %q: %w", m.Source, err)
		}
		o.Mounts = append(o.Mounts, pinned{Mount: m, Dev: uint64(st.Dev), Ino: st.Ino})
	}
	return o, nil
}

// boundOfTasks is for root without a cgroup: the kernel then counts the processes of all jails together, so that no
// exact limit can be set, but a fork bomb must not outrun the watchdog by more than this.
func boundOfTasks(l sandbox.Limits) int { return MostTasks(User(), l) }
