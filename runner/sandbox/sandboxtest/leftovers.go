package sandboxtest

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// leftovers lists what a run left on the machine: processes that carry its name or see its folders, mounts of its folders, folders and
// control groups named after it, and what the backend's own test finds.
func (w *world) leftovers(opt Options) []string {
	var left []string
	if !opt.Elsewhere {
		// Wait has returned, so nothing may be left. The kernel gets a moment to remove a dead process from its list.
		for range 20 {
			left = append(w.processes(), w.mounts("self")...)
			if len(left) == 0 {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	for _, dir := range []string{os.TempDir(), "/run", "/dev/shm"} {
		left = append(left, w.named(dir, 2)...)
	}
	// The control group of the test, below which some backends create theirs, may be anywhere.
	left = append(left, w.named("/sys/fs/cgroup", math.MaxInt)...)
	if opt.Leftovers != nil {
		for i := range w.runs {
			left = append(left, opt.Leftovers(fmt.Sprintf("%s-%d", w.id, i+1))...)
		}
	}
	return left
}

// processes lists processes with the id of the case in their arguments or environment, and those in a mount namespace that
// shows a folder of the case.
func (w *world) processes() []string {
	var found []string
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid := filepath.Base(dir)
		if pid == fmt.Sprint(os.Getpid()) {
			continue
		}
		for _, name := range []string{"cmdline", "environ"} {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err == nil && strings.Contains(string(text), w.id) {
				found = append(found, fmt.Sprintf("process %s: %.200q", pid, text))
			}
		}
		if seen := w.mounts(pid); len(seen) > 0 {
			text, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
			found = append(found, fmt.Sprintf("process %s %.100q with %s", pid, text, seen[0]))
		}
	}
	return found
}

// mounts lists the mounts of the case's folders in the namespace of a process.
func (w *world) mounts(pid string) []string {
	text, err := os.ReadFile("/proc/" + pid + "/mountinfo")
	if err != nil {
		return nil // not Linux, or another user's
	}
	var found []string
	for line := range strings.Lines(string(text)) {
		shared := w.pooled && strings.Contains(line, w.packages+"/") // with guests that wait for another run
		if !shared && (strings.Contains(line, w.base+"/") || strings.Contains(line, w.id)) {
			found = append(found, "mount "+strings.TrimSpace(line))
		}
	}
	return found
}

// named lists entries below dir, at most levels deep, with the id of the case in their name.
func (w *world) named(dir string, levels int) []string {
	var found []string
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return fs.SkipDir
		}
		if strings.HasPrefix(path, w.base) {
			return fs.SkipDir
		}
		if strings.Contains(d.Name(), w.id) {
			found = append(found, path)
		}
		if d.IsDir() && strings.Count(strings.TrimPrefix(path, dir), "/") >= levels {
			return fs.SkipDir
		}
		return nil
	})
	return found
}
