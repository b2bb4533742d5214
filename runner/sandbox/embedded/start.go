package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/acl"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/jail"
)

// child is a started process of either kind. *jail.Child and *plainChild are the two.
type child interface {
	Bridge() net.Conn
	Kill()
	Wait() (sandbox.Exit, error)
}

// Start starts a guest.
func (b *Backend) Start(ctx context.Context, spec sandbox.Spec) (_ sandbox.Process, err error) {
	if spec.Runtime != sandbox.QuickJS {
		return nil, fmt.Errorf("the embedded sandbox has no runtime %q", spec.Runtime)
	}
	if !engineAvailable {
		return nil, errors.New(b.Probe(ctx).Detail)
	}
	spec.Limits = spec.Limits.WithDefaults()
	p := &process{ctx: ctx, bridge: make(chan net.Conn, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.scratch.remove())
		}
	}()
	if p.child, err = b.launch(ctx, spec, p); err != nil {
		return nil, err
	}
	conn := p.child.Bridge()
	if err := writeSetup(conn, p.setup); err != nil {
		p.child.Kill()
		_, waitErr := p.child.Wait()
		return nil, errors.Join(fmt.Errorf("prepare the engine's process: %w", err), conn.Close(), waitErr)
	}
	p.bridge <- conn
	return p, nil
}

// launch starts the child in the best confinement there is.
func (b *Backend) launch(ctx context.Context, spec sandbox.Spec, p *process) (child, error) {
	p.setup = setup{Secret: spec.Secret, Memory: engineMemory(spec.Limits.Memory)}
	if b.jailed() {
		c, err := b.startJail(ctx, spec, p, false)
		if err == nil || !errors.Is(err, jail.ErrUnsupported) {
			return c, err
		}
		b.opts.Logger.Debug("no namespaces for the embedded engine", "error", err)
	}
	var err error
	if p.scratch, err = makeScratch(b.opts.RuntimeDir, spec.ID); err != nil {
		return nil, err
	}
	if spec.Workspace == "" {
		spec.Workspace = filepath.Join(string(p.scratch), "workspace")
	}
	if b.jailed() {
		c, err := b.startJail(ctx, spec, p, true)
		if err == nil || !errors.Is(err, jail.ErrUnsupported) {
			return c, err
		}
		b.opts.Logger.Debug("no jail for the embedded engine", "error", err)
	}
	p.setup.Folders = folders{Workspace: spec.Workspace, Tree: spec.Tree, Tmp: p.scratch.tmp()}
	return startPlain(ctx, b.opts.Exe, spec)
}

// startJail starts the child in a jail. bare says that the machine gave no namespaces: the jail then makes no folders,
// and what lies in the scratch folder takes their place.
func (b *Backend) startJail(ctx context.Context, spec sandbox.Spec, p *process, bare bool) (child, error) {
	cfg := jail.Config{
		ID: spec.ID, Exe: b.opts.Exe, Entry: jailEntry, Dir: "/", Limits: spec.Limits, AllowNoNamespaces: bare,
		Stdin: spec.Stdin, Stdout: spec.Stdout, Stderr: spec.Stderr,
	}
	show := func(source, target string, writable bool) error {
		if source == "" {
			return nil
		}
		cfg.Mounts = append(cfg.Mounts, jail.Mount{Source: source, Target: target, Writable: writable})
		if uid := jail.User(); writable && uid != os.Geteuid() {
			return acl.Grant(source, uid)
		}
		return nil
	}
	err := errors.Join(show(spec.Workspace, sandbox.WorkspaceDir, true), show(spec.Tree, sandbox.TreeDir, false))
	if bare {
		err = errors.Join(err, show(p.scratch.tmp(), tmpDir, true))
	}
	if err != nil {
		return nil, err
	}
	if spec.Workspace == "" {
		cfg.Tmpfs = []string{sandbox.WorkspaceDir}
	}
	p.setup.Folders = folders{Workspace: sandbox.WorkspaceDir, Tmp: tmpDir}
	if spec.Tree != "" {
		p.setup.Folders.Tree = sandbox.TreeDir
	}
	c, err := jail.Start(ctx, cfg)
	if err != nil {
		return nil, err // not c: a nil pointer in an interface
	}
	return c, nil
}

// tmpDir is where scripts find an empty folder that vanishes with the run.
const tmpDir = "/tmp"

// engineMemory is the part of a run's memory that the engine may use for itself: the rest is the process around it.
func engineMemory(limit int64) int64 {
	const process = 48 << 20
	if limit < 4*process {
		return limit * 3 / 4
	}
	return limit - process
}
