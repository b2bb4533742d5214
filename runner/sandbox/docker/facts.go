package docker

import (
	"context"
	"fmt"
	"slices"

	"github.com/moby/moby/api/types/system"
	"github.com/moby/moby/client"
	"golang.org/x/sync/errgroup"
)

// facts returns the facts about the engine, which are requested once. An engine that would not enforce what this package
// promises is an error.
func (b *Backend) facts(ctx context.Context) (*engine, error) {
	if b.broken != nil {
		return nil, b.broken
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.engine != nil {
		return b.engine, nil
	}
	e, err := b.queryEngine(ctx)
	if err != nil {
		return nil, err
	}
	b.engine = e
	return e, nil
}

func (b *Backend) queryEngine(ctx context.Context) (*engine, error) {
	reqCtx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	var res client.SystemInfoResult
	var version client.ServerVersionResult
	// Both at the same time, because Podman takes some tenths of a second for each.
	var both errgroup.Group
	both.Go(func() (err error) {
		res, err = b.client.Info(reqCtx, client.InfoOptions{})
		return err
	})
	both.Go(func() (err error) {
		version, err = b.client.ServerVersion(reqCtx, client.ServerVersionOptions{})
		return err
	})
	err := both.Wait()
	if ended := contextErr(ctx); ended != nil { // the caller ended this, not the engine
		return nil, ended
	}
	switch {
	case err != nil && reqCtx.Err() != nil:
		return nil, &EngineError{Host: b.opt.Host, Err: errNoAnswer}
	case err != nil:
		return nil, b.engineError(err)
	}
	podman := slices.ContainsFunc(version.Components, func(c system.ComponentVersion) bool { return c.Name == "Podman Engine" })
	if podman {
		if err := b.queryPodman(reqCtx, &res.Info); err != nil {
			return nil, b.engineError(err)
		}
	}
	e, refused := engineFrom(res.Info, b.opt.Runtime)
	if refused != nil {
		refused.Host = b.opt.Host
		return nil, refused
	}
	e.podman = podman
	if why := b.whyRemote(res.Info); why != "" {
		e.markRemote(why)
	}
	if err := b.check(e); err != nil {
		return nil, err
	}
	if b.plainTCP() {
		e.missing = append(e.missing, "encryption: the engine is reached without TLS; others on the network can read and change a run")
	}
	return e, nil
}

// check refuses an engine that cannot do what is needed because of where it runs.
func (b *Backend) check(e *engine) error {
	if err := b.checkRemote(e); err != nil {
		return err
	}
	return b.checkWatched(e)
}

// engineFrom returns what the engine's description says about it. An engine that cannot enforce the limits, or does not have
// the OCI runtime, is an error.
func engineFrom(info system.Info, runtime string) (*engine, *EngineError) {
	e := &engine{
		version:  info.ServerVersion,
		cgroup:   info.CgroupVersion,
		rootless: hasOption(info.SecurityOptions, "rootless"),
		remapped: hasOption(info.SecurityOptions, "userns"),
		arch:     goArch(info.Architecture),
	}
	refuse := func(hint, format string, args ...any) (*engine, *EngineError) {
		return nil, &EngineError{Err: fmt.Errorf(format, args...), hint: hint}
	}
	switch {
	case info.OSType != "" && info.OSType != "linux":
		return refuse("switch it to Linux containers, or use another sandbox", "it runs %s containers", info.OSType)
	case !hasOption(info.SecurityOptions, "seccomp"):
		return refuse("use an engine and a kernel with seccomp", "it does not filter system calls (seccomp)")
	case e.rootless && (!info.MemoryLimit || !info.PidsLimit):
		e.watched = true
		e.missing = append(e.missing, "cgroup: not available to this rootless engine; a watchdog limits memory, processes and processor time")
	case !info.MemoryLimit:
		return refuse("enable the memory cgroup", "it does not limit memory")
	case !info.PidsLimit:
		return refuse("enable the pids cgroup", "it does not limit processes")
	}
	if _, ok := info.Runtimes[runtime]; runtime != "" && !ok {
		return refuse(fmt.Sprintf("add %q to \"runtimes\" in the engine's daemon.json and restart it", runtime), "it has no OCI runtime %q", runtime)
	}
	if !info.CPUCfsQuota {
		e.missing = append(e.missing, "cpu quota: not supported by the engine; a run can use every processor")
	}
	if !info.SwapLimit && !e.watched {
		e.missing = append(e.missing, "swap limit: not supported by the engine; a run can use as much swap as memory")
	}
	if e.remapped {
		e.missing = append(e.missing, "user namespace: the engine's own mapping is turned off for runs, because they write to the workspace")
	}
	return e, nil
}
