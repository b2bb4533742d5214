package docker

import (
	"errors"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox/internal/kernelview"
)

// A rootless engine may be unable to create control groups: with version 1 it never can, and with version 2 it needs delegated
// controllers. Podman does not report this. In that case this process enforces the limits, as it does for sandboxes that it
// starts itself: it adds up what the container's processes use, and kills the container. The kernel bounds what one process can
// use at once, and how far a fork bomb gets between two measurements (watchedUlimits).

// watchedPollInterval is the time between two measurements of a container without a control group.
const watchedPollInterval = 25 * time.Millisecond

// Without a control group, nothing counts memory that processes share without a file: all of it stays allocated while one page
// is mapped anywhere, and each process's usage includes only the pages that it has touched. So such mappings are refused:
// MAP_SHARED (1) with MAP_ANONYMOUS (32), beside MAP_HUGETLB (262144), and mappings of /dev/zero.
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

// checkWatched refuses an engine without control groups if this process cannot enforce the limits in its place.
func (b *Backend) checkWatched(e *engine) error {
	if !e.watched || e.remote == "" && kernelview.CanMeasure() {
		return nil
	}
	why := "it is rootless without control groups, so it cannot limit memory or processes"
	if e.remote != "" {
		why += ", and " + e.remote
	}
	return &EngineError{Host: b.opt.Host, Err: errors.New(why),
		hint: "use cgroup v2 on its machine and delegate memory, pids and cpu to its user, or use another engine or sandbox"}
}
