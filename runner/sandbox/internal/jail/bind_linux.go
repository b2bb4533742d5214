//go:build linux && (amd64 || arm64)

package jail

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runner/sandbox/internal/proctree"
)

// bindTimeout bounds the wait for a jail's answer; a working jail needs far less.
const bindTimeout = 5 * time.Second

// Bind gives a warm jail its run: it shows the mounts, sets the limits and connects the streams. When it returns, the jail may receive
// untrusted data. Call it once, and only for a jail started with Config.Warm. From then on the jail is killed when ctx ends; the end
// of Start's context no longer matters. After an error the jail is dead; the caller must still call Wait.
func (c *Child) Bind(ctx context.Context, b Binding) (err error) {
	if !c.cfg.Warm || c.bound {
		return errors.New("the sandbox process is not warm, or is already bound")
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
		return errors.New("the sandbox process ended before it was bound")
	}
	c.stopCtx = context.AfterFunc(ctx, c.Kill)
	if err := ctx.Err(); err != nil {
		return err // killing may take longer than binding
	}
	before := c.cfg.Limits
	c.cfg.Limits = b.Limits.WithDefaults()
	c.cfg.Stdin, c.cfg.Stdout, c.cfg.Stderr = b.Stdin, b.Stdout, b.Stderr
	c.cfg.Tmpfs = append(c.cfg.Tmpfs[:len(c.cfg.Tmpfs):len(c.cfg.Tmpfs)], b.Tmpfs...)
	var used proctree.Usage
	if _, counted := c.group.CPU(); !counted {
		used = c.tree().Measure()
	}
	c.before = c.processorTime(used)
	c.prepareMeters(b.Mounts)
	o, err := c.makeBindRequest(b)
	if err != nil {
		return err
	}
	if groupLimits(before) != groupLimits(c.cfg.Limits) {
		if err := c.group.SetLimits(groupLimits(c.cfg.Limits)); err != nil {
			return err
		}
	}
	_ = c.control.SetDeadline(time.Now().Add(bindTimeout))
	if err := WriteFrame(c.control, o); err != nil {
		return fmt.Errorf("bind the sandbox process: %w", err)
	}
	var m message
	switch err := c.messages.Decode(&m); {
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
	c.serve()
	return nil
}

// makeBindRequest returns the request that Bind sends to init.
func (c *Child) makeBindRequest(b Binding) (*bindRequest, error) {
	o := &bindRequest{Tmpfs: b.Tmpfs, TmpSize: c.cfg.Limits.Tmp, Limits: c.limits()}
	if o.Limits.CPU > 0 { // the kernel counts from the start of the process
		o.Limits.CPU += uint64((c.before + time.Second - 1) / time.Second)
	}
	if o.Limits.Processes == 0 && !c.group.BoundsTasks() {
		o.Limits.Processes = uint64(MaxTasks(User(), c.cfg.Limits))
	}
	for _, m := range b.Mounts {
		var st unix.Stat_t
		if err := unix.Stat(m.Source, &st); err != nil {
			return nil, fmt.Errorf("check %q: %w", m.Source, err)
		}
		o.Mounts = append(o.Mounts, pinned{Mount: m, Dev: uint64(st.Dev), Ino: st.Ino})
	}
	return o, nil
}
