package docker

import (
	"errors"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// A rootless engine may have no control groups that it could make: with those of version 1 none has, with those of
// version 2 one to which nobody has delegated any. Podman does not even say so. Then this process holds the limits, as it
// does for sandboxes that it starts itself: it adds up what the container's processes use, and kills the container. What
// one process can take at once, and how far a fork bomb gets in between, is bounded by the kernel (watchedUlimits).

// watchPause is the time between two looks at a container that nobody else bounds.
const watchPause = 25 * time.Millisecond

// watch names the limit that a container has passed.
func watch(now counters, lim sandbox.Limits) string {
	switch {
	case now.tasks > lim.Processes: // first: a fork bomb waits for nobody
		return sandbox.LimitProcesses
	case now.now > lim.Memory:
		return sandbox.LimitMemory
	}
	return ""
}

// checkWatched refuses an engine that cannot hold the limits where this process can't either.
func (b *Backend) checkWatched(e *engine) error {
	if !e.watched || e.apart == "" && canWatch() {
		return nil
	}
	why := "it is rootless and has no control groups, so it limits neither memory nor processes"
	if e.apart != "" {
		why += ", and " + e.apart
	}
	return &EngineError{Host: b.opt.Host, Err: errors.New(why),
		hint: "have its machine use control groups of version 2 and delegate memory, pids and cpu to its user, or use another engine or sandbox"}
}
