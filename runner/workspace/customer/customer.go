package customer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
)

// The folders of a customer.
const (
	stateDir    = "state"    // the working directory of scripts
	skillsDir   = "skills"   // saved scripts
	sessionsDir = "sessions" // logs and checkpoints
	vaultDir    = "vault"    // the sealed values behind tokens of personal data
	runsDir     = "runs"     // one file for each run in progress
)

// The other names in a customer's folder.
const (
	lockName = "lock"
	usedName = "used"      // its modification time is when the customer was last used
	stateNew = "state.new" // a state while it is being restored
	stateOld = "state.old" // the state that a restore replaces
)

// Customer is the folder of one customer: the state, which scripts write, and beside it files that only the host writes. It
// is safe for concurrent use, also by several processes.
type Customer struct {
	root *Root
	id   string
}

// ID returns the customer's id.
func (c *Customer) ID() string { return c.id }

// Dir returns the absolute path of the customer's folder.
func (c *Customer) Dir() string { return filepath.Join(c.root.dir, c.id) }

// Files returns the absolute path of the state, the folder that scripts write to. A run must take it from a [Lease].
func (c *Customer) Files() string { return filepath.Join(c.Dir(), stateDir) }

// Skills returns the absolute path of the folder of the customer's skills. Only the host writes there.
func (c *Customer) Skills() string { return filepath.Join(c.Dir(), skillsDir) }

// Vault returns the absolute path of the folder of the customer's vault, which holds the values behind tokens of personal
// data. Only the host reads and writes there.
func (c *Customer) Vault() string { return filepath.Join(c.Dir(), vaultDir) }

// Quota returns the customer's quota in bytes.
func (c *Customer) Quota() int64 { return c.root.opt.Quota }

// open opens the customer's folder. The caller closes it.
func (c *Customer) open() (*os.Root, error) {
	dir, err := safeopen.Dir(c.root.root, c.id)
	if err != nil {
		return nil, fmt.Errorf("open the folder of customer %q: %w", c.id, err)
	}
	return dir, nil
}

// openIn opens a folder below the customer's by the elements of its path, none of which may be a link. The caller closes it.
func (c *Customer) openIn(names ...string) (*os.Root, error) {
	dir, err := c.open()
	for _, name := range names {
		if err != nil {
			return nil, err
		}
		var next *os.Root
		next, err = safeopen.Dir(dir, name)
		dir.Close()
		dir = next
	}
	return dir, err
}

// complete creates what is missing in the customer's folder, and corrects its permissions.
func (c *Customer) complete() error {
	dir, err := c.open()
	if err != nil {
		return err
	}
	defer dir.Close()
	if info, err := dir.Stat("."); err == nil && info.Mode().Perm()&0o077 != 0 {
		if err := dir.Chmod(".", 0o700); err != nil {
			return fmt.Errorf("make the folder of customer %q private: %w", c.id, err)
		}
	}
	for _, name := range []string{skillsDir, sessionsDir, vaultDir, runsDir} {
		if err := dir.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("create the %s folder of customer %q: %w", name, c.id, err)
		}
	}
	// Sandboxes show the skills to scripts, which may run as any user. Other users cannot pass the customer's folder.
	const readable = 0o755
	if info, err := dir.Lstat(skillsDir); err == nil && info.IsDir() && info.Mode().Perm()&readable != readable {
		if err := dir.Chmod(skillsDir, readable); err != nil {
			return fmt.Errorf("make the skills of customer %q readable for its scripts: %w", c.id, err)
		}
	}
	if _, err := dir.Lstat(stateDir); errors.Is(err, fs.ErrNotExist) {
		unlock, err := c.lock(context.Background()) // a restore may be about to move the state into place
		if err != nil {
			return err
		}
		defer unlock()
		if err := c.recover(dir); err != nil {
			return err
		}
	}
	if _, err := dir.Lstat(usedName); errors.Is(err, fs.ErrNotExist) {
		return c.touch(dir)
	}
	return nil
}

// recover completes a restore whose process died, so that there is a state. The caller holds the customer's lock.
func (c *Customer) recover(dir *os.Root) error {
	info, err := dir.Lstat(stateDir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err = dir.Rename(stateOld, stateDir); errors.Is(err, fs.ErrNotExist) {
			err = dir.Mkdir(stateDir, 0o700)
		}
	case err == nil && !info.IsDir():
		err = errors.New("it is not a folder: remove it")
	case err == nil:
		unlockDir(dir, stateDir)
	}
	if err == nil {
		err = errors.Join(removeAll(dir, stateOld), removeAll(dir, stateNew))
	}
	if err != nil {
		return fmt.Errorf("the state of customer %q: %w", c.id, err)
	}
	return nil
}

// touch records that the customer is being used.
func (c *Customer) touch(dir *os.Root) error {
	f, err := safeopen.File(dir, usedName, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("record the use of customer %q: %w", c.id, err)
	}
	now := c.root.opt.Now()
	return errors.Join(f.Close(), dir.Chtimes(usedName, now, now))
}

// lastUsed returns when the customer was last used.
func (c *Customer) lastUsed(dir *os.Root) (time.Time, error) {
	info, err := dir.Lstat(usedName)
	if err != nil {
		return time.Time{}, fmt.Errorf("read when customer %q was used: %w", c.id, err)
	}
	return info.ModTime(), nil
}
