// Package cgroup makes control groups (versions 1 and 2) for sandboxes whose processes are started by another program,
// and which therefore must be born in their group: nothing that runs there is ever outside of it. Start with [New].
//
// A group is named after its owner, so that [Sweep] can remove those of the dead.
package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/gen/owner"
)

// Limits bound a group; zero fields do not.
type Limits struct {
	Memory int64 // bytes, and no swap beside them
	Tasks  int   // threads of all processes
}

// Group is one group: a folder for version 2, one for each controller for version 1. A nil Group knows nothing, holds
// nothing and can be used all the same.
type Group struct {
	dirs map[string]string // controller → folder; version 2 has the one folder for each
	back map[string]string // version 1: where the threads of this process belong
	v2   *os.File          // version 2: the folder, open; not of groups that others have made

	unified bool // version 2
}

// The controllers in use. What "cpuacct" counts is part of "cpu" in version 2.
const (
	memory  = "memory"
	pids    = "pids"
	cpu     = "cpuacct"
	freezer = "freezer"
)

// New makes a group that is named after its owner and what it is for: kind and id hold letters, digits and '-'. It
// returns, a line each, what cannot be had on this machine; the group is nil where that is everything.
func New(kind string, me owner.Owner, id string, limits Limits) (*Group, []string) {
	found := places()
	if len(found) == 0 {
		return nil, []string{"cgroup: none may be made here"}
	}
	g := &Group{dirs: make(map[string]string), back: make(map[string]string)}
	var missing []string
	for _, p := range found {
		dir := filepath.Join(p.dir, prefix(kind)+mark(me)+"."+id)
		if err := g.add(p, dir, limits); err != nil {
			missing = append(missing, fmt.Sprintf("cgroup %s: %v", strings.Join(p.controllers, " and "), err))
		}
	}
	if len(g.dirs) == 0 {
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
	for _, s := range p.settings(limits) {
		err := put(filepath.Join(dir, s.file), s.value)
		if err != nil && !(s.optional && errors.Is(err, fs.ErrNotExist)) {
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
			g.back[c] = p.dir
		}
	}
	return nil
}

// put writes to a file that is there: asked to make one, the kernel says that this is forbidden, not that it is absent.
func put(file, text string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// Add moves a process that runs already. What it has used so far is counted elsewhere.
func (g *Group) Add(pid int) error {
	if g == nil {
		return nil
	}
	for _, dir := range g.folders() {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o644); err != nil {
			return fmt.Errorf("move a process into its control group: %w", err)
		}
	}
	return nil
}

// SetTasks changes the limit of threads.
func (g *Group) SetTasks(n int) error {
	if g == nil || g.dirs[pids] == "" {
		return nil
	}
	if err := os.WriteFile(filepath.Join(g.dirs[pids], "pids.max"), []byte(strconv.Itoa(n)), 0o644); err != nil {
		return fmt.Errorf("limit the threads of a control group: %w", err)
	}
	return nil
}

// BoundsTasks tells whether the kernel holds the group to its threads.
func (g *Group) BoundsTasks() bool { return g != nil && g.dirs[pids] != "" }

// SetMemory changes the limit of memory.
func (g *Group) SetMemory(bytes int64) error {
	if g == nil || g.dirs[memory] == "" {
		return nil
	}
	settings := memoryV1(bytes)
	if g.unified {
		settings = memoryV2(bytes)
	}
	// What holds for memory and swap together can't be less than what holds for memory: which of the two comes first
	// depends on the direction, so both are tried twice.
	var err error
	for range 2 {
		err = nil
		for _, s := range settings {
			if e := put(filepath.Join(g.dirs[memory], s.file), s.value); e != nil && !(s.optional && errors.Is(e, fs.ErrNotExist)) {
				err = fmt.Errorf("limit the memory of a control group: %w", e)
			}
		}
	}
	return err
}

// BoundsMemory tells whether the kernel holds the group to its memory.
func (g *Group) BoundsMemory() bool { return g != nil && g.dirs[memory] != "" }

// OutOfMemory tells whether the kernel has killed in the group for want of memory.
func (g *Group) OutOfMemory() bool { return g.outOfMemory() > 0 }

func (g *Group) outOfMemory() int64 {
	return max(g.count(memory, "memory.oom_control", "oom_kill"), g.count(memory, "memory.events", "oom_kill"))
}

// OutOfTasks tells whether the kernel has refused the group a new thread.
func (g *Group) OutOfTasks() bool { return g.outOfTasks() > 0 }

func (g *Group) outOfTasks() int64 { return g.count(pids, "pids.events", "max") }

// CPU is the processor time of all that ran in the group; ok is false where nothing counts it.
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

// Peak is the most memory that the group held at one time, files' pages included, in bytes; 0 where nothing counts it.
func (g *Group) Peak() int64 {
	if n, ok := g.number(memory, "memory.max_usage_in_bytes"); ok {
		return n
	}
	n, _ := g.number(memory, "memory.peak") // Linux 5.19 and newer
	return n
}

// number reads a file that holds one number.
func (g *Group) number(controller, file string) (int64, bool) {
	if g == nil || g.dirs[controller] == "" {
		return 0, false
	}
	text, err := os.ReadFile(filepath.Join(g.dirs[controller], file))
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n, err == nil
}

// count reads one number from a file of lines "name number"; 0 where there is none.
func (g *Group) count(controller, file, name string) int64 {
	if g == nil || g.dirs[controller] == "" {
		return 0
	}
	text, err := os.ReadFile(filepath.Join(g.dirs[controller], file))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == name {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return n
		}
	}
	return 0
}

// Kill kills every process in the group.
func (g *Group) Kill() {
	if g != nil {
		killAll(g.folders())
	}
}

// Close kills what is left, waits until it is gone, and removes the group.
func (g *Group) Close() error {
	if g == nil {
		return nil
	}
	if g.v2 != nil {
		g.v2.Close()
	}
	return remove(g.folders())
}

// folders lists each folder once.
func (g *Group) folders() []string {
	var dirs []string
	for _, dir := range g.dirs {
		dirs = append(dirs, dir)
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// killAll kills what is in the folders, and tells how many processes that were. This process is never among them: one
// of its threads may be there for a moment.
func killAll(dirs []string) int {
	n := 0
	for _, dir := range dirs {
		if os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0o644) == nil {
			continue // version 2 since Linux 5.14, and at one stroke
		}
		text, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		if err != nil {
			continue
		}
		for field := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil && pid > 0 && pid != os.Getpid() {
				n++
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
	}
	return n
}

// removeTime is how long killed processes may take to be gone, on a machine with more to do than it can.
const removeTime = 20 * time.Second

// remove kills what is in the folders and removes them, turn by turn: one that does not go keeps no other.
func remove(dirs []string) error {
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
				errs = append(errs, fmt.Errorf("remove a sandbox's control group: %w%s", err, inhabitants(dir)))
			}
		}
		if len(busy) == 0 {
			return errors.Join(errs...)
		}
		killAll(busy)
		dirs = busy
	}
}

// inhabitants names the threads in a group that does not go, for the error that says so.
func inhabitants(dir string) string {
	text, _ := os.ReadFile(filepath.Join(dir, "tasks"))
	if len(text) == 0 {
		text, _ = os.ReadFile(filepath.Join(dir, "cgroup.threads"))
	}
	var words []string
	for _, tid := range strings.Fields(string(text)) {
		stat, _ := os.ReadFile(filepath.Join("/proc", tid, "stat"))
		who, state, _ := strings.Cut(string(stat), ") ")
		words = append(words, fmt.Sprintf("%.60q %.1s", who, state))
		if len(words) == 5 {
			break
		}
	}
	if len(words) == 0 {
		return ""
	}
	return "; in it: " + strings.Join(words, ", ")
}

// Sweep removes, with all that runs in them, the groups of a kind whose owners are dead as far as me can tell. It looks
// where this process makes groups, and for version 1 also where its neighbours do: the dead may have been of another
// session.
func Sweep(kind string, me owner.Owner) error {
	var dead []string
	for _, p := range places() {
		found, _ := filepath.Glob(filepath.Join(p.dir, prefix(kind)+"*"))
		if !p.unified {
			beside, _ := filepath.Glob(filepath.Join(filepath.Dir(p.dir), "*", prefix(kind)+"*"))
			found = append(found, beside...)
		}
		for _, dir := range found {
			if o, ok := parse(kind, filepath.Base(dir)); ok && o.Judge(me) == owner.Dead {
				dead = append(dead, withInner(dir)...)
			}
		}
	}
	return remove(dead)
}

// withInner lists a group and those in it, the innermost first.
func withInner(dir string) []string {
	var all []string
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			all = append(all, path)
		}
		return nil
	})
	slices.Reverse(all)
	return all
}

func prefix(kind string) string { return "mcprun-" + kind + "." }

// mark is an owner's name without '/'.
func mark(o owner.Owner) string { return strings.ReplaceAll(o.String(), "/", "+") }

// parse reads the owner from the name of a group.
func parse(kind, name string) (owner.Owner, bool) {
	rest, ok := strings.CutPrefix(name, prefix(kind))
	end := strings.LastIndexByte(rest, '.')
	if !ok || end < 0 {
		return owner.Owner{}, false
	}
	return owner.Parse(strings.ReplaceAll(rest[:end], "+", "/"))
}
