//go:build linux && (amd64 || arm64)

package jail

import (
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"

	"github.com/mcpgen/mcpgen/gen/owner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/cgroup"
)

// groupKind is part of the names of all jails' groups.
const groupKind = "jail"

// groups counts the groups of this process: several jails may have one ID, those of probes for instance.
var groups atomic.Uint64

// makeGroup makes the jail's control group. It is nil, and missing says why, where that can't be had: then the watchdog
// alone bounds memory.
func (c *Child) makeGroup() error {
	me, err := owner.Self()
	if err != nil {
		return err
	}
	var missing []string
	name := fmt.Sprintf("%s-%d", c.cfg.ID, groups.Add(1))
	c.group, missing = cgroup.New(groupKind, me, name, groupLimits(c.cfg.Limits))
	c.withoutGroup(missing...)
	return nil
}

func (c *Child) withoutGroup(missing ...string) {
	for _, m := range missing {
		c.missing = append(c.missing, m+"; a watchdog takes its place")
	}
}

// startInGroup calls start, which sets c.proc, in the jail's group: to put a process there later makes it wait. Where that
// fails for whatever reason, the jail starts outside of it and is moved, and where that fails too it has none. The calling
// goroutine is locked to its thread, which free says may be used for other things afterwards.
func (c *Child) startInGroup(attr *syscall.SysProcAttr, start func() error) (free bool, err error) {
	err = c.group.Start(attr, start)
	if err == nil || c.proc != nil {
		return err == nil, nil
	}
	if c.group == nil {
		return true, err
	}
	attr.UseCgroupFD = false
	if err := start(); err != nil {
		return true, err
	}
	if err := c.group.Add(c.proc.Pid); err != nil {
		c.withoutGroup(fmt.Sprintf("cgroup: %v", err))
		_ = c.group.Close() // what is left of it is swept later
		c.group = nil
	}
	return false, nil // the thread may have come to be in a part of the group
}

func groupLimits(l sandbox.Limits) cgroup.Limits {
	return cgroup.Limits{Memory: l.Memory, Tasks: l.Processes + ownTasks}
}

// changeGroup sets the limits of a jail that gets its run, where they are not those it has.
func (c *Child) changeGroup(from sandbox.Limits) (err error) {
	old, l := groupLimits(from), groupLimits(c.cfg.Limits)
	if old.Memory != l.Memory {
		err = c.group.SetMemory(l.Memory)
	}
	if old.Tasks != l.Tasks {
		err = errors.Join(err, c.group.SetTasks(l.Tasks))
	}
	return err
}

// Sweep removes the groups of hosts that died. Their jails died with them.
func Sweep() error {
	me, err := owner.Self()
	if err != nil {
		return err
	}
	return cgroup.Sweep(groupKind, me)
}
