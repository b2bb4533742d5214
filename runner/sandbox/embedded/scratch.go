package embedded

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mcpgen/mcpgen/runner/sandbox/internal/folder"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/reaper"
)

// scratch is the folder of one run, with the script's /tmp and, if it has no other, its workspace.
type scratch struct {
	path    string // empty if there is none
	release func()
}

// makeScratch creates the folder, which is removed when this process dies. exe is a program whose main calls Child.
func makeScratch(dir, exe string) (scratch, error) {
	if dir != os.TempDir() { // os.TempDir is for everybody
		if err := folder.Private(dir); err != nil {
			return scratch{}, err
		}
	}
	name := filepath.Join(dir, "mcprun-embedded-"+rand.Text())
	release, err := reaper.Guard(exe, name)
	if err != nil {
		return scratch{}, err
	}
	s := scratch{name, release}
	if err := os.Mkdir(name, 0o700); err != nil {
		release()
		return scratch{}, fmt.Errorf("create the run's folder: %w", err)
	}
	// The jail's user passes through it to the folders inside to which it has access.
	return s, errors.Join(os.Chmod(name, 0o711), os.Mkdir(s.tmp(), 0o700), os.Mkdir(s.workspace(), 0o700))
}

func (s scratch) tmp() string       { return filepath.Join(s.path, "tmp") }
func (s scratch) workspace() string { return filepath.Join(s.path, "workspace") }

func (s scratch) remove() error {
	if s.path == "" {
		return nil
	}
	if err := os.RemoveAll(s.path); err != nil {
		return fmt.Errorf("remove the run's folder: %w", err)
	}
	s.release()
	return nil
}
