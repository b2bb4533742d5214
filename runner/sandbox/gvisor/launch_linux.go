package gvisor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"syscall"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/cgroup"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/proctree"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/stdio"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/supervise"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/thread"
)

const (
	// ownMemory is what gVisor itself may use in addition to the guest's memory, in bytes: its kernel, the gofer, and the file pages that
	// the machine's kernel caches for them. The group's limit exceeds the guest's by this amount.
	ownMemory = 192 << 20
	// ownTasks is the allowance for gVisor's own threads, mountTasks for the threads that serve one folder or file of the host (older
	// releases have five or six), and tasksEach for the threads that represent one of the guest's threads.
	ownTasks   = 192
	mountTasks = 8
	tasksEach  = 4
)

// launch starts runsc with the guest's bundle. Until begin, the guest is killed when ctx ends. After an error nothing of the guest is left.
func (d *direct) launch(ctx context.Context, spec sandbox.Spec, late bool) (_ *guest, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := spec.Check(); err != nil {
		return nil, err
	}
	if d.in, err = d.b.interp.WithPackages(d.in, spec.Packages); err != nil {
		return nil, err
	}
	dir, err := d.b.newRunDir(spec.ID)
	if err != nil {
		return nil, err
	}
	g := &guest{dir: dir, secret: spec.Secret, late: late, before: startCPU, done: make(chan struct{})}
	g.Guest = supervise.New(g.kill)
	lim := spec.Limits.WithDefaults()
	var ends []*os.File
	defer func() {
		stdio.CloseAll(ends)
		if err != nil {
			err = errors.Join(err, g.abandon())
		}
	}()
	if err := d.fill(dir, spec, late); err != nil {
		return nil, fmt.Errorf("fill the run's folder: %w", err)
	}
	if g.streams, ends, err = stdio.Open(); err != nil {
		return nil, err
	}
	secret, err := secretPipe(spec.Secret)
	if err != nil {
		return nil, err
	}
	ends = append(ends, secret)
	var missing []string
	bounds := cgroup.Limits{Memory: lim.Memory + ownMemory, Tasks: lim.Processes*tasksEach + len(d.files())*mountTasks + ownTasks}
	if g.group, missing = cgroup.New(dir.name, bounds, d.b.guard); missing != nil {
		d.b.log.Info("a gVisor guest runs without some control groups", "missing", missing)
	}
	files := ends
	if !d.tool.passFD {
		files = []*os.File{ends[sandbox.BridgeFD], ends[1], ends[2]}
	}
	if err := g.run(d, files); err != nil {
		return nil, err
	}
	if !d.tool.passFD {
		if err := handOver(g.streams, ends[0], spec.Secret); err != nil {
			return nil, fmt.Errorf("pass descriptors to the guest: %w", err)
		}
	}
	g.stopKill = context.AfterFunc(ctx, g.Kill)
	return g, nil
}

// arguments returns runsc's arguments.
func (d *direct) arguments(g *guest) []string {
	args := []string{d.tool.path, "--root=" + g.dir.File(stateFolder), "--log=" + g.dir.File(logFile)}
	if !d.root {
		args = append(args, "--rootless")
	}
	// We create the group before the start and remove it afterwards. No file of the host is a socket or pipe for the guest.
	args = append(args, "--ignore-cgroups", "--network=none", "--host-uds=none", "--overlay2=none", "--oci-seccomp")
	if g.late {
		// The root is not cached, so that later mounts appear in it. Present mounts do not change.
		args = append(args, "--file-access=shared", "--file-access-mounts=exclusive")
	}
	if d.root && d.tool.directFS {
		// gVisor's kernel then opens no file of the host itself but asks the gofer. Only the gofer sees later mounts, and so it lets nobody
		// rename or remove them. When the guest is killed, the gofer can finish its work (see processes). Every file access takes longer.
		args = append(args, "--directfs=false")
	}
	args = append(args, "run", "--bundle="+g.dir.Path, "--pid-file="+g.dir.File(pidFile))
	if d.tool.passFD {
		args = append(args, fmt.Sprintf("--pass-fd=%d:%d", sandbox.BridgeFD, sandbox.BridgeFD), fmt.Sprintf("--pass-fd=%d:%d", sandbox.SecretFD, sandbox.SecretFD))
	}
	return append(args, "mcprun-"+g.dir.name)
}

// run starts runsc in its group, on a thread that lives as long as runsc does, because the kernel sends the parent-death signal when the
// thread that started runsc ends.
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
			defer runtime.UnlockOSThread() // otherwise the thread ends with this goroutine, and so leaves the group
		}
		if err != nil && g.proc != nil {
			_ = g.proc.Kill()
			_, _ = g.proc.Wait()
			g.proc = nil
		}
		failed := g.proc == nil
		if !failed {
			g.tree = &proctree.Tree{Root: g.proc.Pid, MaxTasks: maxTasks, MaxMemory: math.MaxInt64}
		}
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

// secretPipe returns the read end of a pipe that holds the secret. The write end is already closed.
func secretPipe(secret string) (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("create a pipe: %w", err)
	}
	defer w.Close()
	if _, err := w.WriteString(secret); err != nil {
		r.Close()
		return nil, fmt.Errorf("pass the secret: %w", err)
	}
	return r, nil
}

// abandon undoes a launch that failed.
func (g *guest) abandon() error {
	if g.proc != nil {
		g.Kill()
		<-g.done
	} else if err := g.group.Close(); err != nil {
		g.err = err
	}
	if g.stopKill != nil {
		g.stopKill()
	}
	if g.streams != nil {
		g.streams.Close()
	}
	return errors.Join(g.err, g.dir.Remove())
}
