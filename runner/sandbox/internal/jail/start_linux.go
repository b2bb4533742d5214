//go:build linux && (amd64 || arm64)

package jail

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/cgroup"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/proctree"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/reaper"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/stdio"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/thread"
)

// Start starts a jail and returns when its program runs, or when the function is about to be called. The jail is
// killed when ctx ends. The error wraps ErrUnsupported if the machine refuses what a jail needs. After any
// error, nothing is left of the jail.
func Start(ctx context.Context, cfg Config) (*Child, error) {
	c, err := start(ctx, cfg, true)
	if err == nil || cfg.Program != "" || !cfg.AllowNoNamespaces || !errors.Is(err, ErrUnsupported) {
		return c, err
	}
	why := err
	if c, err = start(ctx, cfg, false); err != nil {
		return nil, errors.Join(why, err)
	}
	c.missing = append(c.missing, fmt.Sprintf("namespaces: %v", why))
	return c, nil
}

func start(ctx context.Context, cfg Config, withNamespaces bool) (_ *Child, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	cfg.Limits = cfg.Limits.WithDefaults()
	who := caller()
	c := &Child{cfg: cfg, done: make(chan struct{}), namespaces: withNamespaces, ownCount: withNamespaces && who.ownCount}
	streams, ends, err := stdio.Open()
	if err != nil {
		return nil, err
	}
	c.streams = streams
	if !cfg.Warm {
		c.prepareMeters(cfg.Mounts)
	}
	started := false
	defer func() {
		stdio.CloseAll(ends)
		if err != nil {
			c.abandon(started)
		}
	}()
	control, end, err := stdio.SocketPair()
	if err != nil {
		return nil, err
	}
	c.control, ends = control, append(ends, end)
	c.makeGroup()
	if !c.group.BoundsMemory() && !proctree.Available() {
		return nil, fmt.Errorf("%w: control groups cannot be used, and /proc does not list child processes", ErrUnsupported)
	}
	if err := c.launch(ends, who.attributes(withNamespaces, cfg.Warm)); err != nil {
		return nil, err
	}
	started = true
	stdio.CloseAll(ends)
	ends = nil
	c.stopCtx = context.AfterFunc(ctx, c.Kill)
	if err := c.handshake(c.makeRequest(who, withNamespaces)); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, err
	}
	if !cfg.Warm {
		c.serve()
	}
	return c, nil
}

// serve starts the goroutines that last as long as the run.
func (c *Child) serve() {
	c.streams.Copy(c.cfg.Stdin, c.printed.Writer(c.cfg.Stdout), c.printed.Writer(c.cfg.Stderr))
	for _, d := range c.disks {
		d.Watch(c.pids, func() { c.kill(sandbox.LimitDisk) })
	}
	c.watching.Go(c.watch)
}

// launch starts the process on a thread that lives as long as the process, because the parent-death signal is sent when the thread that
// forked ends, not when its process does.
func (c *Child) launch(files []*os.File, attr *syscall.SysProcAttr) error {
	errc := make(chan error)
	thread.Go(func() {
		free, err := c.startInGroup(attr, func() (err error) {
			c.proc, err = os.StartProcess(c.exe(), []string{Name, c.cfg.Entry}, &os.ProcAttr{
				Dir: "/", Env: []string{}, Files: files, Sys: attr, // not nil, which would mean our own environment
			})
			return err
		})
		if free {
			defer runtime.UnlockOSThread() // otherwise the thread ends with this goroutine, and so leaves the group
		}
		errc <- err
		if err != nil {
			return
		}
		c.state, c.waitErr = c.proc.Wait()
		close(c.done)
	})
	if err := <-errc; err != nil {
		if attr.Cloneflags != 0 && isRefusal(err) {
			return fmt.Errorf("%w: new namespaces: %w", ErrUnsupported, err)
		}
		return fmt.Errorf("start the sandbox process: %w", err)
	}
	return nil
}

// exe returns the program whose main calls Init.
func (c *Child) exe() string { return cmp.Or(c.cfg.Exe, "/proc/self/exe") }

func isRefusal(err error) bool { return isDenied(err) || errors.Is(err, unix.EINVAL) }

// handshake sends the request and waits until the program runs.
func (c *Child) handshake(p *request) error {
	_ = c.control.SetDeadline(time.Now().Add(setupTimeout))
	err := WriteFrame(c.control, p)
	if err == nil {
		if !c.cfg.Warm && !c.group.BoundsTasks() && p.Rlimits.Processes == 0 {
			c.boundTasks()
		}
		_, err = c.control.Write([]byte{goAhead})
	}
	// Even after a failed write, read the jail's message first: it says why the jail ended.
	c.messages = json.NewDecoder(c.control)
	var m message
	if hearErr := c.messages.Decode(&m); hearErr != nil {
		if errors.Is(hearErr, os.ErrDeadlineExceeded) {
			return fmt.Errorf("the sandbox process was not ready after %v: the machine is overloaded", setupTimeout)
		}
		return fmt.Errorf("the sandbox process ended before it was ready: %w", errors.Join(err, hearErr, c.stderrStart()))
	}
	switch {
	case m.Error != "" && m.Denied:
		return fmt.Errorf("%w: %s", ErrUnsupported, m.Error)
	case m.Error != "":
		return errors.New(m.Error)
	case !m.Ready:
		return errors.New("the sandbox process sent an unknown message")
	}
	c.missing = append(c.missing, m.Missing...)
	return c.control.SetDeadline(time.Time{})
}

// stderrStart returns the beginning of a failed jail's standard error, such as a Go panic.
func (c *Child) stderrStart() error {
	c.Kill()
	<-c.done
	stderr := c.streams.Stderr()
	_ = stderr.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	buf := make([]byte, 2000)
	n, _ := stderr.Read(buf)
	if n == 0 {
		return errors.New("does the program's main begin with the sandbox's Init?")
	}
	return fmt.Errorf("it wrote %q", strings.TrimSpace(string(buf[:n])))
}

func (c *Child) makeRequest(who identity, withNamespaces bool) *request {
	p := &request{Config: c.cfg, Rlimits: c.limits(), Namespaces: withNamespaces, Watched: !c.group.BoundsMemory(), DropTo: who.dropTo}
	if c.cfg.Warm {
		p.Rlimits = rlimits{} // the cgroup is enough for trusted code
	}
	return p
}

// makeGroup creates the jail's control group. If this machine allows no groups, the group is nil and missing says why; only the watchdog
// then bounds memory.
func (c *Child) makeGroup() {
	var missing []string
	c.group, missing = cgroup.New(c.cfg.ID, groupLimits(c.cfg.Limits), func(paths ...string) (func(), error) {
		return reaper.Guard(c.exe(), paths...)
	})
	c.withoutGroup(missing...)
}

func (c *Child) withoutGroup(missing ...string) {
	for _, m := range missing {
		c.missing = append(c.missing, m+"; a watchdog is used instead")
	}
}

// startInGroup calls start, which sets c.proc, in the jail's group. If the group cannot be entered, the jail has none. The calling
// goroutine must be locked to its thread. free reports whether the thread may be used for other things afterwards.
func (c *Child) startInGroup(attr *syscall.SysProcAttr, start func() error) (free bool, err error) {
	err = c.group.Start(attr, start)
	switch {
	case err == nil:
		return true, nil
	case c.proc != nil: // the process is running; only the thread could not leave the group
		return false, nil
	case c.group == nil:
		return true, err
	}
	c.withoutGroup(fmt.Sprintf("cgroup: %v", err))
	_ = c.group.Close() // the kernel removes the rest when this process ends
	c.group, attr.UseCgroupFD = nil, false
	return false, start() // the thread may have entered a part of the group
}

func groupLimits(l sandbox.Limits) cgroup.Limits {
	return cgroup.Limits{Memory: l.Memory, Tasks: l.Processes + ownTasks}
}
