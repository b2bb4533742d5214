package gvisor

import (
	"cmp"

	"github.com/mcpgen/mcpgen/runner/sandbox/internal/reaper"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/rundir"
)

// Names in the folder of a guest, besides runsc's files.
const (
	configFile = "config.json" // the bundle
	rootFolder = "rootfs"      // the guest's root: its program, and places to mount on
	emptyFile  = "empty"       // shown to the guest in place of a device
	pidFile    = "pid"         // written by runsc when the guest runs
	logFile    = "log"         // error messages of runsc and gVisor
	// stateFolder holds runsc's state of the guest while the guest runs.
	stateFolder = "s"
)

// runDir is the folder of one guest.
type runDir struct {
	*rundir.Dir
	name string // the name of the guest, for runsc and in control groups
}

// newRunDir creates the folder of one guest. It is removed when this process dies.
func (b *Backend) newRunDir(id string) (*runDir, error) {
	dir, err := rundir.New(b.opts.RuntimeDir, "gvisor-"+id+"-", b.exe())
	if err != nil {
		return nil, err
	}
	return &runDir{Dir: dir, name: id + "-" + dir.Random}, nil
}

// guard makes sure that paths are removed if this process is killed.
func (b *Backend) guard(paths ...string) (release func(), err error) {
	return reaper.Guard(b.exe(), paths...)
}

func (b *Backend) exe() string { return cmp.Or(b.opts.Exe, "/proc/self/exe") }
