package docker

import (
	"errors"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// A rootless engine may have no control groups that it could make: with those of version 1 none has, with those of
// version 2 one to which nobody has delegated any. Podman does not report this. Then this process enforces the limits, as it
// does for sandboxes that it starts itself: it adds up what the container's processes use, and kills the container. What
// one process can take at once, and how far a fork bomb gets in between, is bounded by the kernel (watchedUlimits).

// watchPause is the time between two measurements of a container without a control group.
const watchPause = 25 * time.Millisecond

// watch names the limit that a container has passed.
func watch(now counters, lim sandbox.Limits) string {
	switch {
	case now.tasks > lim.Processes: // first: a fork bomb is the most urgent
		return sandbox.LimitProcesses
	case now.now > lim.Memory:
		return sandbox.LimitMemory
	}
	return ""
}

// Memory that processes share without a file is counted by nobody where there is no control group: it stays as a whole for
// as long as one page of it is mapped anywhere, while no process's figures have more than the pages that it has touched. So
// there it is refused: as MAP_SHARED (1) with MAP_ANONYMOUS (32), beside MAP_HUGETLB (262144), and as what is mapped from /dev/zero.
const (
	zeroDevice = "/dev/zero"
	mapAll     = `{"names": ["mmap"], "action": "SCMP_ACT_ALLOW", "args": [{"index": 3, "value": 262144, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}]}`
	mapFewer   = `
		{"names": ["mmap"], "action": "SCMP_ACT_ALLOW", "args": [{"index": 3, "value": 262177, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}]},
		{"names": ["mmap"], "action": "SCMP_ACT_ALLOW", "args": [{"index": 3, "value": 262177, "valueTwo": 1, "op": "SCMP_CMP_MASKED_EQ"}]},
		{"names": ["mmap"], "action": "SCMP_ACT_ALLOW", "args": [{"index": 3, "value": 262177, "valueTwo": 32, "op": "SCMP_CMP_MASKED_EQ"}]}`
)

// seccomp is the profile of the engine's containers.
func (e *engine) seccomp() string {
	if e.watched {
		return strings.Replace(seccompProfile, mapAll, mapFewer, 1)
	}
	return seccompProfile
}

// checkWatched refuses an engine that cannot hold the limits where this process can't either.
func (b *Backend) checkWatched(e *engine) error {
	if !e.watched || e.remote == "" && canWatch() {
		return nil
	}
	why := "it is rootless and has no control groups, so it limits neither memory nor processes"
	if e.remote != "" {
		why += ", and " + e.remote
	}
	return &EngineError{Host: b.opt.Host, Err: errors.New(why),
		hint: "have its machine use control groups of version 2 and delegate memory, pids and cpu to its user, or use another engine or sandbox"}
}
