package gvisor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// idle is a guest that waits for its run.
type idle struct {
	*guest
	direct *direct
	shape  sandbox.Shape
}

// Done implements sandbox.Idle.
func (i *idle) Done() <-chan struct{} { return i.done }

// Adopt implements sandbox.Idle.
func (i *idle) Adopt(ctx context.Context, spec sandbox.Spec) (sandbox.Process, error) {
	if err := i.adopt(ctx, spec); err != nil {
		return nil, errors.Join(fmt.Errorf("hand a waiting guest over: %w", err), i.Close())
	}
	i.begin(ctx, spec)
	return i.guest, nil
}

func (i *idle) adopt(ctx context.Context, spec sandbox.Spec) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-i.done:
		return errors.New("it has ended")
	default:
	}
	if got := i.direct.shape(spec); got != i.shape {
		return fmt.Errorf("it is of another shape: %+v, and %+v is wanted", i.shape, got)
	}
	lim := spec.Limits.WithDefaults()
	if i.late {
		if err := i.direct.prepareFolders(spec, i.late); err != nil {
			return err
		}
		i.kin.find(i.proc.Pid)
		_, files := i.kin.pids()
		if err := show(files, places(spec, lim)); err != nil {
			return err
		}
	}
	i.before.Store(int64(i.spent()))
	return i.group.SetMemory(lim.Memory + ownMemory)
}

// Close implements sandbox.Idle.
func (i *idle) Close() error {
	i.Kill()
	<-i.done
	i.stopCtx()
	i.close()
	return errors.Join(i.err, i.dir.remove())
}

// place is a folder of the host, or an empty one in memory, and where the guest is to see it.
type place struct {
	source   string // empty: size bytes in memory
	size     int64
	target   string // below the guest's root, without the '/' in front
	writable bool
}

// places lists what a guest is shown that did not know its run when it was started, outer folders first.
func places(spec sandbox.Spec, lim sandbox.Limits) []place {
	all := []place{{source: spec.Workspace, size: lim.Tmp, target: strings.TrimPrefix(sandbox.WorkspaceDir, "/"), writable: true}}
	for _, f := range shownTwice(spec) {
		all = append(all, place{source: f.Source, target: strings.TrimPrefix(f.Target, "/")})
	}
	return all
}
