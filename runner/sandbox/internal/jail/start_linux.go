//go:build linux && (amd64 || arm64)

package jail

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runner/sandbox/internal/thread"
)

const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS |
	unix.CLONE_NEWCGROUP

// Start starts a jail and returns when its program runs, or when the function is about to be called. The jail is
// killed when ctx ends. An error wraps ErrUnsupported where the machine refuses what a jail needs. Whatever the
// error, nothing of the jail is left.
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
	ends, err := c.openEnds()
	if err != nil {
		return nil, err
	}
	if !cfg.Warm {
		c.prepareMeters(cfg.Mounts)
	}
	started := false
	defer func() {
		closeAll(ends)
		if err != nil {
			c.abandon(started)
		}
	}()
	if err := c.makeGroup(); err != nil {
		return nil, err
	}
	if err := c.launch(ends, who.attributes(withNamespaces, cfg.Warm)); err != nil {
		return nil, err
	}
	started = true
	closeAll(ends)
	ends = nil
	c.stopCtx = context.AfterFunc(ctx, c.Kill)
	if err := c.handshake(c.makePlan(who, withNamespaces)); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, err
	}
	if !cfg.Warm {
		c.follow()
	}
	return c, nil
}

// follow begins what goes on as long as the jail has a run.
func (c *Child) follow() {
	c.copyStreams()
	c.watchDisks()
	c.watching.Go(c.watch)
}

// launch starts the process on a thread of its own that lives as long as it: the parent-death signal fires when the
// thread that forked ends, not when the process does.
func (c *Child) launch(files []*os.File, attr *syscall.SysProcAttr) error {
	exe := c.cfg.Exe
	if exe == "" {
		exe = "/proc/self/exe"
	}
	errc := make(chan error)
	thread.Go(func() {
		free, err := c.startInGroup(attr, func() (err error) {
			c.proc, err = os.StartProcess(exe, []string{Name, c.cfg.Entry}, &os.ProcAttr{
				Dir: "/", Env: []string{}, Files: files, Sys: attr, // not nil: nil would be our own environment
			})
			return err
		})
		if free {
			defer runtime.UnlockOSThread() // else it ends with this goroutine, and leaves the group so
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

func isRefusal(err error) bool { return isDenied(err) || errors.Is(err, unix.EINVAL) }

// handshake sends the plan and waits until the program runs.
func (c *Child) handshake(p *plan) error {
	_ = c.control.SetDeadline(time.Now().Add(setupTimeout))
	err := writeFrame(c.control, p)
	if err == nil {
		if !c.cfg.Warm && !c.group.BoundsTasks() && p.Limits.Processes == 0 {
			c.boundTasks()
		}
		_, err = c.control.Write([]byte{goAhead})
	}
	// Even after a failed write the jail's own word comes first: it says why it went away.
	c.hear = json.NewDecoder(c.control)
	var m message
	if hearErr := c.hear.Decode(&m); hearErr != nil {
		if errors.Is(hearErr, os.ErrDeadlineExceeded) {
			return fmt.Errorf("the sandbox process was not ready after %v: the machine has too much to do", setupTimeout)
		}
		return fmt.Errorf("the sandbox process ended before it was ready: %w", errors.Join(err, hearErr, c.lastWords()))
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

// boundTasks sets that bound on init before the program inherits it.
func (c *Child) boundTasks() {
	value := uint64(boundOfTasks(c.cfg.Limits))
	limit := unix.Rlimit{Cur: value, Max: value}
	if err := unix.Prlimit(c.proc.Pid, unix.RLIMIT_NPROC, &limit, nil); err != nil {
		c.missing = append(c.missing, fmt.Sprintf("processes: bounded by a watchdog only: %v", err))
	}
}

// lastWords is the beginning of what a jail that failed wrote to its standard error, a Go panic for instance.
func (c *Child) lastWords() error {
	c.Kill()
	<-c.done
	_ = c.streams[2].SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	buf := make([]byte, 2000)
	n, _ := c.streams[2].Read(buf)
	if n == 0 {
		return errors.New("does the program's main begin with the sandbox's Init?")
	}
	return fmt.Errorf("it wrote %q", strings.TrimSpace(string(buf[:n])))
}

// openEnds makes the pipes and sockets; the child's ends are returned in the order of their descriptors.
func (c *Child) openEnds() (ends []*os.File, err error) {
	defer func() {
		if err != nil {
			closeAll(ends)
			c.closeHostEnds()
		}
	}()
	for i := range c.streams {
		r, w, err := os.Pipe()
		if err != nil {
			return ends, fmt.Errorf("make a pipe: %w", err)
		}
		if i == 0 {
			r, w = w, r
		}
		c.streams[i] = r
		ends = append(ends, w)
	}
	for _, conn := range []*net.Conn{&c.bridge, &c.control} {
		host, child, err := socketPair()
		if err != nil {
			return ends, err
		}
		*conn = host
		ends = append(ends, child)
	}
	return ends, nil
}

func socketPair() (net.Conn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a socket pair: %w", err)
	}
	child := os.NewFile(uintptr(fds[1]), "guest")
	host := os.NewFile(uintptr(fds[0]), "host")
	defer host.Close() // FileConn makes a copy
	conn, err := net.FileConn(host)
	if err != nil {
		child.Close()
		return nil, nil, fmt.Errorf("make a socket pair: %w", err)
	}
	return conn, child, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

func (c *Child) makePlan(who identity, withNamespaces bool) *plan {
	cfg := c.cfg
	p := &plan{
		Entry: cfg.Entry, Program: cfg.Program, Args: cfg.Args, Env: cfg.Env, Secret: cfg.Secret, Dir: cfg.Dir,
		Mounts: cfg.Mounts, Files: cfg.Files, Tmpfs: cfg.Tmpfs, Hidden: cfg.Hidden, Dirs: cfg.Dirs, Warm: cfg.Warm,
		TmpSize: cfg.Limits.Tmp, Namespaces: withNamespaces, DropTo: who.dropTo, Limits: c.limits(),
		Watched: !c.group.BoundsMemory(),
	}
	if cfg.Warm {
		p.Limits = rlimits{} // the cgroup is enough for what is trusted
	}
	return p
}

// limits are those that the kernel keeps for each process.
func (c *Child) limits() rlimits {
	l := c.cfg.Limits
	data := c.cfg.Data
	if data == 0 {
		data = l.Memory + dataSlack
	}
	r := rlimits{
		// One file alone may pass the limit of all by so much that this is seen.
		Files: uint64(l.Files), FileSize: uint64(min(l.FileSize, l.Disk+1<<20)), Data: uint64(data),
		CPU: uint64((l.CPU + time.Second - 1) / time.Second),
	}
	if c.ownCount {
		r.Processes = uint64(l.Processes + ownTasks)
	}
	return r
}

// ownTasks is room for init's own threads where processes are counted.
const ownTasks = 24
