package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/embedded/internal/guest"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/acl"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/jail"
)

// child is a started child process: a *jail.Child or a *unjailedChild.
type child interface {
	Bridge() net.Conn
	Kill()
	Done() <-chan struct{}
	Wait() (sandbox.Exit, error)
}

// Start starts a guest.
func (b *Backend) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Process, error) {
	p, err := b.start(ctx, spec, false)
	if err != nil {
		return nil, err // not p: a nil pointer in an interface
	}
	return p, nil
}

// start starts a guest. A warm guest waits for its run.
func (b *Backend) start(ctx context.Context, spec sandbox.Spec, warm bool) (_ *process, err error) {
	if spec.Runtime != sandbox.QuickJS {
		return nil, fmt.Errorf("the embedded sandbox has no runtime %q", spec.Runtime)
	}
	if err := spec.Turn.Await(ctx); err != nil {
		return nil, err
	}
	spec.Limits = spec.Limits.WithDefaults()
	p := &process{ctx: ctx, bridge: make(chan net.Conn, 1), secret: spec.Secret}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.scratch.remove())
		}
	}()
	bound, err := b.launch(ctx, spec, p, warm)
	if err != nil {
		return nil, err
	}
	frames := []any{setup{Secret: spec.Secret, Memory: engineMemory(spec.Limits.Memory), Idle: warm}}
	if !warm {
		frames = append(frames, bound)
	}
	p.conn = p.child.Bridge()
	if err := writeFrames(p.conn, frames...); err != nil {
		p.child.Kill()
		_, waitErr := p.child.Wait()
		return nil, errors.Join(fmt.Errorf("send the setup to the engine's process: %w", err), p.conn.Close(), waitErr)
	}
	p.bridge <- p.conn
	return p, nil
}

// launch starts the child in the strongest confinement that works here. It returns the binding of the run, which is unused if
// warm is set.
func (b *Backend) launch(ctx context.Context, spec sandbox.Spec, p *process, warm bool) (binding, error) {
	if b.jailed() {
		bound, err := b.startJail(ctx, spec, p, warm)
		if err == nil || !errors.Is(err, jail.ErrUnsupported) {
			return bound, err
		}
		b.opts.Logger.Debug("no namespaces for the embedded engine", "error", err)
	}
	var err error
	if p.scratch, err = makeScratch(b.opts.RuntimeDir, b.opts.Exe); err != nil {
		return binding{}, err
	}
	if b.jailed() {
		bound, err := b.startJail(ctx, spec, p, warm)
		if err == nil || !errors.Is(err, jail.ErrUnsupported) {
			return bound, err
		}
		b.opts.Logger.Debug("no jail for the embedded engine", "error", err)
	}
	child, err := startUnjailed(ctx, b.opts.Exe)
	if err != nil {
		return binding{}, err
	}
	p.child = child
	if warm {
		return binding{}, nil
	}
	bound, err := p.bind(ctx, spec)
	if err != nil {
		child.Kill()
		_, waitErr := child.Wait()
		err = errors.Join(err, child.conn.Close(), waitErr)
	}
	return bound, err
}

// startJail starts the child in a jail. A scratch folder is used if the machine offers no namespaces: the jail then cannot mount empty
// folders, and those in the scratch folder take their place.
func (b *Backend) startJail(ctx context.Context, spec sandbox.Spec, p *process, warm bool) (bound binding, err error) {
	cfg := jail.Config{ID: spec.ID, Exe: b.opts.Exe, Entry: jailEntry, Dir: "/", Limits: spec.Limits, AllowNoNamespaces: p.scratch.path != "", Warm: warm}
	if warm {
		cfg.Dirs = []string{sandbox.WorkspaceDir, sandbox.TreeDir, sandbox.SkillsDir}
	} else {
		if cfg.Mounts, cfg.Tmpfs, bound, err = views(spec, p.scratch); err != nil {
			return bound, err
		}
		cfg.Stdin, cfg.Stdout, cfg.Stderr = spec.Stdin, spec.Stdout, spec.Stderr
	}
	c, err := jail.Start(ctx, cfg)
	if err == nil {
		p.child = c
	}
	return bound, err
}

// views returns the mounts of a jail for a run, and gives the jail's user access to the folders that it may write to.
func views(spec sandbox.Spec, s scratch) (mounts []jail.Mount, tmpfs []string, bound binding, err error) {
	bound = newBinding(spec.Limits)
	show := func(source, target string, writable bool, told *string) {
		if source == "" {
			return
		}
		*told = target
		mounts = append(mounts, jail.Mount{Source: source, Target: target, Writable: writable})
		if uid := jail.User(); writable && uid != os.Geteuid() {
			err = errors.Join(err, acl.Grant(source, uid))
		}
	}
	f := &bound.Folders
	show(spec.Tree, sandbox.TreeDir, false, &f.Tree)
	show(spec.Skills, sandbox.SkillsDir, false, &f.Skills)
	switch {
	case spec.Workspace != "":
		show(spec.Workspace, sandbox.WorkspaceDir, true, &f.Workspace)
	case s.path != "":
		show(s.workspace(), sandbox.WorkspaceDir, true, &f.Workspace)
	default:
		tmpfs, f.Workspace = []string{sandbox.WorkspaceDir}, sandbox.WorkspaceDir
	}
	if s.path != "" {
		show(s.tmp(), tmpDir, true, &f.Tmp)
		f.TmpSize = spec.Limits.Tmp
	}
	f.Tmp = tmpDir
	return mounts, tmpfs, bound, err
}

// bind attaches a started child to a run, and returns the binding to send to it.
func (p *process) bind(ctx context.Context, spec sandbox.Spec) (binding, error) {
	switch c := p.child.(type) {
	case *jail.Child:
		mounts, tmpfs, bound, err := views(spec, p.scratch)
		if err != nil {
			return bound, err
		}
		return bound, c.Bind(ctx, jail.Binding{
			Mounts: mounts, Tmpfs: tmpfs, Limits: spec.Limits, Stdin: spec.Stdin, Stdout: spec.Stdout, Stderr: spec.Stderr,
		})
	case *unjailedChild:
		if spec.Workspace == "" {
			spec.Workspace = p.scratch.workspace()
		}
		bound := newBinding(spec.Limits)
		bound.Folders = guest.Folders{Workspace: spec.Workspace, Tree: spec.Tree, Skills: spec.Skills, Tmp: p.scratch.tmp(), TmpSize: spec.Limits.Tmp}
		return bound, c.attach(ctx, spec)
	}
	return binding{}, fmt.Errorf("unknown type of child: %T", p.child)
}

// tmpDir is an empty folder of the script that is removed with the run.
const tmpDir = "/tmp"

// engineMemory returns how many bytes of a run's memory limit the engine's heap may use. The process around it needs the rest.
func engineMemory(limit int64) int64 {
	const process = 48 << 20
	if limit < 4*process {
		return limit * 3 / 4
	}
	return limit - process
}
