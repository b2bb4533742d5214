// Package kernelview views a container that another program runs as the kernel does, through its first process and its control group. It
// measures, limits and kills the container, and mounts folders in it, without the engine. This works only if the engine's containers run on
// this machine and in this process's PID namespace. Start with [Open].
package kernelview

import "time"

// Counters are what a container has used.
type Counters struct {
	CPU         time.Duration // processor time of all processes
	Memory      int64         // peak bytes
	OutOfMemory int64         // processes that the kernel killed because memory ran out
	OutOfTasks  int64         // processes that could not be started because of the limit on their number

	// Present bytes and threads are known only for a container without a control group.
	Present int64
	Tasks   int
}

// merge returns the larger of each pair of figures. No figure can fall, but a group that is being removed no longer reports some of them.
func (c Counters) merge(later Counters) Counters {
	return Counters{
		CPU: max(c.CPU, later.CPU), Memory: max(c.Memory, later.Memory),
		OutOfMemory: max(c.OutOfMemory, later.OutOfMemory), OutOfTasks: max(c.OutOfTasks, later.OutOfTasks),
		Present: later.Present, Tasks: later.Tasks,
	}
}

// since returns what was used after before. The peak memory may have been used earlier.
func (c Counters) since(before Counters) Counters {
	c.CPU -= before.CPU
	c.OutOfMemory -= before.OutOfMemory
	c.OutOfTasks -= before.OutOfTasks
	return c
}
