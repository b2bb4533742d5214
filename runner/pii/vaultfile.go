package pii

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/mcpgen/mcpgen/runner/internal/kept"
	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
	"github.com/mcpgen/mcpgen/runner/internal/seal"
	"github.com/mcpgen/mcpgen/runner/store"
)

const (
	saltSize = 32
	// lockTime bounds the wait for another process that moves the file.
	lockTime  = 20 * time.Second
	lockRetry = 5 * time.Millisecond
	// movedSuffix follows the name of a file whose content is in the log.
	movedSuffix = ".moved"

	remedyFolder   = "make the folder readable and writable for you only"
	remedyOldFile  = "put back a copy, or move the file away; its tokens cannot be restored then"
	remedyTwoFiles = "move the file away; its tokens cannot be restored then"
)

// withoutPath removes the path from an error; the VaultError names it.
func withoutPath(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s it: %w", e.Op, e.Err)
	}
	return err
}

// MoveFile moves what a file at an absolute path holds into the vault. Earlier versions kept a vault in such a file, sealed with the key and
// for the owner. The file is renamed to PATH.moved. moved is false if there is no file. Several processes may call MoveFile at once, and if one
// dies, the next call completes what it has begun. The error is a *VaultError; it is one if the vault already has other content, too.
func (v *Vault) MoveFile(ctx context.Context, path string) (moved bool, err error) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	own, cancel := context.WithTimeout(ctx, lockTime)
	defer cancel()
	unlock, err := kept.Lock(own, path+".lock") // the earlier versions' own lock
	if err != nil {
		return false, keyError(path, err, "end the process that uses the vault, or try again")
	}
	defer unlock()
	old, digest, err := readFile(path, v.key)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // another process has just moved it
	}
	if err != nil {
		return false, keyError(path, err, remedyOldFile)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for err = v.refresh(ctx); err == nil && v.number == 0; {
		if err = v.write(ctx, wholeOf(old, digest)); errors.Is(err, store.ErrConflict) {
			err = v.refresh(ctx)
			continue
		}
		if err == nil {
			v.ledger, v.moved = old, digest
		}
	}
	if err != nil {
		return false, err
	}
	if v.moved != digest {
		return false, keyError(path, fmt.Errorf("it was a vault, and the database %s has other tokens already", v.place), remedyTwoFiles)
	}
	if err := os.Rename(path, path+movedSuffix); err != nil {
		return false, keyError(path, err, remedyFolder)
	}
	return true, nil
}

// readFile reads the file of an earlier version:
//
//	"mcprun vault 2\n"   type and version
//	8 and 16 bytes       as in a line
//	32 bytes             salt
//	12 bytes and the rest  nonce and text, sealed with a key derived from key and salt; its place is everything before it, and the owner's name
//
// It also returns a digest of the file.
func readFile(path string, key sealKey) (l *ledger, digest string, err error) {
	in, err := safeopen.FileAt(path)
	if err != nil {
		return nil, "", err
	}
	defer in.Close()
	file, err := io.ReadAll(io.LimitReader(in, maxSealed+1))
	if err != nil {
		return nil, "", err
	}
	if len(file) > maxSealed {
		return nil, "", fmt.Errorf("it has more than %d bytes", maxSealed)
	}
	sum := sha256.Sum256(file)
	l, err = unseal(file, key)
	return l, hex.EncodeToString(sum[:]), err
}

func unseal(file []byte, key sealKey) (*ledger, error) {
	names, err := key.names(fileVersion)
	if err != nil {
		return nil, err
	}
	if err := check(file, names); err != nil {
		return nil, err
	}
	if len(file) < namesSize+saltSize {
		return nil, errors.New("it is damaged: its end is missing")
	}
	head := file[:namesSize+saltSize]
	seals, err := seal.New(key.key, head[namesSize:], purpose(fileVersion, "sealing"))
	if err != nil {
		return nil, err
	}
	text, err := seals.Open(file[len(head):], append(bytes.Clone(head), key.owner...))
	if err != nil {
		return nil, errBroken
	}
	var b batch
	if err := json.Unmarshal(text, &b); err != nil {
		return nil, fmt.Errorf("it is damaged: %w", err)
	}
	l := newLedger()
	return l, l.fill(&b)
}
