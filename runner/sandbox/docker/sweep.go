package docker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/mcpgen/mcpgen/gen/owner"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/folder"
)

// What is written on whatever a run creates.
const (
	labelRun   = "mcprun.run"
	labelOwner = "mcprun.owner"
)

const (
	// strangerAge is how old a container that does not run must be to be removed when its owner cannot be judged.
	strangerAge = 10 * time.Minute
)

// Sweep removes the containers and folders of hosts that are dead. Those of living hosts stay, and so do running
// containers whose host cannot be judged from here.
func (b *Backend) Sweep(ctx context.Context) error {
	if b.broken != nil {
		return b.broken
	}
	me, err := owner.Self()
	if err != nil {
		return err
	}
	first, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if err := b.agree(first); err != nil {
		return errors.Join(fmt.Errorf("look for what runs have left behind: %w", b.asked(err)), b.sweepFolders(me))
	}
	err = errors.Join(b.removeOrphans(ctx), b.sweepContainers(ctx, me))
	var gone *EngineError
	if !errors.As(err, &gone) { // one that does not answer need not be asked again
		err = errors.Join(err, b.sweepVolumes(ctx, me))
	}
	return errors.Join(err, b.sweepFolders(me))
}

func (b *Backend) sweepContainers(ctx context.Context, me owner.Owner) error {
	list, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	found, err := b.client.ContainerList(list, client.ContainerListOptions{
		All: true, Filters: make(client.Filters).Add("label", labelOwner),
	})
	if err != nil {
		return fmt.Errorf("list what runs have left behind: %w", b.asked(err))
	}
	var errs []error
	for _, c := range found.Items {
		if !abandoned(c, me, time.Now()) {
			continue
		}
		b.log.Info("remove a container whose host is dead", "container", c.ID, "run", c.Labels[labelRun])
		errs = append(errs, b.removeContainer(ctx, c.ID))
	}
	return errors.Join(errs...)
}

func abandoned(c container.Summary, me owner.Owner, now time.Time) bool {
	o, ok := owner.Parse(c.Labels[labelOwner])
	if ok {
		switch o.Judge(me) {
		case owner.Alive:
			return false
		case owner.Dead:
			return true
		}
	}
	return c.State != container.StateRunning && now.Sub(time.Unix(c.Created, 0)) > strangerAge
}

func (b *Backend) sweepFolders(me owner.Owner) error {
	entries, err := os.ReadDir(b.opt.RuntimeDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list the folders of runs: %w", err)
	}
	if err := folder.Private(b.opt.RuntimeDir); err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		dir := &runDir{path: filepath.Join(b.opt.RuntimeDir, e.Name())}
		if !e.IsDir() || !strings.HasPrefix(e.Name(), runDirPrefix) || !folder.Abandoned(dir.path, me, time.Now()) {
			continue
		}
		if err := dir.remove(); err != nil {
			errs = append(errs, fmt.Errorf("remove the folder of a dead run: %w", err))
		}
	}
	return errors.Join(errs...)
}

// removeContainer kills and removes a container and returns when it is gone, which may be another's doing. One of an
// engine that does not answer is remembered.
func (b *Backend) removeContainer(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(detach(ctx), removeTime)
	defer cancel()
	for {
		_, err := b.client.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		if gone(err) {
			return nil
		}
		if err == nil {
			_, err = b.client.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
			if gone(err) {
				return nil
			}
		}
		if lost := new(EngineError); errors.As(b.asked(err), &lost) {
			b.remember(id)
			return fmt.Errorf("remove container %s: %w", id, lost)
		}
		// Another removal may be under way; it has to be waited for.
		select {
		case <-ctx.Done():
			return fmt.Errorf("remove container %s: %w", id, errors.Join(b.asked(ctx.Err()), err))
		case <-time.After(20 * time.Millisecond):
		}
	}
}
