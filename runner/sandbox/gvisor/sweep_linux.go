package gvisor

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/gen/owner"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/cgroup"
)

// kind is what the control groups of this package are called.
const kind = "gvisor"

// sweep removes what the guests of dead hosts have left: control groups with all in them, folders, and, should one
// have outlived its parent where there are no groups, processes.
func sweep(parent string) error {
	me, err := owner.Self()
	if err != nil {
		return err
	}
	errs := []error{cgroup.Sweep(kind, me)}
	dirs, err := abandonedDirs(parent, me)
	errs = append(errs, err)
	if len(dirs) > 0 {
		killThoseOf(dirs)
	}
	for _, d := range dirs {
		errs = append(errs, d.remove())
	}
	return errors.Join(errs...)
}

// killThoseOf kills the processes of runsc that were told to keep their notes in one of the folders. A guest's own
// processes cannot be mistaken for them: what it calls itself is known to gVisor's kernel only.
func killThoseOf(dirs []*runDir) {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range lines {
		text, err := os.ReadFile(file)
		if err != nil || !bytes.HasPrefix(text, []byte("runsc")) && !bytes.Contains(text, []byte("/runsc")) {
			continue
		}
		for _, d := range dirs {
			if !bytes.Contains(text, []byte("--root="+d.state()+"\x00")) {
				continue
			}
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
	}
}
