//go:build linux && (amd64 || arm64)

package jail

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// group is one jail's control group: one folder for version 2, one per controller for version 1. Where the caller may
// not make one, the watchdog alone bounds memory.
type group struct {
	dirs  []string // to remove
	mem   string   // the one with the memory controller; empty: none
	tasks bool     // one bounds the number of processes
	unify bool     // version 2
}

const groupPrefix = "mcprun-"

// newGroup makes a group for the process pid and moves it there. It returns nil, and why, where that can't be had.
func newGroup(id string, pid int, limits sandbox.Limits) (*group, []string) {
	places := groupPlaces()
	if len(places) == 0 {
		return nil, []string{"cgroup: none may be made here; memory and processes are bounded by a watchdog"}
	}
	g := new(group)
	name := groupPrefix + hostMark() + "-" + id
	var missing []string
	for _, place := range places {
		if err := g.add(place, name, pid, limits); err != nil {
			missing = append(missing, fmt.Sprintf("cgroup %s: %v; a watchdog takes its place", place.what, err))
		}
	}
	if len(g.dirs) == 0 {
		return nil, missing
	}
	return g, missing
}

// setting is one file of a group. An optional one may be absent (swap accounting is often off).
type setting struct {
	file, value string
	optional    bool
}

// place is a folder in which groups can be made, and the files that set its limits.
type place struct {
	dir, what     string
	memory, unify bool
	settings      func(sandbox.Limits) []setting
}

func (g *group) add(p place, name string, pid int, limits sandbox.Limits) error {
	dir := filepath.Join(p.dir, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	undo := func(err error) error { return errors.Join(err, os.Remove(dir)) }
	for _, s := range p.settings(limits) {
		err := os.WriteFile(filepath.Join(dir, s.file), []byte(s.value), 0o644)
		if err != nil && !(s.optional && errors.Is(err, os.ErrNotExist)) {
			return undo(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o644); err != nil {
		return undo(err)
	}
	g.dirs = append(g.dirs, dir)
	g.tasks = g.tasks || p.unify || !p.memory
	if p.memory {
		g.mem, g.unify = dir, p.unify
	}
	return nil
}

func memorySettingsV1(l sandbox.Limits) []setting {
	bytes := strconv.FormatInt(l.Memory, 10)
	return []setting{{"memory.limit_in_bytes", bytes, false}, {"memory.memsw.limit_in_bytes", bytes, true}}
}

func pidsSettings(l sandbox.Limits) []setting {
	return []setting{{"pids.max", strconv.Itoa(l.Processes + ownTasks), false}}
}

func settingsV2(l sandbox.Limits) []setting {
	return append(pidsSettings(l), setting{"memory.max", strconv.FormatInt(l.Memory, 10), false},
		setting{"memory.swap.max", "0", true}, setting{"memory.oom.group", "1", true})
}

// groupPlaces lists where this process may make groups: below its own group for version 1, beside it for version 2,
// where a group that holds processes can't hand controllers to children.
func groupPlaces() []place {
	mine := ownGroups()
	var found []place
	for _, m := range cgroupMounts() {
		for _, controller := range m.controllers {
			p := place{dir: filepath.Join(m.dir, strings.TrimPrefix(mine[controller], m.root)), what: controller}
			switch controller {
			case "memory":
				p.memory, p.settings = true, memorySettingsV1
			case "pids":
				p.settings = pidsSettings
			case "":
				p.dir = filepath.Dir(p.dir)
				if mine[""] == m.root || !handsDown(p.dir) {
					p.dir = m.dir // we are at the top of what is visible
				}
				if !handsDown(p.dir) {
					continue
				}
				p.what, p.memory, p.unify, p.settings = "v2", true, true, settingsV2
			default:
				continue
			}
			if unix.Access(p.dir, unix.W_OK) == nil {
				found = append(found, p)
			}
		}
	}
	return found
}

// handsDown tells whether children of a version 2 group get the controllers we need.
func handsDown(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
	words := strings.Fields(string(text))
	has := func(want string) bool {
		for _, w := range words {
			if w == want {
				return true
			}
		}
		return false
	}
	return err == nil && has("memory") && has("pids")
}

// cgroupMount is one mounted hierarchy; version 2 has the single controller "".
type cgroupMount struct {
	dir, root   string
	controllers []string
}

func cgroupMounts() []cgroupMount {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	var list []cgroupMount
	for line := range strings.Lines(string(text)) {
		left, right, ok := strings.Cut(line, " - ")
		f, g := strings.Fields(left), strings.Fields(right)
		if !ok || len(f) < 5 || len(g) < 3 {
			continue
		}
		m := cgroupMount{dir: f[4], root: strings.TrimSuffix(f[3], "/")}
		switch g[0] {
		case "cgroup":
			m.controllers = strings.Split(g[2], ",")
		case "cgroup2":
			m.controllers = []string{""}
		default:
			continue
		}
		list = append(list, m)
	}
	return list
}

// ownGroups maps each controller to this process's group.
func ownGroups() map[string]string {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	mine := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) != 3 {
			continue
		}
		for controller := range strings.SplitSeq(f[1], ",") {
			mine[controller] = strings.TrimSuffix(f[2], "/")
		}
	}
	return mine
}

// close removes the group and notes in exit what it saw: Killed when the kernel killed for memory.
func (g *group) close(exit *sandbox.Exit) error {
	if g == nil {
		return nil
	}
	if g.oomKills() > 0 {
		exit.Killed = "memory"
	}
	var errs []error
	for _, dir := range g.dirs {
		errs = append(errs, removeGroup(dir))
	}
	return errors.Join(errs...)
}

func (g *group) countsTasks() bool { return g != nil && g.tasks }

func (g *group) oomKills() int {
	if g.mem == "" {
		return 0
	}
	file := "memory.oom_control"
	if g.unify {
		file = "memory.events"
	}
	text, err := os.ReadFile(filepath.Join(g.mem, file))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "oom_kill" {
			n, _ := strconv.Atoi(f[1])
			return n
		}
	}
	return 0
}

// removeGroup removes a group whose processes are dead; the kernel may need a moment to see that.
func removeGroup(dir string) error {
	var err error
	for range 50 {
		if err = os.Remove(dir); err == nil || errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if !errors.Is(err, unix.EBUSY) {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	return fmt.Errorf("remove the sandbox's cgroup: %w", err)
}

// hostMark names this process so that no later one with its number is taken for it.
func hostMark() string {
	pid := os.Getpid()
	return fmt.Sprintf("%d-%d", pid, startTime(pid))
}

// startTime is when a process started, in the kernel's own units; 0 where there is no such process.
func startTime(pid int) uint64 {
	fields := statFields(pid)
	if len(fields) < 20 {
		return 0
	}
	t, _ := strconv.ParseUint(fields[19], 10, 64)
	return t
}

// Sweep removes the groups of hosts that died. Their jails died with them.
func Sweep() error {
	var errs []error
	for _, p := range groupPlaces() {
		dirs, _ := filepath.Glob(filepath.Join(p.dir, groupPrefix+"*"))
		for _, dir := range dirs {
			var pid int
			var start uint64
			_, err := fmt.Sscanf(filepath.Base(dir), groupPrefix+"%d-%d-", &pid, &start)
			if err != nil || startTime(pid) == start {
				continue
			}
			errs = append(errs, removeGroup(dir))
		}
	}
	return errors.Join(errs...)
}
