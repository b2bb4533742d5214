package docker

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/acl"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/folder"
)

// prepareFolders makes sure that the guest will find its workspace writable and its tree readable.
func (b *Backend) prepareFolders(spec sandbox.Spec, e *engine) error {
	stranger := !e.rootless && b.opt.UID != os.Geteuid()
	if spec.Workspace != "" {
		if err := folder.Check(spec.Workspace); err != nil {
			return err
		}
		if stranger {
			if err := acl.Grant(spec.Workspace, b.opt.UID); err != nil {
				return err
			}
		}
	}
	for _, f := range readOnlyFolders(spec) {
		if err := folder.Check(f.source); err != nil {
			return err
		}
		if stranger {
			if err := b.readable.Check(f.source, b.opt.UID, b.opt.GID); err != nil {
				return err
			}
		}
		if spec.Workspace != "" {
			if err := folder.Place(spec.Workspace, f.name); err != nil {
				return err
			}
		}
	}
	return nil
}

// sources is what the engine is told to show in a container, as it was before.
func sources(create client.ContainerCreateOptions) folder.Seen {
	var paths []string
	for _, m := range create.HostConfig.Mounts {
		if m.Type == mount.TypeBind {
			paths = append(paths, m.Source)
		}
	}
	return folder.See(paths...)
}

// vanished returns a *folder.Error when the launch of a container failed because one of its folders was gone on this
// machine, and err itself when that may have been so: this says nothing of the engine. It is nil for other errors, and
// where the engine does not see what is there. It must be called before the launch is undone.
func (b *Backend) vanished(ctx context.Context, err error, create client.ContainerCreateOptions, img image, seen folder.Seen) error {
	said := err.Error()
	if f, ok := errors.AsType[*folder.Error](seen.Vanished()); ok && (unseen(err) || strings.Contains(said, f.Path)) {
		return f
	}
	if !strings.Contains(said, noSource) || ctx.Err() != nil {
		return nil
	}
	// It may be there again.
	asking, cancel := context.WithTimeout(ctx, createTime)
	defer cancel()
	switch again := b.shows(asking, img, create.Config.Labels[labelOwner], create.HostConfig.Mounts); {
	case unseen(again):
		return nil
	case again != nil:
		return err
	}
	for _, m := range create.HostConfig.Mounts {
		if strings.HasSuffix(said, m.Source) {
			return folder.Vanished(m.Source)
		}
	}
	return err
}
