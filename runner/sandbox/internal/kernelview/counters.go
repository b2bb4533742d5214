// Package kernelview sees a container that another program runs as the kernel does, by its first process and its control group: it
// measures, limits and kills the container, and mounts folders in it, without the engine. That works only where the engine's
// containers run on this machine and in this process's PID namespace. Start with [Open].
package kernelview

import "time"

// Counters hold what a container has used.
type Counters struct {
	CPU         time.Duration // processor time of all processes
	Memory      int64         // the most bytes at once
	OutOfMemory int64         // processes that the kernel killed because memory ran out
	OutOfTasks  int64         // processes that could not be started for the limit of their number

	// Present bytes and threads are known only for a container without a control group.
	Present int64
	Tasks   int
}

// merge returns the larger of each pair of figures, of which none can fall: a group that is being removed has no more of some.
func (c Counters) merge(later Counters) Counters {
	return Counters{
		CPU: max(c.CPU, later.CPU), Memory: max(c.Memory, later.Memory),
		OutOfMemory: max(c.OutOfMemory, later.OutOfMemory), OutOfTasks: max(c.OutOfTasks, later.OutOfTasks),
		Present: later.Present, Tasks: later.Tasks,
	}
}

// since returns what was used after before. The most memory may have been used earlier.
func (c Counters) since(before Counters) Counters {
	c.CPU -= before.CPU
	c.OutOfMemory -= before.OutOfMemory
	c.OutOfTasks -= before.OutOfTasks
	return c
}
