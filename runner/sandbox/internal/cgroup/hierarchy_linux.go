package cgroup

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// hierarchy is one mounted tree of groups: version 2 has one for all controllers, version 1 one for each controller or for a few.
type hierarchy struct {
	dir         string // where it is mounted
	root        string // the group at the root of the mount
	controllers []string
	unified     bool // version 2
}

func hierarchies() []hierarchy {
	var list []hierarchy
	for line := range strings.Lines(readOwn("mountinfo")) {
		left, right, ok := strings.Cut(line, " - ")
		f, g := strings.Fields(left), strings.Fields(right)
		if !ok || len(f) < 5 || len(g) < 3 || g[0] != "cgroup" && g[0] != "cgroup2" {
			continue
		}
		h := hierarchy{dir: f[4], root: strings.TrimSuffix(f[3], "/"), unified: g[0] == "cgroup2", controllers: []string{memory, pids, cpu}}
		if !h.unified {
			mounted := strings.Split(g[2], ",")
			h.controllers = slices.DeleteFunc(h.controllers, func(c string) bool { return !slices.Contains(mounted, c) })
		}
		if len(h.controllers) > 0 {
			list = append(list, h)
		}
	}
	// If both versions are mounted, as systemd once did, the controllers are in version 1.
	if slices.ContainsFunc(list, func(h hierarchy) bool { return !h.unified }) {
		list = slices.DeleteFunc(list, func(h hierarchy) bool { return h.unified })
	}
	return list
}

// folder returns the folder of the group that belongs to this hierarchy, and whether it is visible here.
func (h hierarchy) folder(groups map[string]string) (dir string, visible bool) {
	controller := h.controllers[0]
	if h.unified {
		controller = ""
	}
	group, known := groups[controller]
	below, inside := strings.CutPrefix(group, h.root)
	return filepath.Join(h.dir, below), known && inside && filepath.IsLocal("."+below)
}

// places lists the hierarchies in which this process can create groups, each with the folder for them: below this process's own group for
// version 1, and beside it for version 2, where a group that holds processes cannot pass controllers on to children.
func places() []hierarchy {
	mine := ownGroups()
	var found []hierarchy
	for _, h := range hierarchies() {
		own, _ := h.folder(mine)
		if h.unified {
			top := h.dir
			h.dir = filepath.Dir(own)
			if h.controllers = inherited(h.dir); own == filepath.Clean(top) || len(h.controllers) == 0 {
				h.dir, h.controllers = top, inherited(top) // this process is in the topmost visible group
			}
		} else {
			h.dir = own
		}
		if len(h.controllers) > 0 && unix.Access(h.dir, unix.W_OK) == nil {
			found = append(found, h)
		}
	}
	return found
}

// inherited lists our controllers if children of a version 2 group get them. Processor time is always counted.
func inherited(dir string) []string {
	text, _ := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
	words := strings.Fields(string(text))
	if !slices.Contains(words, memory) || !slices.Contains(words, pids) {
		return nil
	}
	return []string{memory, pids, cpu}
}

// ownGroups maps each controller to this process's group. Version 2 has the empty name.
func ownGroups() map[string]string { return parseGroups(readOwn("cgroup")) }

// readOwn reads the groups of the calling thread. /proc/self shows those of the first thread, which may temporarily be in another group to
// start a process there. So may any other thread that this goroutine leaves between opening and reading.
func readOwn(name string) string {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	text, _ := os.ReadFile(filepath.Join("/proc/thread-self", name))
	return string(text)
}

// parseGroups maps each controller in the text of a /proc/PID/cgroup file to a group.
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
