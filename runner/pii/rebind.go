package pii

import (
	"context"
	"errors"
	"io/fs"
	"os"
)

// Rebind seals the vault at path, which is that of one owner, for another; the same key opens it. A vault of no other owner than
// from is taken: the error is a *VaultError, and the file stays as it is. Nobody else may use the file meanwhile. Where there
// is no file nothing is done.
func Rebind(ctx context.Context, path string, key []byte, from, to string) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	v, err := OpenVault(path, key, from)
	if err != nil || from == to {
		return err
	}
	v.key.owner = to
	_, err = v.write(ctx)
	return err
}
