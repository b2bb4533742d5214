// Package rundir creates the folder in which a sandbox keeps what one guest needs while it runs: its program, sockets and configuration.
// Start with [New].
package rundir

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpgen/mcpgen/runner/sandbox/internal/folder"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/reaper"
)

// Dir is the folder of one guest. No other user of the machine can enter it. What a guest's user may read in it is mounted in the guest.
type Dir struct {
	Path   string
	Random string // the end of its name: 12 unpredictable characters
	guard  func() // releases the reaper's guard; nil if it is not guarded
}

// New creates a folder in parent, named prefix followed by random characters. It creates parent if necessary, and refuses a parent that
// another user could enter. exe is a program whose main calls reaper.Init: the folder is then removed if this process is killed. With an
// empty exe it is not. After an error nothing is left.
func New(parent, prefix, exe string) (*Dir, error) {
	if err := folder.Private(parent); err != nil {
		return nil, err
	}
	random := strings.ToLower(rand.Text()[:12])
	d := &Dir{Path: filepath.Join(parent, prefix+random), Random: random}
	if exe != "" {
		var err error
		if d.guard, err = reaper.Guard(exe, d.Path); err != nil {
			return nil, err
		}
	}
	if err := os.Mkdir(d.Path, 0o700); err != nil {
		return nil, errors.Join(fmt.Errorf("create the run's folder: %w", err), d.Remove())
	}
	return d, nil
}

// File returns the path of a file or folder in d.
func (d *Dir) File(name string) string { return filepath.Join(d.Path, name) }

// MkdirAll creates a folder in d, and its parents, readable for everybody regardless of the umask.
func (d *Dir) MkdirAll(name string) error {
	dir := d.File(name)
	if st, err := os.Stat(dir); err == nil && st.IsDir() {
		return nil
	}
	if err := d.MkdirAll(filepath.Dir(name)); err != nil {
		return err
	}
	return errors.Join(os.Mkdir(dir, 0o755), os.Chmod(dir, 0o755))
}

// Write writes a file in d that is readable for everybody regardless of the umask, and creates its folder.
func (d *Dir) Write(name string, data []byte) error {
	if err := d.MkdirAll(filepath.Dir(name)); err != nil {
		return err
	}
	return errors.Join(os.WriteFile(d.File(name), data, 0o644), os.Chmod(d.File(name), 0o644))
}

// Remove removes the folder with its contents.
func (d *Dir) Remove() error {
	if err := os.RemoveAll(d.Path); err != nil {
		return fmt.Errorf("remove the run's folder: %w", err)
	}
	if d.guard != nil {
		d.guard()
	}
	return nil
}
