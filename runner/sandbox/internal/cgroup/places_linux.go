package cgroup

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// setting is one file of a group. An optional one may be absent (swap accounting is often off).
type setting struct {
	file, value string
	optional    bool
}

// place is a folder in which this process may make groups.
type place struct {
	dir         string
	controllers []string
	unified     bool
}

func (p place) settings(l Limits) []setting {
	var all []setting
	if l.Memory > 0 && slices.Contains(p.controllers, memory) {
		if p.unified {
			all = append(all, memoryV2(l.Memory)...)
		} else {
			all = append(all, memoryV1(l.Memory)...)
		}
	}
	if l.Tasks > 0 && slices.Contains(p.controllers, pids) {
		all = append(all, setting{"pids.max", strconv.Itoa(l.Tasks), false})
	}
	return all
}

func memoryV1(bytes int64) []setting {
	n := strconv.FormatInt(bytes, 10)
	return []setting{{"memory.limit_in_bytes", n, false}, {"memory.memsw.limit_in_bytes", n, true}}
}

func memoryV2(bytes int64) []setting {
	return []setting{{"memory.max", strconv.FormatInt(bytes, 10), false}, {"memory.swap.max", "0", true}, {"memory.oom.group", "1", true}}
}

// places lists where groups can be made: below this process's own group for version 1, beside it for version 2, where a
// group that holds processes cannot hand controllers to children.
func places() []place {
	mine := ownGroups()
	var found []place
	for _, m := range mounts() {
		var p place
		if m.unified {
			p = placeV2(m, mine[""])
		} else {
			for _, c := range []string{memory, pids, cpu} {
				if slices.Contains(m.controllers, c) {
					p.controllers = append(p.controllers, c)
					p.dir = filepath.Join(m.dir, strings.TrimPrefix(mine[c], m.root))
				}
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
	if own == filepath.Clean(m.dir) || len(handedDown(p.dir)) == 0 {
		p.dir = m.dir // this process is at the top of what it can see
	}
	p.controllers = handedDown(p.dir)
	return p
}

// handedDown lists those of our controllers that children of a version 2 group get. Processor time is counted always.
func handedDown(dir string) []string {
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
	if err != nil {
		return nil
	}
	words := strings.Fields(string(text))
	var all []string
	for _, c := range []string{memory, pids} {
		if slices.Contains(words, c) {
			all = append(all, c)
		}
	}
	if len(all) > 0 {
		all = append(all, cpu)
	}
	return all
}

// hierarchy is one mounted tree of groups.
type hierarchy struct {
	dir, root   string
	controllers []string
	unified     bool
}

func mounts() []hierarchy {
	text, err := readOwn("mountinfo")
	if err != nil {
		return nil
	}
	var list []hierarchy
	for line := range strings.Lines(string(text)) {
		left, right, ok := strings.Cut(line, " - ")
		f, g := strings.Fields(left), strings.Fields(right)
		if !ok || len(f) < 5 || len(g) < 3 {
			continue
		}
		h := hierarchy{dir: f[4], root: strings.TrimSuffix(f[3], "/")}
		switch g[0] {
		case "cgroup":
			h.controllers = strings.Split(g[2], ",")
		case "cgroup2":
			h.unified = true
		default:
			continue
		}
		list = append(list, h)
	}
	return list
}

// ownGroups maps each controller to this process's group; version 2 has the empty name.
func ownGroups() map[string]string {
	text, _ := readOwn("cgroup")
	return parseGroups(text)
}

// readOwn reads what the kernel tells of the calling thread. That of /proc/self is the first thread's, which may just be
// in a group to start something there, and so may be any thread that this goroutine leaves between opening and reading.
func readOwn(name string) ([]byte, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return os.ReadFile(filepath.Join("/proc/thread-self", name))
}

// parseGroups maps each controller in the text of a file /proc/PID/cgroup to a group.
func parseGroups(text []byte) map[string]string {
	groups := make(map[string]string)
	for line := range strings.Lines(string(text)) {
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
