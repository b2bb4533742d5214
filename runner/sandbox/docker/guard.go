package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/moby/moby/client"

	"github.com/mcpgen/mcpgen/runner/sandbox/internal/reaper"
)

// Labels of everything that a run creates in an engine.
const (
	labelRun   = "mcprun.run"
	labelOwner = "mcprun.owner"
)

// removerName is argv[0] of the process that removes the containers of a process that was killed. Its arguments are the
// engine's address, the folder of its certificates, and the value of labelOwner.
const removerName = "mcprun-remove-containers"

const (
	// removerTime is how long that process tries, and recheckTime how long after its first success it checks again: the
	// engine may still be creating a container that was requested just before.
	removerTime = 2 * time.Minute
	recheckTime = 3 * time.Second
)

// Init must be the first call in main of every program that [Options].Exe names. In the process that removes what a killed
// process has left behind, it does not return. In others it does nothing.
func Init() {
	reaper.Init()
	if len(os.Args) != 4 || os.Args[0] != removerName {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), removerTime)
	defer cancel()
	b := New(Options{Host: os.Args[1], CertDir: os.Args[2]})
	if b.removeContainersOf(ctx, os.Args[3]) != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// removeContainersOf removes the containers of a process that is dead, until there are none or ctx ends.
func (b *Backend) removeContainersOf(ctx context.Context, owner string) error {
	for clean := false; ; {
		err := b.removeOwned(ctx, owner)
		if err == nil && clean {
			return nil
		}
		clean = err == nil
		select {
		case <-time.After(recheckTime):
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
	}
}

// removeOwned removes the containers of owner, once.
func (b *Backend) removeOwned(ctx context.Context, owner string) error {
	if b.broken != nil {
		return b.broken
	}
	reqCtx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	found, err := b.client.ContainerList(reqCtx, client.ContainerListOptions{
		All: true, Filters: make(client.Filters).Add("label", labelOwner+"="+owner),
	})
	if err != nil {
		return fmt.Errorf("list the containers of a dead process: %w", b.engineError(err))
	}
	var errs []error
	for _, c := range found.Items {
		errs = append(errs, b.removeContainer(ctx, c.ID))
	}
	return errors.Join(errs...)
}

// guard makes sure that this process's containers are removed if it is killed. Call it before making the first one.
func (b *Backend) guard() error {
	b.guardMu.Lock()
	defer b.guardMu.Unlock()
	if b.opt.Exe == "" || b.release != nil {
		return nil
	}
	var err error
	b.release, err = reaper.GuardCommand(b.opt.Exe, removerName, b.opt.Host, b.opt.CertDir, b.owner)
	return err
}

// unguard undoes guard, unless the engine was gone when a container had to be removed: the process that removes containers
// tries again when this one has ended.
func (b *Backend) unguard() {
	b.guardMu.Lock()
	defer b.guardMu.Unlock()
	if b.release != nil && !b.left.Load() {
		b.release()
		b.release = nil
	}
}

// removeContainer kills and removes a container and returns when it is gone. If the engine does not answer, the container
// stays guarded.
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
		if lost := new(EngineError); errors.As(b.engineError(err), &lost) {
			b.left.Store(true)
			return fmt.Errorf("remove container %s: %w", id, lost)
		}
		// Another removal may be in progress; wait for it.
		select {
		case <-ctx.Done():
			return fmt.Errorf("remove container %s: %w", id, errors.Join(b.engineError(ctx.Err()), err))
		case <-time.After(20 * time.Millisecond):
		}
	}
}
