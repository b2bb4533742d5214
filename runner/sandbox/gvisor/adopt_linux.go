package gvisor

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/cgroup"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/mounts"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/supervise"
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
		return nil, errors.Join(fmt.Errorf("assign an idle guest to a run: %w", err), i.Close())
	}
	i.begin(ctx, spec)
	return i.guest, nil
}

func (i *idle) adopt(ctx context.Context, spec sandbox.Spec) error {
	if err := supervise.CheckAdopt(ctx, i.done, i.shape, i.direct.shape(spec)); err != nil {
		return err
	}
	lim := spec.Limits.WithDefaults()
	if i.late {
		if err := i.direct.prepareFolders(spec, i.late); err != nil {
			return err
		}
		if err := i.mountFolders(mounts.OfRun(spec, lim)); err != nil {
			return err
		}
	}
	i.before = i.spent()
	return i.group.SetLimits(cgroup.Limits{Memory: lim.Memory + ownMemory})
}

// mountFolders mounts folders in the gofer's mount namespace, so that the guest finds them in its root, which gVisor does not cache.
func (i *idle) mountFolders(all []mounts.Mount) error {
	_, gofer := i.processes.find(i.proc.Pid)
	if gofer == 0 {
		return errors.New("the guest's file server process was not found")
	}
	return mounts.Show(gofer, nil, all, func(root int) error {
		// The rest of the root must stay read-only.
		return unix.MountSetattr(root, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
	})
}

// Close implements sandbox.Idle.
func (i *idle) Close() error {
	i.Kill()
	<-i.done
	i.stopKill()
	i.streams.Close()
	return errors.Join(i.err, i.dir.Remove())
}
