//go:build linux && (amd64 || arm64)

package jail

import (
	"fmt"
	"syscall"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/cgroup"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/reaper"
)

// makeGroup makes the jail's control group. If this machine allows no groups, it is nil and missing says why: then the
// watchdog alone bounds memory.
func (c *Child) makeGroup() {
	var missing []string
	c.group, missing = cgroup.New(c.cfg.ID, groupLimits(c.cfg.Limits), func(paths ...string) (func(), error) {
		return reaper.Guard(c.exe(), paths...)
	})
	c.withoutGroup(missing...)
}

func (c *Child) withoutGroup(missing ...string) {
	for _, m := range missing {
		c.missing = append(c.missing, m+"; a watchdog takes its place")
	}
}

// startInGroup calls start, which sets c.proc, in the jail's group. If the group cannot be entered, the jail has none. The
// calling goroutine is locked to its thread; free reports whether the thread may be used for other things afterwards.
func (c *Child) startInGroup(attr *syscall.SysProcAttr, start func() error) (free bool, err error) {
	err = c.group.Start(attr, start)
	switch {
	case err == nil:
		return true, nil
	case c.proc != nil: // the process runs; only the thread could not leave the group
		return false, nil
	case c.group == nil:
		return true, err
	}
	c.withoutGroup(fmt.Sprintf("cgroup: %v", err))
	_ = c.group.Close() // the kernel removes the rest when this process ends
	c.group, attr.UseCgroupFD = nil, false
	return false, start() // the thread may have entered a part of the group
}

func groupLimits(l sandbox.Limits) cgroup.Limits {
	return cgroup.Limits{Memory: l.Memory, Tasks: l.Processes + ownTasks}
}
