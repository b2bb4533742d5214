package gvisor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/gen/owner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/cgroup"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/thread"
)

const (
	// ownMemory is what gVisor itself may take beside the guest's memory, in bytes: its kernel, the process that serves
	// files, and the pages of files that the kernel keeps for them. The group's limit is above the guest's by so much.
	ownMemory = 192 << 20
	// ownTasks is room for their threads, mountTasks for those that serve one folder or file of the host (older releases
	// have five or six), and tasksEach for those that stand for one of the guest's.
	ownTasks   = 192
	mountTasks = 8
	tasksEach  = 4
	// maxSecret is what every pipe holds, so that no one has to read it while it is written.
	maxSecret = 4096
)

// launch starts runsc with the guest's bundle. The guest is killed when ctx ends, until begin. Whatever the error,
// nothing of it is left.
func (d *direct) launch(ctx context.Context, spec sandbox.Spec, late bool) (_ *guest, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := checkSpec(spec); err != nil {
		return nil, err
	}
	me, err := owner.Self()
	if err != nil {
		return nil, err
	}
	dir, err := newRunDir(d.b.opts.RuntimeDir, spec.ID, me)
	if err != nil {
		return nil, err
	}
	g := &guest{dir: dir, log: d.b.log, secret: spec.Secret, late: late, done: make(chan struct{})}
	lim := spec.Limits.WithDefaults()
	g.limits.Store(newBounds(lim, ""))
	g.before.Store(int64(startCPU))
	var ends []*os.File
	defer func() {
		closeAll(ends)
		if err != nil {
			err = errors.Join(err, g.abandon())
		}
	}()
	if err := d.fill(dir, spec, late); err != nil {
		return nil, fmt.Errorf("fill the run's folder: %w", err)
	}
	if ends, err = g.openEnds(); err != nil {
		return nil, err
	}
	var missing []string
	bounds := cgroup.Limits{Memory: lim.Memory + ownMemory, Tasks: lim.Processes*tasksEach + len(d.files())*mountTasks + ownTasks}
	if g.group, missing = cgroup.New(kind, me, dir.name, bounds); missing != nil {
		d.b.log.Info("a guest of gVisor runs with less than it could", "missing", missing)
	}
	files := ends
	if !d.tool.passFD {
		files = []*os.File{ends[sandbox.BridgeFD], ends[1], ends[2]}
	}
	if err := g.run(d, files); err != nil {
		return nil, err
	}
	if !d.tool.passFD {
		if err := handOver(g.bridge, ends[0], spec.Secret); err != nil {
			return nil, fmt.Errorf("hand descriptors over to the guest: %w", err)
		}
	}
	g.stopCtx = context.AfterFunc(ctx, g.Kill)
	go g.watch()
	return g, nil
}

func checkSpec(spec sandbox.Spec) error {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-"
	if spec.ID == "" || len(spec.ID) > 64 || strings.Trim(spec.ID, letters) != "" {
		return fmt.Errorf("run ID %q: not 1 to 64 letters, digits and '-'", spec.ID)
	}
	if len(spec.Secret) > maxSecret {
		return fmt.Errorf("the secret has %d bytes, more than %d", len(spec.Secret), maxSecret)
	}
	if _, ok := spec.Guest[sandbox.GuestMain(spec.Runtime)]; !ok {
		return fmt.Errorf("run %s: no guest program %s", spec.ID, sandbox.GuestMain(spec.Runtime))
	}
	return nil
}

// arguments are runsc's.
func (d *direct) arguments(g *guest) []string {
	args := []string{d.tool.path, "--root=" + g.dir.state(), "--log=" + g.dir.logFile()}
	if !d.root {
		args = append(args, "--rootless")
	}
	// The group is ours, made before and removed after. No file of the host is a socket or pipe to the guest.
	args = append(args, "--ignore-cgroups", "--network=none", "--host-uds=none", "--overlay2=none", "--oci-seccomp")
	if g.late {
		// What is mounted later appears in a root that is looked at anew each time; what is mounted now stays as it is.
		args = append(args, "--file-access=shared", "--file-access-mounts=exclusive")
	}
	if d.root && d.tool.directFS {
		// gVisor's kernel then opens no file of the host itself, and leaves it to the process that serves files. That one
		// alone sees what is mounted later, and so lets nobody rename or remove it; and when the guest is killed, it can
		// finish what it was asked (see kin). It costs time with every file.
		args = append(args, "--directfs=false")
	}
	args = append(args, "run", "--bundle="+g.dir.path, "--pid-file="+g.dir.pidFile())
	if d.tool.passFD {
		args = append(args, fmt.Sprintf("--pass-fd=%d:%d", sandbox.BridgeFD, sandbox.BridgeFD), fmt.Sprintf("--pass-fd=%d:%d", sandbox.SecretFD, sandbox.SecretFD))
	}
	return append(args, "mcprun-"+g.dir.name)
}

// run starts runsc, in its group from the first moment, on a thread that lives as long as it: it is to end with its
// parent, which for the kernel is the thread.
func (g *guest) run(d *direct, files []*os.File) error {
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setsid: true}
	if !d.root {
		mapCaller(attr)
	}
	errc := make(chan error)
	thread.Go(func() {
		err := g.group.Start(attr, func() (err error) {
			g.proc, err = os.StartProcess(d.tool.path, d.arguments(g), &os.ProcAttr{Dir: "/", Env: []string{}, Files: files, Sys: attr})
			return err
		})
		if err == nil {
			defer runtime.UnlockOSThread() // else it ends with this goroutine, and leaves the group so
		}
		if err != nil && g.proc != nil {
			_ = g.proc.Kill()
			_, _ = g.proc.Wait()
			g.proc = nil
		}
		failed := g.proc == nil
		errc <- err
		if !failed {
			g.supervise()
		}
	})
	if err := <-errc; err != nil {
		return fmt.Errorf("start %s: %w", d.tool.path, err)
	}
	return nil
}

// openEnds makes the pipes and the bridge; the guest's ends are returned in the order of their descriptors.
func (g *guest) openEnds() (ends []*os.File, err error) {
	for i := range g.streams {
		r, w, err := os.Pipe()
		if err != nil {
			return ends, fmt.Errorf("make a pipe: %w", err)
		}
		if i == 0 {
			r, w = w, r
		}
		g.streams[i] = r
		ends = append(ends, w)
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return ends, fmt.Errorf("make a socket pair: %w", err)
	}
	ends = append(ends, os.NewFile(uintptr(fds[1]), "guest"))
	host := os.NewFile(uintptr(fds[0]), "host")
	defer host.Close() // FileConn makes a copy
	conn, err := net.FileConn(host)
	if err != nil {
		return ends, fmt.Errorf("make a socket pair: %w", err)
	}
	g.bridge = conn.(*net.UnixConn)
	r, w, err := os.Pipe()
	if err != nil {
		return ends, fmt.Errorf("make a pipe: %w", err)
	}
	defer w.Close()
	ends = append(ends, r)
	if _, err := w.WriteString(g.secret); err != nil {
		return ends, fmt.Errorf("hand the secret over: %w", err)
	}
	return ends, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// abandon undoes a launch that failed.
func (g *guest) abandon() error {
	if g.proc != nil {
		g.Kill()
		<-g.done
	} else if err := g.group.Close(); err != nil {
		g.err = err
	}
	if g.stopCtx != nil {
		g.stopCtx()
	}
	closeAll(g.streams[:])
	if g.bridge != nil {
		g.bridge.Close()
	}
	return errors.Join(g.err, g.dir.remove())
}
