package process

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/jail"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/meter"
)

var _ sandbox.Warmer = (*Backend)(nil)

// Shape implements sandbox.Warmer: a guest is started for an interpreter with its packages and, with node, for the size of a large heap.
func (b *Backend) Shape(spec sandbox.Spec) sandbox.Shape {
	return sandbox.Shape{Runtime: spec.Runtime, Limits: sandbox.Limits{Memory: meter.LargeHeap(spec.Runtime, spec.Limits)}}.WithPackages(spec)
}

// Warm implements sandbox.Warmer.
func (b *Backend) Warm(ctx context.Context, spec sandbox.Spec) (sandbox.Idle, error) {
	in, err := b.find(ctx, spec)
	if err != nil {
		return nil, err
	}
	cfg, err := b.config(in, spec)
	if err != nil {
		return nil, err
	}
	cfg.Warm, cfg.Dirs = true, []string{sandbox.WorkspaceDir, sandbox.TreeDir, sandbox.SkillsDir}
	if err := spec.Turn.Await(ctx); err != nil {
		return nil, err
	}
	child, err := jail.Start(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("start the process sandbox: %w", err)
	}
	return &idle{backend: b, child: child, shape: b.Shape(spec), secret: spec.Secret}, nil
}

// idle is one jail as a sandbox.Idle.
type idle struct {
	backend *Backend
	child   *jail.Child
	shape   sandbox.Shape
	secret  string
	taken   bool // the bridge was taken
}

// Bridge implements sandbox.Idle.
func (g *idle) Bridge(ctx context.Context) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	g.taken = true
	return g.child.Bridge(), nil
}

// Done implements sandbox.Idle.
func (g *idle) Done() <-chan struct{} { return g.child.Done() }

// Adopt implements sandbox.Idle.
func (g *idle) Adopt(ctx context.Context, spec sandbox.Spec) (sandbox.Process, error) {
	heap := watchHeap(&spec)
	err := g.bind(ctx, spec)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("assign an idle process sandbox to a run: %w", err), g.Close())
	}
	g.backend.report(g.child)
	return &guest{child: g.child, heap: heap, secret: g.secret, taken: g.taken}, nil
}

func (g *idle) bind(ctx context.Context, spec sandbox.Spec) error {
	if got := g.backend.Shape(spec); got != g.shape {
		return fmt.Errorf("it was prepared for %+v, want %+v", g.shape, got)
	}
	if err := g.backend.prepareFolders(spec); err != nil {
		return err
	}
	return g.child.Bind(ctx, binding(spec))
}

// Close implements sandbox.Idle.
func (g *idle) Close() error {
	g.child.Kill()
	_, err := g.child.Wait()
	return err
}
