//go:build linux && (amd64 || arm64)

package jail

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// watch adds up, every watchInterval in which they did anything, what the jail's processes use, and kills the jail when that passes a limit. It
// is all there is where no cgroup can be had, and counts processor time everywhere.
func (c *Child) watch() {
	tick := time.NewTimer(watchInterval)
	defer tick.Stop()
	defer c.rest(false)
	var sum clock
	var quiet glance
	defer quiet.close()
	for ticks := 0; ; tick.Reset(c.nextGlance(ticks)) {
		select {
		case <-c.done:
			return
		case <-tick.C:
		}
		if quiet.same() {
			ticks++
			c.rest(true)
			continue
		}
		if quiet.changed() {
			ticks = 0
			c.rest(false)
		}
		quiet.expect()
		maxTasks := c.cfg.Limits.Processes + 2*ownTasks
		used := measure(c.proc.Pid, c.cfg.Program == "", maxTasks)
		quiet.note(used)
		used.cpu = max(used.cpu, sum.add(used.own))
		if used.tasks > maxTasks { // only where nothing else bounds them; first, for a fork bomb waits for nobody
			c.kill(sandbox.LimitProcesses)
			continue
		}
		// A kernel that counts them without a control group does not tell that it has refused one.
		if c.ownCount && !c.group.BoundsTasks() && used.tasks >= c.cfg.Limits.Processes+ownTasks {
			c.full.Store(true)
		}
		if enough := c.cfg.Limits.Memory; c.group.BoundsMemory() {
			used.memory = used.closely(enough, 0)
		} else {
			// A function's process hides its files from others of its user, and makes no sockets.
			used.memory = used.closely(enough, filed(c.proc.Pid, c.inMemory())) + queuedMemory(used.pids, enough, c.cfg.Program != "")
		}
		if used.memory > c.most.Load() {
			c.most.Store(used.memory)
		}
		switch l := c.cfg.Limits; {
		case used.memory > l.Memory:
			c.kill(sandbox.LimitMemory)
		case l.CPU > 0 && c.processorTime(used) > l.CPU:
			c.kill(sandbox.LimitCPU)
		case c.cfg.Program != "" && ManyWatches(used.pids, !c.group.BoundsMemory()):
			c.kill(sandbox.LimitFiles)
		}
	}
}

// inMemory lists the jail's own folders whose files are kept in memory.
func (c *Child) inMemory() []string {
	if !c.namespaces {
		return nil // it sees the host's
	}
	return append([]string{"/tmp"}, c.cfg.Tmpfs...)
}

// processorTime is what the run has used. The cgroup also knows of processes that ended without being waited for.
func (c *Child) processorTime(u usage) time.Duration {
	if t, ok := c.group.CPU(); ok {
		return max(t, u.cpu) - c.before
	}
	return u.cpu - c.before
}

// usage is what a jail's processes use together.
type usage struct {
	memory int64 // anonymous and shared memory that is resident, and page tables; files of libraries can be dropped and don't count
	cpu    time.Duration
	tasks  int
	files  []string                  // that change when something is done
	blind  bool                      // not all of those are known
	pids   []int                     // whose memory is counted
	own    map[process]time.Duration // processor time without that of children
}

// measure walks the tree of processes from init down: in a PID namespace every orphan becomes init's child, so none
// is outside of it. withInit counts init's own memory too. With more than maxTasks it stops: a fork bomb grows while it
// counts.
func measure(init int, withInit bool, maxTasks int) usage {
	total := usage{own: make(map[process]time.Duration)}
	kidsOf := childLister(init)
	for todo := []int{init}; len(todo) > 0 && total.tasks <= maxTasks; {
		pid := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		kids, tasks, files := kidsOf(pid)
		todo = append(todo, kids...)
		total.files = append(total.files, files...)
		total.blind = total.blind || files == nil
		total.tasks += tasks
		if f := statFields(pid); len(f) > statStart {
			total.cpu += ticks(f[statUsed:statEnd])
			total.own[process{pid, f[statStart]}] = ticks(f[statUsed:statChildren])
		}
		if pid != init || withInit {
			total.memory += residentMemory(pid)
			total.pids = append(total.pids, pid)
		}
	}
	return total
}

func procFile(pid int, name string) string { return filepath.Join("/proc", strconv.Itoa(pid), name) }

// childLister returns how to find a process's children: as the kernel lists them, or, where it was built without that
// (CONFIG_PROC_CHILDREN), from every process's parent.
func childLister(init int) func(pid int) (kids []int, tasks int, files []string) {
	if _, err := os.Stat(procFile(init, "task/"+strconv.Itoa(init)+"/children")); err == nil {
		return children
	}
	kids := make(map[int][]int)
	names, _ := filepath.Glob("/proc/[0-9]*")
	for _, name := range names {
		pid, err := strconv.Atoi(filepath.Base(name))
		if err != nil {
			continue
		}
		if fields := statFields(pid); len(fields) > 1 {
			parent, _ := strconv.Atoi(fields[1])
			kids[parent] = append(kids[parent], pid)
		}
	}
	return func(pid int) ([]int, int, []string) {
		fields := statFields(pid)
		if len(fields) < 18 {
			return kids[pid], 0, nil
		}
		threads, _ := strconv.Atoi(fields[17])
		return kids[pid], threads, nil
	}
}

// children returns the child processes of pid's threads, how many threads it has, and the files that change when it does
// anything: nil when they are too many.
func children(pid int) (kids []int, tasks int, files []string) {
	dir, err := os.Open(procFile(pid, "task"))
	if err != nil {
		return nil, 0, nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	if len(names) < maxGlance {
		files = append(files, procFile(pid, "stat"))
	}
	for _, tid := range names {
		name := procFile(pid, "task/"+tid+"/children")
		if files != nil {
			files = append(files, name)
		}
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		for f := range strings.FieldsSeq(string(text)) {
			if kid, err := strconv.Atoi(f); err == nil {
				kids = append(kids, kid)
			}
		}
	}
	return kids, len(names), files
}

// tasksOf is how many threads the processes of a user have.
func tasksOf(uid int) int {
	total := 0
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		var st syscall.Stat_t
		if syscall.Stat(dir, &st) != nil || int(st.Uid) != uid {
			continue
		}
		if tasks, err := os.ReadDir(filepath.Join(dir, "task")); err == nil {
			total += len(tasks)
		}
	}
	return total
}

// statFields are the fields of /proc/<pid>/stat from the third on: the second is a name in brackets that may hold
// anything.
func statFields(pid int) []string {
	text, err := os.ReadFile(procFile(pid, "stat"))
	if err != nil {
		return nil
	}
	return strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
}
