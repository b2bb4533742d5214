package gvisor

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mcpgen/mcpgen/runner/sandbox/internal/folder"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/reaper"
)

// runDir is the folder of one guest. No other user can enter it.
//
//	config.json  the bundle
//	rootfs/      the guest's root: its program, and places to mount on
//	nothing      an empty file that the guest sees in place of a device
//	s/           runsc's state of the guest while it lives
//	pid          written by runsc when the guest runs
//	log          the complaints of runsc and gVisor
type runDir struct {
	path, name string
	release    func()
}

func (d *runDir) state() string   { return filepath.Join(d.path, "s") }
func (d *runDir) pidFile() string { return filepath.Join(d.path, "pid") }
func (d *runDir) nothing() string { return filepath.Join(d.path, "nothing") }
func (d *runDir) logFile() string { return filepath.Join(d.path, "log") }

func (d *runDir) remove() error {
	if err := os.RemoveAll(d.path); err != nil {
		return fmt.Errorf("remove the run's folder: %w", err)
	}
	d.release()
	return nil
}

// newRunDir makes the folder of one guest. It goes with this process, too. After an error nothing is left.
func (b *Backend) newRunDir(id string) (*runDir, error) {
	if err := folder.Private(b.opts.RuntimeDir); err != nil {
		return nil, err
	}
	d := &runDir{name: id + "-" + rand.Text()[:8]}
	d.path = filepath.Join(b.opts.RuntimeDir, "gvisor-"+d.name)
	var err error
	if d.release, err = b.guard(d.path); err != nil {
		return nil, err
	}
	if err := errors.Join(os.Mkdir(d.path, 0o700), os.Mkdir(d.state(), 0o700)); err != nil {
		return nil, errors.Join(fmt.Errorf("make the run's folder: %w", err), d.remove())
	}
	return d, nil
}

// guard has paths removed should this process be killed.
func (b *Backend) guard(paths ...string) (release func(), err error) {
	return reaper.Guard(cmp.Or(b.opts.Exe, "/proc/self/exe"), paths...)
}
