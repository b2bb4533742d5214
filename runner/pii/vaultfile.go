package pii

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/mcpgen/mcpgen/gen/atomicfile"
	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
)

const (
	// maxSealed bounds the file, whose values are in base64.
	maxSealed = 2*MaxVaultBytes + 128*MaxVaultValues
	lockRetry = 5 * time.Millisecond
	// lockTime bounds the wait for another process, which holds the lock while it writes.
	lockTime = 20 * time.Second
)

func (v *Vault) fail(err error, remedy string) error {
	return &VaultError{Path: v.path, Err: withoutPath(err), remedy: remedy}
}

// withoutPath removes the path from an error; the VaultError names it.
func withoutPath(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s it: %w", e.Op, e.Err)
	}
	return err
}

const (
	remedyDamaged = "put back a copy, or move the file away to start a new vault; its tokens cannot be restored then"
	remedyForeign = "use the key that it was created with, or move the file away to start a new vault; its tokens cannot be restored then"
	remedyOwner   = "put it back where it was created, or move it away to start a new vault; its tokens cannot be restored here"
	remedyFolder  = "make the folder readable and writable for you only"
)

// refresh reads the file if it has changed. The caller holds the mutex, except in OpenVault.
func (v *Vault) refresh() error {
	info, err := os.Lstat(v.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if v.info != nil { // the file was removed, and its tokens can no longer be restored
			v.ledger, v.info = newLedger(), nil
		}
		return nil
	case err != nil:
		return v.fail(err, remedyFolder)
	case !info.Mode().IsRegular():
		return v.fail(errors.New("it is not a regular file"), "move it away")
	case v.info != nil && os.SameFile(info, v.info) && info.Size() == v.info.Size() && info.ModTime().Equal(v.info.ModTime()):
		return nil
	case info.Size() > maxSealed:
		return v.fail(fmt.Errorf("it has %d bytes; a vault has at most %d", info.Size(), maxSealed), remedyDamaged)
	}
	in, err := safeopen.FileAt(v.path)
	if err != nil {
		return v.fail(err, remedyFolder)
	}
	defer in.Close()
	if info, err = in.Stat(); err != nil { // it may have been replaced in the meantime
		return v.fail(err, remedyFolder)
	}
	file, err := io.ReadAll(io.LimitReader(in, maxSealed))
	if err != nil {
		return v.fail(err, remedyFolder)
	}
	l, err := unseal(file, v.key)
	if errors.Is(err, ErrForeignKey) {
		return v.fail(err, remedyForeign)
	}
	if errors.Is(err, ErrForeignOwner) {
		return v.fail(err, remedyOwner)
	}
	if err != nil {
		return v.fail(err, remedyDamaged)
	}
	v.ledger, v.info = l, info
	return nil
}

// lockFile locks the vault against other processes, and creates its folder if it is missing.
func (v *Vault) lockFile(ctx context.Context) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(v.path), 0o700); err != nil {
		return nil, v.fail(err, remedyFolder)
	}
	if info, err := os.Lstat(v.path + ".lock"); err == nil && !info.Mode().IsRegular() { // opening a pipe could block forever
		return nil, v.fail(errors.New("its lock file, of the same name with .lock, is not a regular file"), "move that away")
	}
	lock := flock.New(v.path+".lock", flock.SetPermissions(0o600), flock.SetFlag(safeopen.LockFlag))
	own, cancel := context.WithTimeout(ctx, lockTime)
	defer cancel()
	if ok, err := lock.TryLockContext(own, lockRetry); !ok {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("another process has held its lock for %v", lockTime)
		}
		return nil, v.fail(err, "end that process, or try again")
	}
	return func() { _ = lock.Unlock() }, nil
}

// write replaces the file, unless ctx has ended before. The caller has locked it.
func (v *Vault) write(ctx context.Context) (info fs.FileInfo, err error) {
	file, err := v.ledger.seal(v.key)
	if err != nil {
		return nil, v.fail(err, remedyDamaged)
	}
	more := int64(len(file))
	if v.info != nil {
		more -= v.info.Size()
	}
	if v.room != nil && more > 0 {
		if err := v.room(more); err != nil {
			return nil, err
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	err = atomicfile.Write(v.path, file, 0o600)
	if err == nil {
		info, err = os.Lstat(v.path)
	}
	if err != nil {
		return nil, v.fail(err, "make the folder writable for you, and make sure that the disk has space")
	}
	return info, nil
}
