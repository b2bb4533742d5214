package cgroup

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Limits bound a group. A zero field means no limit.
type Limits struct {
	Memory int64 // bytes; swap is not allowed
	Tasks  int   // threads of all processes
}

// Group is one group: a folder for version 2, one for each controller for version 1. A nil Group limits nothing and can be
// used like any other.
type Group struct {
	dirs    map[string]string // by controller; version 2 has one common folder
	home    map[string]string // version 1: where the threads of this process belong
	v2      *os.File          // version 2: the folder, open
	unified bool              // version 2
	release func()
}

// The controllers in use. What "cpuacct" counts is part of "cpu" in version 2.
const (
	memory  = "memory"
	pids    = "pids"
	cpu     = "cpuacct"
	freezer = "freezer"
)

// New makes a group, whose name holds id: letters, digits and '-'. Before it makes the group's folders it hands their paths
// to guard, and after it has removed them it calls the function that guard returned. missing lists, a line each, what this
// machine does not allow; the group is nil if it allows nothing.
func New(id string, limits Limits, guard func(paths ...string) (release func(), err error)) (*Group, []string) {
	found := places()
	if len(found) == 0 {
		return nil, []string{"cgroup: none may be made here"}
	}
	var paths []string
	name := fmt.Sprintf("mcprun-%d-%s-%s", os.Getpid(), id, rand.Text()[:8])
	for _, p := range found {
		paths = append(paths, filepath.Join(p.dir, name))
	}
	release, err := guard(paths...)
	if err != nil {
		return nil, []string{"cgroup: " + err.Error()}
	}
	g := &Group{dirs: make(map[string]string), home: make(map[string]string), release: release}
	var missing []string
	for i, p := range found {
		if err := g.add(p, paths[i], limits); err != nil {
			missing = append(missing, fmt.Sprintf("cgroup %s: %v", strings.Join(p.controllers, " and "), err))
		}
	}
	if len(g.dirs) == 0 {
		release()
		return nil, missing
	}
	return g, missing
}

func (g *Group) add(p place, dir string, limits Limits) (err error) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(dir))
		}
	}()
	for _, c := range p.controllers {
		if err := write(dir, settings(c, p.unified, limits)); err != nil {
			return err
		}
	}
	if p.unified {
		g.unified = true
		if g.v2, err = os.Open(dir); err != nil {
			return err
		}
	}
	for _, c := range p.controllers {
		g.dirs[c] = dir
		if !p.unified {
			g.home[c] = p.dir
		}
	}
	return nil
}

// setting is one file of a group. An optional one may be absent: swap accounting is often off.
type setting struct {
	file, value string
	optional    bool
}

// settings are those of a controller that has a limit.
func settings(controller string, unified bool, l Limits) []setting {
	bytes := strconv.FormatInt(l.Memory, 10)
	switch {
	case controller == pids && l.Tasks > 0:
		return []setting{{"pids.max", strconv.Itoa(l.Tasks), false}}
	case controller != memory || l.Memory == 0:
		return nil
	case unified:
		return []setting{{"memory.max", bytes, false}, {"memory.swap.max", "0", true}, {"memory.oom.group", "1", true}}
	}
	return []setting{{"memory.limit_in_bytes", bytes, false}, {"memory.memsw.limit_in_bytes", bytes, true}}
}

// write sets what it can. The limit of memory plus swap cannot be less than the limit of memory: which of the
// two must be set first depends on the direction of the change, so write tries everything twice.
func write(dir string, all []setting) (err error) {
	for range 2 {
		err = nil
		for _, s := range all {
			if e := put(filepath.Join(dir, s.file), s.value); e != nil && !(s.optional && errors.Is(e, fs.ErrNotExist)) {
				err = e
			}
		}
		if err == nil {
			return nil
		}
	}
	return err
}

// put writes to an existing file: asked to create one, the kernel reports EPERM rather than ENOENT.
func put(file, text string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// SetLimits changes the limits that are not zero.
func (g *Group) SetLimits(l Limits) error {
	if g == nil {
		return nil
	}
	for c, dir := range g.dirs {
		if err := write(dir, settings(c, g.unified, l)); err != nil {
			return fmt.Errorf("limit a control group: %w", err)
		}
	}
	return nil
}

// Start calls start, which starts a process with attr; that process is in the group from its first moment. The calling
// goroutine must be locked to its thread, which has left the group when Start returns without an error. It must
// not be the process's first thread: the memory of all threads counts in the group of that one.
func (g *Group) Start(attr *syscall.SysProcAttr, start func() error) error {
	if g == nil {
		return start()
	}
	if g.v2 != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(g.v2.Fd())
	}
	entered, err := g.enter()
	if err != nil {
		err = fmt.Errorf("enter the control group: %w", err)
	} else {
		err = start()
	}
	for _, c := range entered {
		if leave := moveThread(g.home[c]); leave != nil && err == nil {
			err = fmt.Errorf("leave the control group: %w", leave)
		}
	}
	return err
}

// enter moves the calling thread into a group of version 1, and returns the controllers where that succeeded.
func (g *Group) enter() (entered []string, err error) {
	for c := range g.home {
		if err := moveThread(g.dirs[c]); err != nil {
			return entered, err
		}
		entered = append(entered, c)
	}
	return entered, nil
}

// moveThread moves the calling thread. Named 0, it does not wait for the whole system, as a move of anything else does
// for up to some tens of milliseconds: the kernel knows that it neither forks nor ends meanwhile.
func moveThread(dir string) error {
	return os.WriteFile(filepath.Join(dir, "tasks"), []byte("0"), 0o644)
}

// BoundsTasks reports whether the kernel enforces the group's limit of tasks.
func (g *Group) BoundsTasks() bool { return g != nil && g.dirs[pids] != "" }

// BoundsMemory reports whether the kernel enforces the group's memory limit.
func (g *Group) BoundsMemory() bool { return g != nil && g.dirs[memory] != "" }

// OutOfMemory reports whether the kernel has killed a process in the group because memory ran out.
func (g *Group) OutOfMemory() bool { return g.outOfMemory() > 0 }

func (g *Group) outOfMemory() int64 {
	return max(g.count(memory, "memory.oom_control", "oom_kill"), g.count(memory, "memory.events", "oom_kill"))
}

// OutOfTasks reports whether the kernel has refused the group a new thread.
func (g *Group) OutOfTasks() bool { return g.count(pids, "pids.events", "max") > 0 }

// CPU returns the processor time of all processes of the group; ok is false if nothing counts it.
func (g *Group) CPU() (used time.Duration, ok bool) {
	if g == nil || g.dirs[cpu] == "" {
		return 0, false
	}
	if g.unified {
		n := g.count(cpu, "cpu.stat", "usage_usec")
		return time.Duration(n) * time.Microsecond, n > 0
	}
	n, ok := g.number(cpu, "cpuacct.usage")
	return time.Duration(n), ok
}

// read returns the text of a controller's file, or "" if it does not exist.
func (g *Group) read(controller, file string) string {
	if g == nil || g.dirs[controller] == "" {
		return ""
	}
	text, _ := os.ReadFile(filepath.Join(g.dirs[controller], file))
	return string(text)
}

// number reads a file that holds one number.
func (g *Group) number(controller, file string) (int64, bool) {
	n, err := strconv.ParseInt(strings.TrimSpace(g.read(controller, file)), 10, 64)
	return n, err == nil
}

// count reads one number from a file of lines "name number"; 0 if it is missing.
func (g *Group) count(controller, file, name string) int64 {
	for line := range strings.Lines(g.read(controller, file)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == name {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return n
		}
	}
	return 0
}

// folders lists each folder once.
func (g *Group) folders() []string { return slices.Compact(slices.Sorted(maps.Values(g.dirs))) }

// Kill kills every process in the group.
func (g *Group) Kill() {
	if g != nil {
		kill(g.folders())
	}
}

// Close kills the processes that are left, waits until they have ended, and removes the group.
func (g *Group) Close() error {
	if g == nil {
		return nil
	}
	if g.v2 != nil {
		g.v2.Close()
	}
	defer g.release()
	return Remove(g.folders()...)
}

// kill kills the processes in the folders except this one, one of whose threads may be there for a moment.
func kill(dirs []string) {
	for _, dir := range dirs {
		if os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0o644) == nil {
			continue // version 2 since Linux 5.14: kills all at once
		}
		text, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		for field := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil && pid > 0 && pid != os.Getpid() {
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
	}
}

// removeTime is how long killed processes may take to end on an overloaded machine.
const removeTime = 20 * time.Second

// Remove kills the processes in groups and removes the groups, in rounds: one that cannot be removed does not delay others.
func Remove(dirs ...string) error {
	var errs []error
	for deadline := time.Now().Add(removeTime); ; time.Sleep(2 * time.Millisecond) {
		var busy []string
		for _, dir := range dirs {
			err := os.Remove(dir)
			switch {
			case err == nil || errors.Is(err, fs.ErrNotExist):
			case errors.Is(err, unix.EBUSY) && time.Now().Before(deadline):
				busy = append(busy, dir)
			default:
				procs, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
				errs = append(errs, fmt.Errorf("remove a sandbox's control group: %w; its processes: %q", err, strings.Fields(string(procs))))
			}
		}
		if len(busy) == 0 {
			return errors.Join(errs...)
		}
		kill(busy)
		dirs = busy
	}
}

// IsGroup reports whether path is a control group.
func IsGroup(path string) bool {
	_, err := os.Stat(filepath.Join(path, "cgroup.procs"))
	return err == nil
}
