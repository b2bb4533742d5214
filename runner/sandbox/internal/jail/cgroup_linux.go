//go:build linux && (amd64 || arm64)

package jail

import (
	"errors"
	"fmt"

	"github.com/mcpgen/mcpgen/gen/owner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/cgroup"
)

// groupKind is part of the names of all jails' groups.
const groupKind = "jail"

// joinGroup puts the jail into a control group. It is nil, and missing says why, where that can't be had: then the
// watchdog alone bounds memory.
func (c *Child) joinGroup() error {
	me, err := owner.Self()
	if err != nil {
		return err
	}
	var missing []string
	name := fmt.Sprintf("%s-%d", c.cfg.ID, c.proc.Pid) // several jails may have one ID, those of probes for instance
	c.group, missing = cgroup.New(groupKind, me, name, groupLimits(c.cfg.Limits))
	if err := c.group.Add(c.proc.Pid); err != nil {
		missing = append(missing, fmt.Sprintf("cgroup: %v", err))
		err = c.group.Close()
		c.group = nil
		if err != nil {
			return err
		}
	}
	for _, m := range missing {
		c.missing = append(c.missing, m+"; a watchdog takes its place")
	}
	return nil
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
