package docker

import (
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

const (
	signalKill     = 128 + 9
	signalCPU      = 128 + 24 // SIGXCPU
	signalFileSize = 128 + 25 // SIGXFSZ
	// oomDelay is how much later than the end the engine may report an out-of-memory kill.
	oomDelay = time.Second
	// lastReadTime is how long reading a container's figures after its end may take.
	lastReadTime = 200 * time.Millisecond
)

// nameLimits decides which limits the guest reached. A guest that was killed on request was not ended by a limit.
func (p *process) nameLimits(lim sandbox.Limits, heapFull bool) {
	if p.usage.ended != nil {
		select {
		case <-p.usage.ended:
		case <-time.After(lastReadTime):
		}
	}
	used, _ := p.usage.get()
	p.mu.Lock()
	killed, hit := p.cause, slices.Clone(p.hit)
	p.mu.Unlock()
	if killed == "" && !p.killed && p.exit.Code != 0 {
		killed = p.endedBy(lim, heapFull)
	}
	if used.ooms > 0 {
		hit = append(hit, sandbox.LimitMemory)
	}
	if used.forks > 0 {
		hit = append(hit, sandbox.LimitProcesses)
	}
	p.exit.Killed, p.exit.MaxMemory = killed, used.memory
	p.exit.Reach(append(hit, killed)...)
}

// endedBy finds the limit behind the end of a guest that failed.
func (p *process) endedBy(lim sandbox.Limits, heapFull bool) string {
	switch {
	case heapFull, p.ranOutOfMemory():
		return sandbox.LimitMemory
	case p.exit.Code == signalFileSize:
		return sandbox.LimitFileSize
	case p.ranOutOfTime(lim.CPU):
		return sandbox.LimitCPU
	}
	return ""
}

// ranOutOfTime reports whether the kernel ended the guest for its processor time: with a signal of its own at the soft
// limit of one process, and by a kill at the hard one, a second later, when the guest ignores that. The figures show
// whether the guest merely killed itself so.
func (p *process) ranOutOfTime(limit time.Duration) bool {
	if limit <= 0 || p.exit.Code != signalCPU && p.exit.Code != signalKill {
		return false
	}
	used, final := p.usage.get()
	if p.exit.Code == signalCPU {
		// The kernel counts for this signal by the tick, and on a busy machine too much. Without the last figures the
		// signal must do.
		return used.cpu >= limit/2 || !final
	}
	return used.cpu >= limit-limit/10
}

// ranOutOfMemory reports whether the kernel killed a process in the container because memory ran out. The control group's count
// is final if it was read after the end. Otherwise the engine's event has to do, which may arrive after the end.
func (p *process) ranOutOfMemory() bool {
	used, final := p.usage.get()
	if used.ooms > 0 || final {
		return used.ooms > 0
	}
	if p.watched { // the engine has no control group that would count it
		return false
	}
	select {
	case <-p.oom.Messages:
		return true
	default:
	}
	if p.exit.Code != signalKill {
		return false
	}
	select {
	case <-p.oom.Messages:
		return true
	case <-time.After(oomDelay):
		return false
	}
}
