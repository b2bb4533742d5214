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
// number alone could mean another process. Such a group is only looked at and bounded; whoever made it removes it, so
// Close is not to be called.
func Of(pid int, name string) (*Group, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return nil, fmt.Errorf("look for the control group of process %d: %w", pid, err)
	}
	groups := parseGroups(text)
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
		for _, c := range []string{memory, pids, cpu, freezer} {
			g.dirs[c] = two
		}
	}
	for _, c := range []string{memory, pids, cpu} {
		if g.dirs[c] == "" {
			return nil, fmt.Errorf("process %d is not in a control group %q that can be seen from here", pid, name)
		}
	}
	return g, nil
}

// Use is what a group has used and run into.
type Use struct {
	CPU         time.Duration
	Memory      int64 // the most bytes at one time; where that is not kept, those of now
	OutOfMemory int64 // processes killed for want of memory
	OutOfTasks  int64 // threads refused
}

// Use reads everything at once. Whole is false when the group, or a part of it, was gone by the end of that, or has
// nothing that counts time: what is zero then says nothing. The parts of a group of version 1 go one after the other.
func (g *Group) Use() (u Use, whole bool) {
	u.CPU, whole = g.CPU()
	if u.Memory = g.Peak(); u.Memory == 0 {
		u.Memory, _ = g.number(memory, "memory.current")
	}
	u.OutOfMemory, u.OutOfTasks = g.outOfMemory(), g.outOfTasks()
	for _, c := range []string{memory, pids, cpu} {
		whole = whole && g.has(c)
	}
	return u, whole
}

// has tells whether the group still has what a controller counts.
func (g *Group) has(controller string) bool {
	_, err := os.Stat(g.dirs[controller])
	return err == nil
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

// CanFreeze tells whether Freeze may work: for root, mostly.
func (g *Group) CanFreeze() bool {
	return g != nil && g.dirs[freezer] != "" && unix.Access(filepath.Join(g.dirs[freezer], g.freezeFile()), unix.W_OK) == nil
}

func (g *Group) freezeFile() string {
	if g.unified {
		return "cgroup.freeze"
	}
	return "freezer.state"
}

// Freeze stops all processes of the group, and returns when they stand still or freezeTime has gone by. Thaw lets them
// go on.
func (g *Group) Freeze() {
	file, word := filepath.Join(g.dirs[freezer], g.freezeFile()), "FROZEN"
	if g.unified {
		word = "1"
	}
	if put(file, word) != nil {
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
	state, err := os.ReadFile(filepath.Join(g.dirs[freezer], "freezer.state"))
	return err != nil || strings.TrimSpace(string(state)) == "FROZEN"
}

// Thaw undoes Freeze.
func (g *Group) Thaw() {
	word := "THAWED"
	if g.unified {
		word = "0"
	}
	_ = put(filepath.Join(g.dirs[freezer], g.freezeFile()), word) // it fails when the group is gone
}
