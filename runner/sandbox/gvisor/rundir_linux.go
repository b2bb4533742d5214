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
	ownerFile    = "owner"
	// unnamedAge is how old a folder without an owner must be to be removed: a new one has none for a moment.
	unnamedAge = time.Minute
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
func (d *runDir) remove() error   { return os.RemoveAll(d.path) }

// newRunDir makes the folder of one guest. On an error nothing is left.
func newRunDir(parent, id string, me owner.Owner) (*runDir, error) {
	if err := folder.Private(parent); err != nil {
		return nil, err
	}
	random := make([]byte, 4)
	rand.Read(random)
	name := id + "-" + hex.EncodeToString(random)
	d := &runDir{path: filepath.Join(parent, runDirPrefix+name), name: name}
	if err := os.Mkdir(d.path, 0o700); err != nil {
		return nil, fmt.Errorf("make the run's folder: %w", err)
	}
	err := os.WriteFile(filepath.Join(d.path, ownerFile), []byte(me.String()), 0o600)
	if err == nil {
		err = os.Mkdir(d.state(), 0o700)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("fill the run's folder: %w", err), d.remove())
	}
	return d, nil
}

// abandoned tells whether the folder's owner is dead, or of another boot.
func (d *runDir) abandoned(me owner.Owner, now time.Time) bool {
	text, err := os.ReadFile(filepath.Join(d.path, ownerFile))
	if o, ok := owner.Parse(string(text)); err == nil && ok {
		return o.Judge(me) == owner.Dead || o.Boot != me.Boot
	}
	st, err := os.Stat(d.path)
	return err == nil && now.Sub(st.ModTime()) > unnamedAge
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
		d := &runDir{path: filepath.Join(parent, e.Name()), name: name}
		if ok && e.IsDir() && d.abandoned(me, time.Now()) {
			found = append(found, d)
		}
	}
	return found, nil
}
