package docker

import (
	"context"
	"math"
	"time"

	"github.com/moby/moby/api/types/container"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/kernelview"
)

// sigPending is the maximum number of pending signals and timers. The kernel counts them per user, and so for all runs together.
// A run that used all of them would leave none for the others, which need some to start.
const sigPending = 1024

// guestCPUs is the number of processors that a guest may use.
const guestCPUs = 2

func ulimits(ctx context.Context, lim sandbox.Limits) []*container.Ulimit {
	all := []*container.Ulimit{
		limit("core", 0),
		limit("fsize", lim.LargestFile()),
		limit("nofile", int64(lim.Files)),
		limit("sigpending", sigPending),
	}
	if s := cpuSeconds(ctx, lim); s > 0 {
		all = append(all, &container.Ulimit{Name: "cpu", Soft: s, Hard: s + 1})
	}
	return all
}

func limit(name string, n int64) *container.Ulimit {
	return &container.Ulimit{Name: name, Soft: n, Hard: n}
}

// cpuSeconds returns the limit of processor time for one process, which ends a busy guest whose host was killed. It is higher
// than the run's limit, because the kernel estimates the time at each tick and may count far too much on a busy machine. For a
// run that has only a deadline, it is more than the process can use until then.
func cpuSeconds(ctx context.Context, lim sandbox.Limits) int64 {
	if lim.CPU > 0 {
		return int64(math.Ceil(lim.CPU.Seconds()*1.25)) + 1
	}
	if deadline, ok := ctx.Deadline(); ok {
		return int64(math.Ceil(max(time.Until(deadline).Seconds(), 0)*guestCPUs)) + 10
	}
	return 0
}

// dataSlack is how much more private memory one process may map than the run may use.
const dataSlack = 512 << 20

// watchedUlimits returns the limits of a container that has no control group. Node reserves far more memory than it uses, for each
// worker.
func watchedUlimits(lim sandbox.Limits, rt sandbox.Runtime) []*container.Ulimit {
	var all []*container.Ulimit
	if rt != sandbox.Node {
		all = append(all, limit("data", lim.Memory+dataSlack))
	}
	if most, ok := kernelview.MaxUserProcesses(lim); ok {
		all = append(all, limit("nproc", most))
	}
	return all
}
