package sandboxtest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// leftovers lists what a run left on the machine: processes that carry its name, mounts of its folders, folders and
// control groups named after it, and what the backend's own test knows of.
func (w *world) leftovers(t *testing.T, opt Options) []string {
	t.Helper()
	var left []string
	// Wait has returned, so nothing may be there. A moment is granted for the kernel to take a dead process off its
	// list, not for a sandbox to end.
	for range 20 {
		left = append(w.processes(), w.mounts()...)
		if len(left) == 0 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	for _, dir := range []string{os.TempDir(), "/run", "/dev/shm", "/sys/fs/cgroup", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids"} {
		left = append(left, w.named(dir)...)
	}
	if opt.Leftovers != nil {
		left = append(left, opt.Leftovers(w.id)...)
	}
	return left
}

// processes lists those that have the run's id among their arguments or in their environment.
func (w *world) processes() []string {
	var found []string
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		if filepath.Base(dir) == fmt.Sprint(os.Getpid()) {
			continue
		}
		for _, name := range []string{"cmdline", "environ"} {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err == nil && strings.Contains(string(text), w.id) {
				found = append(found, fmt.Sprintf("process %s: %.200q", filepath.Base(dir), text))
			}
		}
	}
	return found
}

func (w *world) mounts() []string {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil // not Linux
	}
	var found []string
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, filepath.Dir(w.workspace)) || strings.Contains(line, w.id) {
			found = append(found, "mount "+strings.TrimSpace(line))
		}
	}
	return found
}

// named lists entries of dir, and one level below, that have the run's id in their name.
func (w *world) named(dir string) []string {
	var found []string
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return fs.SkipDir
		}
		if strings.Contains(d.Name(), w.id) {
			found = append(found, path)
		}
		if d.IsDir() && strings.Count(strings.TrimPrefix(path, dir), "/") > 1 {
			return fs.SkipDir
		}
		return nil
	})
	return found
}
