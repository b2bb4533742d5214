package gvisor

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/gen/owner"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/folder"
)

const (
	// runDirPrefix tells this package's folders from those of other sandboxes in the same place.
	runDirPrefix = "gvisor-"
)

// runDir is the folder of one guest. No other user can enter it.
//
//	owner        who it belongs to, for Sweep
//	config.json  the bundle
//	rootfs/      the guest's root: its program, and places to mount on
//	nothing      an empty file that the guest sees in place of a device
//	s/           what runsc notes about the guest while it lives
//	pid          written by runsc when the guest runs
//	log          what runsc and gVisor have to complain about
type runDir struct {
	path, name string
}

func (d *runDir) state() string   { return filepath.Join(d.path, "s") }
func (d *runDir) pidFile() string { return filepath.Join(d.path, "pid") }
func (d *runDir) nothing() string { return filepath.Join(d.path, "nothing") }
func (d *runDir) logFile() string { return filepath.Join(d.path, "log") }
func (d *runDir) remove() error   { return folder.Remove(d.path) }

// newRunDir makes the folder of one guest. On an error nothing is left.
func newRunDir(parent, id string, me owner.Owner) (*runDir, error) {
	if err := folder.Private(parent); err != nil {
		return nil, err
	}
	random := make([]byte, 4)
	rand.Read(random)
	name := id + "-" + hex.EncodeToString(random)
	d := &runDir{path: filepath.Join(parent, runDirPrefix+name), name: name}
	if err := folder.Make(d.path, me); err != nil {
		return nil, err
	}
	if err := os.Mkdir(d.state(), 0o700); err != nil {
		return nil, errors.Join(fmt.Errorf("fill the run's folder: %w", err), d.remove())
	}
	return d, nil
}

// abandonedDirs lists the folders in parent whose owners are dead.
func abandonedDirs(parent string, me owner.Owner) ([]*runDir, error) {
	entries, err := os.ReadDir(parent)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the folders of runs: %w", err)
	}
	if err := folder.Private(parent); err != nil {
		return nil, err
	}
	var found []*runDir
	for _, e := range entries {
		name, ok := strings.CutPrefix(e.Name(), runDirPrefix)
		d := &runDir{path: filepath.Join(parent, e.Name())}
		d.name = folder.Name(name)
		if ok && e.IsDir() && folder.Abandoned(d.path, me, time.Now()) {
			found = append(found, d)
		}
	}
	return found, nil
}
