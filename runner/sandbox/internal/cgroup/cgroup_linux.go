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

// Group is one control group: a single folder for version 2, one for each controller for version 1. A nil Group limits nothing and can be
// used like any other.
type Group struct {
	dirs    map[string]string // by controller; version 2 has one common folder
	unified bool              // version 2
	release func()
}

// The controllers in use. Version 2 includes the figures of "cpuacct" in "cpu".
const (
	memory = "memory"
	pids   = "pids"
	cpu    = "cpuacct"
)

// New creates a group whose name contains id, which consists of letters, digits and '-'. Before it creates the group's folders it passes
// their paths to guard, and after it has removed them it calls the function that guard returned. missing lists, one line each, what this
// machine does not allow. The group is nil if it allows nothing.
func New(id string, limits Limits, guard func(paths ...string) (release func(), err error)) (*Group, []string) {
	found := places()
	if len(found) == 0 {
		return nil, []string{"cgroup: cannot be created here"}
	}
	var paths []string
	name := fmt.Sprintf("mcprun-%d-%s-%s", os.Getpid(), id, rand.Text()[:8])
	for _, h := range found {
		paths = append(paths, filepath.Join(h.dir, name))
	}
	release, err := guard(paths...)
	if err != nil {
		return nil, []string{"cgroup: " + err.Error()}
	}
	g := &Group{dirs: make(map[string]string), unified: found[0].unified, release: release}
	var missing []string
	for i, h := range found {
		if err := h.add(paths[i], limits); err != nil {
			missing = append(missing, fmt.Sprintf("cgroup %s: %v", strings.Join(h.controllers, " and "), err))
			continue
		}
		for _, c := range h.controllers {
			g.dirs[c] = paths[i]
		}
	}
	if len(g.dirs) == 0 {
		release()
		return nil, missing
	}
	return g, missing
}

// add creates a group's folder.
func (h hierarchy) add(dir string, limits Limits) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	for _, c := range h.controllers {
		if err := limit(dir, c, h.unified, limits); err != nil {
			return errors.Join(err, os.Remove(dir))
		}
	}
	return nil
}

// Of finds the group into which another program has put a process, if the group's path contains name; the process ID alone could mean
// another process. Such a group is only read and limited. The program that created it removes it, so do not call Close.
func Of(pid int, name string) (*Group, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return nil, fmt.Errorf("find the control group of process %d: %w", pid, err)
	}
	groups := parseGroups(string(text))
	g := &Group{dirs: make(map[string]string)}
	for _, h := range hierarchies() {
		if dir, visible := h.folder(groups); visible && strings.Contains(dir, name) {
			g.unified = h.unified
			for _, c := range h.controllers {
				g.dirs[c] = dir
			}
		}
	}
	if len(g.dirs) < 3 {
		return nil, fmt.Errorf("process %d is not in control group %q, or the group is not visible here", pid, name)
	}
	return g, nil
}

// SetLimits changes the limits that are not zero.
func (g *Group) SetLimits(l Limits) error {
	if g == nil {
		return nil
	}
	for c, dir := range g.dirs {
		if err := limit(dir, c, g.unified, l); err != nil {
			return fmt.Errorf("limit a control group: %w", err)
		}
	}
	return nil
}

// limit sets the limits of a controller that are not zero.
func limit(dir, controller string, unified bool, l Limits) error {
	switch {
	case controller == pids && l.Tasks > 0:
		return put(filepath.Join(dir, "pids.max"), strconv.Itoa(l.Tasks))
	case controller != memory || l.Memory == 0:
		return nil
	}
	bytes := strconv.FormatInt(l.Memory, 10)
	files := [][2]string{{"memory.limit_in_bytes", bytes}, {"memory.memsw.limit_in_bytes", bytes}}
	if unified {
		files = [][2]string{{"memory.max", bytes}, {"memory.swap.max", "0"}, {"memory.oom.group", "1"}}
	}
	// The limit of memory plus swap cannot be less than the limit of memory. Which of the two must be set first depends on the direction of
	// the change, so both are tried twice. All files but the first may be absent, because swap accounting is often off.
	var errs [3]error
	for i, f := range slices.Concat(files, files) {
		err := put(filepath.Join(dir, f[0]), f[1])
		if n := i % len(files); n == 0 || !errors.Is(err, fs.ErrNotExist) {
			errs[n] = err
		}
	}
	return errors.Join(errs[:]...)
}

// put writes to an existing file. If asked to create one, the kernel would report EPERM rather than ENOENT.
func put(file, text string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// Start calls start, which starts a process with attr in the group from its first moment. The calling goroutine must be locked to its
// thread, which has left the group again when Start returns without an error. The thread must not be the process's first thread, because
// the memory of all threads counts in that thread's group.
func (g *Group) Start(attr *syscall.SysProcAttr, start func() error) error {
	if g == nil {
		return start()
	}
	if g.unified {
		dir, err := os.Open(g.folders()[0])
		if err != nil {
			return fmt.Errorf("enter the control group: %w", err)
		}
		defer dir.Close()
		attr.UseCgroupFD, attr.CgroupFD = true, int(dir.Fd())
		return start()
	}
	var entered []string
	var err error
	for _, dir := range g.folders() {
		if err = moveThread(dir); err != nil {
			err = fmt.Errorf("enter the control group: %w", err)
			break
		}
		entered = append(entered, dir)
	}
	if err == nil {
		err = start()
	}
	for _, dir := range entered {
		if leave := moveThread(filepath.Dir(dir)); leave != nil && err == nil {
			err = fmt.Errorf("leave the control group: %w", leave)
		}
	}
	return err
}

// moveThread moves the calling thread. It names the thread 0: the kernel then knows that the thread neither forks nor ends meanwhile, and
// does not wait for the whole system, as it does for up to tens of milliseconds in any other move.
func moveThread(dir string) error {
	return os.WriteFile(filepath.Join(dir, "tasks"), []byte("0"), 0o644)
}

// BoundsTasks reports whether the kernel enforces the group's limit of tasks.
func (g *Group) BoundsTasks() bool { return g != nil && g.dirs[pids] != "" }

// BoundsMemory reports whether the kernel enforces the group's memory limit.
func (g *Group) BoundsMemory() bool { return g != nil && g.dirs[memory] != "" }

// Use is what a group has used, and how often it reached a limit.
type Use struct {
	CPU         time.Duration
	Memory      int64 // peak bytes, including file pages; present bytes if the kernel records no peak
	OutOfMemory int64 // processes killed because memory ran out
	OutOfTasks  int64 // threads that were refused
}

// Use reads all figures. complete is false if the group, or a part of it, has been removed or has nothing that counts time; zero fields are
// then meaningless. The parts of a version 1 group are removed one by one.
func (g *Group) Use() (u Use, complete bool) {
	u.CPU, complete = g.CPU()
	for _, file := range []string{"memory.max_usage_in_bytes", "memory.peak", "memory.current"} {
		if n, ok := number(g.read(memory, file)); ok {
			u.Memory = n
			break
		}
	}
	u.OutOfMemory = max(g.count(memory, "memory.oom_control", "oom_kill"), g.count(memory, "memory.events", "oom_kill"))
	u.OutOfTasks = g.count(pids, "pids.events", "max")
	return u, complete && !slices.ContainsFunc(g.folders(), func(dir string) bool { return !IsGroup(dir) })
}

// CPU returns the processor time of all processes in the group. ok is false if nothing counts it.
func (g *Group) CPU() (used time.Duration, ok bool) {
	if g != nil && g.unified {
		n := g.count(cpu, "cpu.stat", "usage_usec")
		return time.Duration(n) * time.Microsecond, n > 0
	}
	n, ok := number(g.read(cpu, "cpuacct.usage"))
	return time.Duration(n), ok
}

// PIDs lists the group's processes.
func (g *Group) PIDs() ([]int, error) {
	if !g.BoundsTasks() {
		return nil, errors.New("no control group")
	}
	var all []int
	for field := range strings.FieldsSeq(g.read(pids, "cgroup.procs")) {
		pid, err := strconv.Atoi(field)
		if err != nil || pid <= 0 { // in another process namespace
			return nil, fmt.Errorf("the control group has a process %q that is not visible here", field)
		}
		all = append(all, pid)
	}
	return all, nil
}

// read returns the text of a controller's file, or "" if it does not exist.
func (g *Group) read(controller, file string) string {
	if g == nil || g.dirs[controller] == "" {
		return ""
	}
	text, _ := os.ReadFile(filepath.Join(g.dirs[controller], file))
	return string(text)
}

// number parses the text of a file that holds one number.
func number(text string) (int64, bool) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	return n, err == nil
}

// count reads one number from a file of lines "name number", or 0 if it is missing.
func (g *Group) count(controller, file, name string) int64 {
	for line := range strings.Lines(g.read(controller, file)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			n, _ := number(value)
			return n
		}
	}
	return 0
}

// folders lists each folder of the group once.
func (g *Group) folders() []string {
	if g == nil {
		return nil
	}
	return slices.Compact(slices.Sorted(maps.Values(g.dirs)))
}

// Kill kills every process in the group.
func (g *Group) Kill() { kill(g.folders()) }

// Close kills the remaining processes, waits until they have ended, and removes the group.
func (g *Group) Close() error {
	if g == nil {
		return nil
	}
	defer g.release()
	return Remove(g.folders()...)
}

// kill kills the processes in the folders except this one, which may have a thread there for a moment.
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

// Remove kills the processes in groups and removes the groups, in rounds, so that a group that cannot be removed does not delay the others.
func Remove(dirs ...string) error {
	for deadline := time.Now().Add(removeTime); ; time.Sleep(2 * time.Millisecond) {
		dirs = slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool {
			err := os.Remove(dir)
			return err == nil || errors.Is(err, fs.ErrNotExist)
		})
		switch {
		case len(dirs) == 0:
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("remove a sandbox's control groups: processes in %q do not end", dirs)
		}
		kill(dirs)
	}
}

// IsGroup reports whether path is a control group.
func IsGroup(path string) bool {
	_, err := os.Stat(filepath.Join(path, "cgroup.procs"))
	return err == nil
}
