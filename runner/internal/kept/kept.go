// Package kept reads and writes small JSON files that several processes share, in folders that no script can write to. Every process that
// changes a file locks it while doing so.
package kept

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/gofrs/flock"

	"github.com/mcpgen/mcpgen/gen/atomicfile"
	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
)

// lockPause is the time between two attempts to take a lock that is held.
const lockPause = 5 * time.Millisecond

// Lock waits for the exclusive lock of a file, which it creates if it is missing. The system releases the lock if the process dies.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	l, err := lockOf(path)
	if err != nil {
		return nil, err
	}
	if _, err := l.TryLockContext(ctx, lockPause); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return func() { _ = l.Close() }, nil
}

// TryLock is Lock without waiting. ok is false if another process, or another lock of this one, holds the file.
func TryLock(path string) (unlock func(), ok bool, err error) {
	l, err := lockOf(path)
	if err != nil {
		return nil, false, err
	}
	if ok, err := l.TryLock(); err != nil || !ok {
		return nil, false, errors.Join(err, l.Close())
	}
	return func() { _ = l.Close() }, true, nil
}

func lockOf(path string) (*flock.Flock, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file: remove it", path)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return flock.New(path, flock.SetPermissions(0o600), flock.SetFlag(safeopen.LockFlag)), nil
}

// Read decodes a file into v. If the file does not exist, v is unchanged.
func Read(path string, v any) error {
	f, err := safeopen.FileAt(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := json.NewDecoder(f).Decode(v); err != nil {
		return fmt.Errorf("%s is damaged (%w): remove it", path, err)
	}
	return nil
}

// Write replaces a file, which only its owner can read.
func Write(path string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return atomicfile.Write(path, append(text, '\n'), 0o600)
}
