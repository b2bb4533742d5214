package integration

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ory/dockertest/v3"
	"github.com/ory/dockertest/v3/docker"

	"github.com/mcpgen/mcpgen/gen/owner"
)

// leftovers lists what the project's runs have left on the machine. It gives the kernel and the engine a moment to remove ended
// processes and containers from their lists.
func (p *project) leftovers() []string {
	deadline := time.Now().Add(time.Second)
	for {
		left := p.leftNow()
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (p *project) leftNow() []string {
	p.mu.Lock()
	own := slices.Clone(p.own)
	p.mu.Unlock()
	return slices.Concat(p.processes(), p.mounts(), p.runFolders(), containersOf(own), volumesOf(own), groupsOf(own))
}

// processes lists those that run in the project's folder or have it among their arguments: the programs, and the
// servers they started.
func (p *project) processes() []string {
	var found []string
	for _, pid := range allPIDs() {
		proc := filepath.Join("/proc", strconv.Itoa(pid))
		cmdline, err := os.ReadFile(filepath.Join(proc, "cmdline"))
		if err != nil || pid == os.Getpid() {
			continue
		}
		cwd, _ := os.Readlink(filepath.Join(proc, "cwd"))
		if within(cwd, p.dir) || bytes.Contains(cmdline, []byte(p.dir)) {
			found = append(found, fmt.Sprintf("process %d: %q in %s", pid, cmdline, cwd))
		}
	}
	return found
}

func within(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

func (p *project) mounts() []string {
	var found []string
	text, _ := os.ReadFile("/proc/self/mountinfo") // exists on Linux only
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, p.dir) {
			found = append(found, "mount "+strings.TrimSpace(line))
		}
	}
	return found
}

// runFolders lists what is in the runtime folder, except the folder that all runs share.
func (p *project) runFolders() []string {
	var found []string
	shared := filepath.Join(p.runtimeDir(), "mcprun")
	_ = filepath.WalkDir(p.runtimeDir(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == p.runtimeDir() || path == shared {
			return nil
		}
		found = append(found, "file "+path)
		if d.IsDir() {
			return fs.SkipDir // its name says enough
		}
		return nil
	})
	return found
}

// engine is a client of the Docker Engine, nil where none answers.
var engine = sync.OnceValue(func() *dockertest.Pool {
	pool, err := dockertest.NewPool("")
	if err != nil || pool.Client.Ping() != nil {
		return nil
	}
	return pool
})

// containersOf lists the containers that processes have started, by the owner they are labelled with.
func containersOf(own []process) []string {
	pool := engine()
	if pool == nil {
		return nil
	}
	all, err := pool.Client.ListContainers(docker.ListContainersOptions{All: true, Filters: map[string][]string{"label": {"mcprun.owner"}}})
	if err != nil {
		return []string{fmt.Sprintf("containers cannot be listed: %v", err)}
	}
	var found []string
	for _, c := range all {
		if ownedBy(own, c.Labels["mcprun.owner"]) {
			found = append(found, fmt.Sprintf("container %v %s", c.Names, c.State))
		}
	}
	return found
}

func volumesOf(own []process) []string {
	pool := engine()
	if pool == nil {
		return nil
	}
	all, err := pool.Client.ListVolumes(docker.ListVolumesOptions{Filters: map[string][]string{"label": {"mcprun.owner"}}})
	if err != nil {
		return []string{fmt.Sprintf("volumes cannot be listed: %v", err)}
	}
	var found []string
	for _, v := range all {
		if ownedBy(own, v.Labels["mcprun.owner"]) {
			found = append(found, "volume "+v.Name)
		}
	}
	return found
}

// ownedBy reads the label of an owner. A label that cannot be read counts as owned, because somebody has to look at it.
func ownedBy(own []process, label string) bool {
	o, ok := owner.Parse(label)
	return !ok || slices.ContainsFunc(own, func(p process) bool { return p.pid == o.PID && p.started == o.Start })
}

// groupsOf lists the control groups that processes have created. Their names begin with "mcprun-" and the process's id, which another
// process may have by now.
func groupsOf(own []process) []string {
	var found []string
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || !strings.HasPrefix(d.Name(), "mcprun-") {
			return nil // also somebody else's that ended while we looked
		}
		if pid, err := strconv.Atoi(strings.Split(d.Name(), "-")[1]); err != nil || slices.ContainsFunc(own, func(p process) bool { return p.pid == pid && (p.alive() || !isProcess(pid)) }) {
			found = append(found, "control group "+path)
		}
		return nil
	})
	return found
}

// process identifies a process by more than its id, because ids are reused.
type process struct {
	pid, parent int
	started     string
	name        string
}

func (p process) String() string { return fmt.Sprintf("process %d (%s)", p.pid, p.name) }

func (p process) alive() bool {
	now, ok := lookUp(p.pid)
	return ok && now.started == p.started
}

// lookUp returns a process; a zombie counts as gone.
func lookUp(pid int) (process, bool) {
	p, state := readStat(pid)
	return p, state != "" && state != "Z"
}

// readStat reads /proc/PID/stat. The state is empty if there is no such process.
func readStat(pid int) (p process, state string) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, ""
	}
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	fields := strings.Fields(string(text[end+1:]))
	if open < 0 || len(fields) < 20 {
		return process{}, ""
	}
	parent, _ := strconv.Atoi(fields[1])
	return process{pid: pid, parent: parent, started: fields[19], name: string(text[open+1 : end])}, fields[0]
}

// descendants lists a process's children, their children, and so on: the upstream servers, and sandboxes that are not containers.
func descendants(pid int) []process {
	children := map[int][]process{}
	for _, each := range allPIDs() {
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

func isProcess(pid int) bool {
	_, ok := lookUp(pid)
	return ok
}

func allPIDs() []int {
	var pids []int
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
