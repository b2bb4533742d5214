package cgroup

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// place is a folder in which this process may make groups.
type place struct {
	dir         string
	controllers []string
	unified     bool
}

// places lists where groups can be made: below this process's own group for version 1, beside it for version 2, where a
// group that holds processes cannot hand controllers to children.
func places() []place {
	mine := ownGroups()
	var found []place
	for _, m := range mounts() {
		p := place{unified: m.unified}
		if m.unified {
			p = placeV2(m, mine[""])
		}
		for _, c := range []string{memory, pids, cpu} {
			if slices.Contains(m.controllers, c) {
				p.controllers = append(p.controllers, c)
				p.dir = filepath.Join(m.dir, strings.TrimPrefix(mine[c], m.root))
			}
		}
		if len(p.controllers) > 0 && unix.Access(p.dir, unix.W_OK) == nil {
			found = append(found, p)
		}
	}
	return found
}

func placeV2(m hierarchy, mine string) place {
	own := filepath.Join(m.dir, strings.TrimPrefix(mine, m.root))
	p := place{dir: filepath.Dir(own), unified: true}
	if own == filepath.Clean(m.dir) || len(inherited(p.dir)) == 0 {
		p.dir = m.dir // this process is at the top of what it can see
	}
	p.controllers = inherited(p.dir)
	return p
}

// inherited lists those of our controllers that children of a version 2 group get. Processor time is always counted.
func inherited(dir string) []string {
	text, _ := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
	words := strings.Fields(string(text))
	all := slices.DeleteFunc([]string{memory, pids}, func(c string) bool { return !slices.Contains(words, c) })
	if len(all) > 0 {
		all = append(all, cpu)
	}
	return all
}

// hierarchy is one mounted tree of groups.
type hierarchy struct {
	dir, root   string
	controllers []string // version 1
	unified     bool     // version 2
}

func mounts() []hierarchy {
	var list []hierarchy
	for line := range strings.Lines(readOwn("mountinfo")) {
		left, right, ok := strings.Cut(line, " - ")
		f, g := strings.Fields(left), strings.Fields(right)
		if !ok || len(f) < 5 || len(g) < 3 {
			continue
		}
		h := hierarchy{dir: f[4], root: strings.TrimSuffix(f[3], "/"), unified: g[0] == "cgroup2"}
		if g[0] == "cgroup" {
			h.controllers = strings.Split(g[2], ",")
		}
		if h.unified || h.controllers != nil {
			list = append(list, h)
		}
	}
	return list
}

// ownGroups maps each controller to this process's group; version 2 has the empty name.
func ownGroups() map[string]string { return parseGroups(readOwn("cgroup")) }

// readOwn reads the groups of the calling thread. /proc/self shows those of the first thread, which may just be in
// a group to start something there, and so may be any thread that this goroutine leaves between opening and reading.
func readOwn(name string) string {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	text, _ := os.ReadFile(filepath.Join("/proc/thread-self", name))
	return string(text)
}

// parseGroups maps each controller in the text of a file /proc/PID/cgroup to a group.
func parseGroups(text string) map[string]string {
	groups := make(map[string]string)
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) != 3 {
			continue
		}
		for c := range strings.SplitSeq(f[1], ",") {
			groups[c] = strings.TrimSuffix(f[2], "/")
		}
	}
	return groups
}
