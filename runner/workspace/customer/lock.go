package customer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
)

// lockPause is the time between two attempts to take a lock that is held.
const lockPause = 5 * time.Millisecond

// rootLock is the name of the file that is locked while a customer is created. No id begins with a dot.
const rootLock = ".lock"

// lock waits for the exclusive lock of the folder of customers.
func (r *Root) lock(ctx context.Context) (unlock func(), err error) {
	unlock, err = lockFile(ctx, filepath.Join(r.dir, rootLock))
	if err != nil {
		return nil, fmt.Errorf("lock the folder of customers: %w", err)
	}
	return unlock, nil
}

// lock waits for the exclusive lock of the customer. A run holds it only while it begins. An operation that must not happen
// during a run holds it, and then checks that there is none. The holder must not take the lock of the root.
func (c *Customer) lock(ctx context.Context) (unlock func(), err error) {
	unlock, err = lockFile(ctx, filepath.Join(c.Dir(), lockName))
	if err != nil {
		return nil, fmt.Errorf("lock customer %q: %w", c.id, err)
	}
	return unlock, nil
}

// lock waits for the exclusive lock of the session's log.
func (s *Session) lock(ctx context.Context) (unlock func(), err error) {
	unlock, err = lockFile(ctx, filepath.Join(s.customer.Dir(), sessionsDir, s.id, logName))
	if err != nil {
		return nil, fmt.Errorf("lock session %q of customer %q: %w", s.id, s.customer.id, err)
	}
	return unlock, nil
}

// lockFile locks a file in a folder that only the host writes to. The system releases the lock if the process dies.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file: remove it", path)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	l := flock.New(path, flock.SetPermissions(0o600), flock.SetFlag(safeopen.LockFlag))
	if _, err := l.TryLockContext(ctx, lockPause); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return func() { _ = l.Close() }, nil
}
