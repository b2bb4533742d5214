package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpgen/mcpgen/gen/owner"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/folder"
)

// scratch is a folder of one run, with the script's /tmp and, where it was given none, its workspace. Empty: none.
type scratch string

const (
	scratchPrefix = "mcprun-embedded-"
	// ownerEnd stands behind the owner's name, in which ownerSlash takes the place of what no file name can hold.
	ownerEnd, ownerSlash = "+", ","
)

// makeScratch makes the folder; its name holds that of this process, so that Sweep knows whose it is.
func makeScratch(dir string) (scratch, error) {
	self, err := owner.Self()
	if err != nil {
		return "", err
	}
	if dir != os.TempDir() { // which is everybody's, and made for that
		if err := folder.Private(dir); err != nil {
			return "", err
		}
	}
	name, err := os.MkdirTemp(dir, scratchPrefix+strings.ReplaceAll(self.String(), "/", ownerSlash)+ownerEnd)
	if err != nil {
		return "", fmt.Errorf("make the run's folder: %w", err)
	}
	s := scratch(name)
	// The jail's user passes through it to the folders inside that it is granted.
	err = errors.Join(os.Chmod(name, 0o711), os.Mkdir(s.tmp(), 0o700), os.Mkdir(s.workspace(), 0o700))
	return s, err
}

func (s scratch) tmp() string       { return filepath.Join(string(s), "tmp") }
func (s scratch) workspace() string { return filepath.Join(string(s), "workspace") }

func (s scratch) remove() error {
	if s == "" {
		return nil
	}
	if err := os.RemoveAll(string(s)); err != nil {
		return fmt.Errorf("remove the run's folder: %w", err)
	}
	return nil
}

// sweepScratch removes the folders of hosts that are no more.
func sweepScratch(dir string) error {
	found, err := filepath.Glob(filepath.Join(dir, scratchPrefix+"*"))
	if err != nil || len(found) == 0 {
		return err
	}
	self, err := owner.Self()
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range found {
		text, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(name), scratchPrefix), ownerEnd)
		if o, ok := owner.Parse(strings.ReplaceAll(text, ownerSlash, "/")); ok && o.Judge(self) == owner.Dead {
			errs = append(errs, os.RemoveAll(name))
		}
	}
	return errors.Join(errs...)
}
