package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Of finds the group of a process that another program has put there, as long as its path holds name: the process
// ID alone could mean another process. Such a group is only read and limited; the program that made it removes it, so
// do not call Close.
func Of(pid int, name string) (*Group, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return nil, fmt.Errorf("look for the control group of process %d: %w", pid, err)
	}
	groups := parseGroups(string(text))
	g := &Group{dirs: make(map[string]string)}
	below := func(m hierarchy, controller string) string {
		path, ok := groups[controller]
		rest, inside := strings.CutPrefix(path, m.root)
		if !ok || !inside || !strings.Contains(path, name) || !filepath.IsLocal(strings.TrimPrefix(rest, "/")) {
			return ""
		}
		return filepath.Join(m.dir, rest)
	}
	two := ""
	for _, m := range mounts() {
		if m.unified {
			two = below(m, "")
		}
		for _, c := range m.controllers {
			if dir := below(m, c); dir != "" {
				g.dirs[c] = dir
			}
		}
	}
	if g.dirs[memory] == "" && g.dirs[pids] == "" && two != "" {
		g.unified = true
		g.dirs = map[string]string{memory: two, pids: two, cpu: two, freezer: two}
	}
	for _, c := range []string{memory, pids, cpu} {
		if g.dirs[c] == "" {
			return nil, fmt.Errorf("process %d is not in a control group %q that can be seen from here", pid, name)
		}
	}
	return g, nil
}

// Use is what a group has used, and how often it reached a limit.
type Use struct {
	CPU         time.Duration
	Memory      int64 // peak bytes, including pages of files; present bytes if the kernel keeps no peak
	OutOfMemory int64 // processes killed because memory ran out
	OutOfTasks  int64 // threads refused
}

// Use reads all figures. Complete is false if the group, or a part of it, was removed by then, or has
// nothing that counts time: zero fields are then meaningless. The parts of a version 1 group are removed one by one.
func (g *Group) Use() (u Use, complete bool) {
	u.CPU, complete = g.CPU()
	for _, file := range []string{"memory.max_usage_in_bytes", "memory.peak", "memory.current"} {
		if n, ok := g.number(memory, file); ok {
			u.Memory = n
			break
		}
	}
	u.OutOfMemory, u.OutOfTasks = g.outOfMemory(), g.count(pids, "pids.events", "max")
	for _, c := range []string{memory, pids, cpu} {
		complete = complete && IsGroup(g.dirs[c])
	}
	return u, complete
}

// PIDs lists the group's processes.
func (g *Group) PIDs() ([]int, error) {
	if g == nil || g.dirs[pids] == "" {
		return nil, errors.New("no control group")
	}
	text, err := os.ReadFile(filepath.Join(g.dirs[pids], "cgroup.procs"))
	if err != nil {
		return nil, fmt.Errorf("list the processes of a control group: %w", err)
	}
	var all []int
	for field := range strings.FieldsSeq(string(text)) {
		pid, err := strconv.Atoi(field)
		if err != nil || pid <= 0 { // of another process namespace
			return nil, fmt.Errorf("the control group has a process %q that cannot be seen from here", field)
		}
		all = append(all, pid)
	}
	return all, nil
}

// freezeTime bounds the wait for processes to stand still: those in the middle of a system call finish it first.
const freezeTime = 100 * time.Millisecond

// freezing returns the file that stops the group's processes, and what is written there to stop and to resume them.
func (g *Group) freezing() (file, stop, resume string) {
	if g.unified {
		return filepath.Join(g.dirs[freezer], "cgroup.freeze"), "1", "0"
	}
	return filepath.Join(g.dirs[freezer], "freezer.state"), "FROZEN", "THAWED"
}

// CanFreeze reports whether Freeze may work: for root, mostly.
func (g *Group) CanFreeze() bool {
	if g == nil || g.dirs[freezer] == "" {
		return false
	}
	file, _, _ := g.freezing()
	return unix.Access(file, unix.W_OK) == nil
}

// Freeze stops all processes of the group, and returns when they have stopped or freezeTime has passed. Thaw lets them
// continue.
func (g *Group) Freeze() {
	file, stop, _ := g.freezing()
	if put(file, stop) != nil {
		return
	}
	for began := time.Now(); time.Since(began) < freezeTime && !g.frozen(); {
		time.Sleep(time.Millisecond)
	}
}

func (g *Group) frozen() bool {
	if g.unified {
		return g.count(freezer, "cgroup.events", "frozen") == 1
	}
	return strings.TrimSpace(g.read(freezer, "freezer.state")) != "FREEZING"
}

// Thaw undoes Freeze.
func (g *Group) Thaw() {
	file, _, resume := g.freezing()
	_ = put(file, resume) // it fails if the group is removed
}
