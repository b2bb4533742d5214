//go:build linux && (amd64 || arm64)

package jail

import "github.com/mcpgen/mcpgen/runner/sandbox"

// Gauge adds up what a process and all below it use, as the jail's own watchdog does: for sandboxes that another program
// has started and that are in no control group. The process must be the first of a process namespace, or there is
// something below it that is not counted. It is not safe for concurrent use.
type Gauge struct {
	init int
	sum  clock
}

// NewGauge returns one for the process with the number init.
func NewGauge(init int) (*Gauge, error) { return &Gauge{init: init}, nil }

// Look returns the figures of now. It stops counting when there are more tasks than maxTasks, and counts memory that
// processes share once only where it is more than enough bytes otherwise. Files count that are in folders of the sandbox
// which are file systems of its own in memory.
func (g *Gauge) Look(maxTasks int, enough int64, folders ...string) Reading {
	used := measure(g.init, true, maxTasks)
	r := Reading{CPU: max(used.cpu, g.sum.add(used.own)), Tasks: used.tasks, PIDs: used.pids}
	r.Memory = used.closely(enough, filed(g.init, folders)) + queuedMemory(used.pids, enough, false)
	return r
}

// taskSlack is how many tasks beyond its limit a sandbox can have until a watchdog sees them.
const taskSlack = 2048

// MostTasks is the RLIMIT_NPROC of a sandbox of the user uid whose processes the kernel counts together with others:
// no exact limit, but a fork bomb does not outrun a watchdog by more than this.
func MostTasks(uid int, l sandbox.Limits) int { return tasksOf(uid) + l.Processes + taskSlack }
