package soak

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ory/dockertest/v3"
	"github.com/ory/dockertest/v3/docker"

	"github.com/mcpgen/mcpgen/gen/owner"
)

// sizes are the resources that this process holds.
type sizes struct {
	files, routines int
	heap, resident  int64 // bytes; resident is 0 with the race detector
	names           string
}

// measure measures this process, after a moment in which idle connections and goroutines end.
func measure(t *testing.T) sizes {
	t.Helper()
	var s sizes
	for range 3 {
		runtime.GC()
		time.Sleep(50 * time.Millisecond)
	}
	debug.FreeOSMemory()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil && runtime.GOOS == "linux" {
		t.Fatal(err)
	}
	s.files, s.routines = len(list), runtime.NumGoroutine()
	for _, each := range list {
		name, _ := os.Readlink("/proc/self/fd/" + each.Name())
		s.names += each.Name() + " " + name + "\n"
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s.heap = int64(m.HeapAlloc)
	if text, err := os.ReadFile("/proc/self/statm"); err == nil && !raceDetector {
		pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		s.resident = pages * int64(os.Getpagesize())
	}
	return s
}

// compare fails the test if this process has grown by more than that many files or goroutines, or by more memory than
// growthMemory.
func (s sizes) compare(t *testing.T, when string, now sizes, files int) {
	t.Helper()
	if now.files > s.files+files {
		t.Errorf("%sopen files grew from %d to %d, want at most %d:\n%s", when, s.files, now.files, s.files+files, now.names)
	}
	if now.routines > s.routines+files {
		t.Errorf("%sgoroutines grew from %d to %d, want at most %d:\n%s", when, s.routines, now.routines, s.routines+files, stacks())
	}
	if now.heap > s.heap+growthMemory || now.resident > s.resident+growthMemory {
		t.Errorf("%smemory grew: heap %d to %d MiB, resident %d to %d MiB", when, s.heap>>20, now.heap>>20, s.resident>>20, now.resident>>20)
	}
}

func stacks() string {
	buf := make([]byte, 64<<10)
	return string(buf[:runtime.Stack(buf, true)])
}

// leftovers lists what runs of this process have left on the machine. It gives the kernel and the engine a moment.
func leftovers(t *testing.T, dirs ...string) []string {
	t.Helper()
	for end := time.Now().Add(time.Second); ; time.Sleep(20 * time.Millisecond) {
		left := leftOf(t, os.Getpid(), dirs...)
		for _, each := range descendants(os.Getpid()) {
			if !each.isReaper() {
				left = append(left, fmt.Sprintf("process %d %s", each.pid, each.name))
			}
		}
		if len(left) == 0 || time.Now().After(end) {
			return left
		}
	}
}

// leftOf lists what a process has left, without its child processes.
func leftOf(t *testing.T, pid int, dirs ...string) []string {
	t.Helper()
	return slices.Concat(mounts(dirs), containers(t, pid), groups(pid), files(dirs))
}

// process identifies a process by its id and start time, because ids are reused.
type process struct {
	pid, parent   int
	started, name string
	zombie        bool
}

func (p process) alive() bool {
	now, ok := lookUp(p.pid)
	return ok && now.started == p.started && !now.zombie
}

// isReaper reports whether a process is the one that cleans up after its parent and therefore outlives it.
func (p process) isReaper() bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.pid))
	return err == nil && strings.HasPrefix(string(text), "mcprun-reaper\x00")
}

func lookUp(pid int) (process, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, false
	}
	open, end := strings.IndexByte(string(text), '('), strings.LastIndexByte(string(text), ')')
	fields := strings.Fields(string(text[end+1:]))
	if open < 0 || len(fields) < 20 {
		return process{}, false
	}
	parent, _ := strconv.Atoi(fields[1])
	return process{pid: pid, parent: parent, started: fields[19], name: string(text[open : end+1]), zombie: fields[0] == "Z"}, true
}

// descendants lists the child processes of a process, including zombies, and theirs.
func descendants(pid int) []process {
	children := map[int][]process{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		each, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		if p, ok := lookUp(each); ok {
			children[p.parent] = append(children[p.parent], p)
		}
	}
	var found []process
	for next := children[pid]; len(next) > 0; {
		p := next[0]
		next = append(next[1:], children[p.pid]...)
		found = append(found, p)
	}
	return found
}

func mounts(dirs []string) []string {
	var found []string
	text, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(text)) {
		if slices.ContainsFunc(dirs, func(dir string) bool { return strings.Contains(line, dir) }) {
			found = append(found, "mount "+strings.TrimSpace(line))
		}
	}
	return found
}

// containers lists the containers and volumes of a process, by the owner in their labels.
func containers(t *testing.T, pid int) []string {
	t.Helper()
	pool, err := dockertest.NewPool("")
	if err != nil || pool.Client.Ping() != nil {
		return nil
	}
	filter := map[string][]string{"label": {"mcprun.owner"}}
	all, err := pool.Client.ListContainers(docker.ListContainersOptions{All: true, Filters: filter})
	if err != nil {
		return []string{fmt.Sprintf("containers cannot be listed: %v", err)}
	}
	var found []string
	for _, c := range all {
		if ownedBy(pid, c.Labels["mcprun.owner"]) {
			found = append(found, fmt.Sprintf("container %v %s", c.Names, c.State))
		}
	}
	volumes, err := pool.Client.ListVolumes(docker.ListVolumesOptions{Filters: filter})
	if err != nil {
		return append(found, fmt.Sprintf("volumes cannot be listed: %v", err))
	}
	for _, v := range volumes {
		if ownedBy(pid, v.Labels["mcprun.owner"]) {
			found = append(found, "volume "+v.Name)
		}
	}
	return found
}

// ownedBy reports whether an owner names the process: this one, or one that has ended. Another process may have its id by now. An owner that
// cannot be parsed counts, so that the test reports it.
func ownedBy(pid int, name string) bool {
	o, ok := owner.Parse(name)
	me, err := owner.Self()
	return !ok || err != nil || o.PID == pid && (o == me || o.Judge(me) != owner.Alive)
}

// groups lists the control groups of a process, whose names contain its id.
func groups(pid int) []string {
	var found []string
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		// An error may concern another group that ended meanwhile.
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), fmt.Sprintf("mcprun-%d-", pid)) {
			found = append(found, "control group "+path)
		}
		return nil
	})
	return found
}

// files lists the content of folders that should be empty, except for the folder that all runs share.
func files(dirs []string) []string {
	var found []string
	for _, dir := range dirs {
		_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && path != dir && path != filepath.Join(dir, "mcprun") {
				found = append(found, "file "+path)
			}
			return nil
		})
	}
	return found
}
