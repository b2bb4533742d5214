package gvisor

import (
	"cmp"

	"github.com/mcpgen/mcpgen/runner/sandbox/internal/reaper"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/rundir"
)

// What is in the folder of a guest, besides runsc's files.
const (
	configFile = "config.json" // the bundle
	rootFolder = "rootfs"      // the guest's root: its program, and places to mount on
	emptyFile  = "empty"       // the guest sees it in place of a device
	pidFile    = "pid"         // written by runsc when the guest runs
	logFile    = "log"         // the complaints of runsc and gVisor
	// stateFolder has runsc's state of the guest while it lives.
	stateFolder = "s"
)

// runDir is the folder of one guest.
type runDir struct {
	*rundir.Dir
	name string // of the guest, to runsc and in control groups
}

// newRunDir makes the folder of one guest. It goes with this process, too.
func (b *Backend) newRunDir(id string) (*runDir, error) {
	dir, err := rundir.New(b.opts.RuntimeDir, "gvisor-"+id+"-", b.exe())
	if err != nil {
		return nil, err
	}
	return &runDir{Dir: dir, name: id + "-" + dir.Random}, nil
}

// guard has paths removed should this process be killed.
func (b *Backend) guard(paths ...string) (release func(), err error) {
	return reaper.Guard(b.exe(), paths...)
}

func (b *Backend) exe() string { return cmp.Or(b.opts.Exe, "/proc/self/exe") }
