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

	unixOnly  = `"args": [{"index": 0, "value": 1, "op": "SCMP_CMP_NE"}]`
	unixOrTCP = `"args": [{"index": 0, "value": 2, "op": "SCMP_CMP_GT"}]
		},
		{
			"names": ["socket"], "action": "SCMP_ACT_ALLOW",
			"args": [{"index": 0, "value": 2, "op": "SCMP_CMP_EQ"}, {"index": 1, "value": 15, "valueTwo": 1, "op": "SCMP_CMP_MASKED_EQ"}, {"index": 2, "value": 0, "op": "SCMP_CMP_EQ"}]
		},
		{
			"names": ["socket"], "action": "SCMP_ACT_ALLOW",
			"args": [{"index": 0, "value": 2, "op": "SCMP_CMP_EQ"}, {"index": 1, "value": 15, "valueTwo": 1, "op": "SCMP_CMP_MASKED_EQ"}, {"index": 2, "value": 6, "op": "SCMP_CMP_EQ"}]`
	setAny       = `{"names": ["setsockopt"], "action": "SCMP_ACT_ALLOW"}` // not 31, TCP_ULP, which gives a connection to other parts of the kernel
	setMost      = `{"names": ["setsockopt"], "action": "SCMP_ACT_ALLOW", "args": [{"index": 2, "value": 31, "op": "SCMP_CMP_NE"}]}`
	useSockets   = `"connect", "getpeername"`
	offerSockets = `"accept", "accept4", "bind", "connect", "listen", "getpeername"`
)

// seccomp is the profile of the engine's containers. With a network it allows TCP over IPv4 too.
func (e *engine) seccomp(network bool) string {
	profile := seccompProfile
	if network {
		profile = strings.NewReplacer(unixOnly, unixOrTCP, useSockets, offerSockets, setAny, setMost).Replace(profile)
	}
	if e.watched {
		profile = strings.Replace(profile, mapAll, mapFewer, 1)
	}
	return profile
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
