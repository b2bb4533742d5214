//go:build linux && (amd64 || arm64)

package jail

import (
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/proctree"
)

// watch measures the jail's processes in every watchInterval in which they ran, and kills the jail when they exceed a limit. It always
// enforces the limit of processor time, and enforces those of memory and processes if no control group does.
func (c *Child) watch() {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	bounded := c.group.BoundsMemory() && c.group.BoundsTasks()
	for last := time.Duration(-1); ; {
		select {
		case <-c.done:
			return
		case <-tick.C:
		}
		now, counted := c.group.CPU()
		if counted && bounded && now == last {
			continue
		}
		last = now
		if limit := c.exceeded(); limit != "" {
			c.kill(limit)
		}
	}
}

// exceeded returns the limit that the jail's processes exceed, or "".
func (c *Child) exceeded() string {
	l := c.cfg.Limits
	tree := c.tree()
	used := tree.Measure()
	if used.Tasks > tree.MaxTasks { // only if nothing else bounds them
		return sandbox.LimitProcesses
	}
	// A kernel that counts tasks without a control group does not report that it has refused one.
	if c.ownCount && !c.group.BoundsTasks() && used.Tasks >= l.Processes+ownTasks {
		c.full.Store(true)
	}
	c.most.Store(max(c.most.Load(), used.Memory))
	switch {
	case used.Memory > l.Memory:
		return sandbox.LimitMemory
	case l.CPU > 0 && c.processorTime(used) > l.CPU:
		return sandbox.LimitCPU
	case c.cfg.Program != "" && proctree.ManyWatches(used.PIDs):
		return sandbox.LimitFiles
	}
	return ""
}

// tree returns the jail's process tree, to be measured against its present limits. An init that has a program is not part of the run. Files
// in memory are in the jail's own folders, and are counted unless a control group counts them.
func (c *Child) tree() *proctree.Tree {
	t := &proctree.Tree{Root: c.proc.Pid, MaxTasks: c.cfg.Limits.Processes + 2*ownTasks, MaxMemory: c.cfg.Limits.Memory}
	if c.cfg.Program != "" {
		t.Skip = c.proc.Pid
	}
	if c.namespaces && !c.group.BoundsMemory() {
		t.Folders = append([]string{"/tmp"}, c.cfg.Tmpfs...)
	}
	return t
}

// pids lists the jail's processes.
func (c *Child) pids() []int { return c.tree().Measure().PIDs }

// processorTime returns the time that the run has used. The group includes processes that ended without being waited for.
func (c *Child) processorTime(u proctree.Usage) time.Duration {
	used := u.CPU
	if t, ok := c.group.CPU(); ok {
		used = max(used, t)
	}
	return used - c.before
}
