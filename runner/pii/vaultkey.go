package pii

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/gofrs/flock"

	"github.com/mcpgen/mcpgen/gen/atomicfile"
	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
)

// Keyring stores secrets, as the system's keyring does. For an unknown name, Get returns an error that matches fs.ErrNotExist.
type Keyring interface {
	Get(name string) (string, error)
	Set(name, secret string) error
}

// keyName is the key's name in a keyring.
const keyName = "pii-vault-key"

// maxKeyFile bounds the file of a key, in bytes.
const maxKeyFile = 4096

// keyFile is the content of the file that holds the key or refers to the keyring.
type keyFile struct {
	Version int    `json:"version"`
	Keyring bool   `json:"keyring,omitempty"`
	Key     string `json:"key,omitempty"` // base64
}

// LoadKey returns the key for [OpenVault]: 32 random bytes that are created on the first call. The keyring holds it. If ring is nil or does
// not work, the file at path holds it, and only its owner may read that file. The file records which of the two it is, so that a key in the
// keyring is never replaced because the keyring does not answer. PATH.lock beside the file locks it. Several processes may call LoadKey at
// once. The error is a *VaultError.
func LoadKey(path string, ring Keyring) ([]byte, error) {
	f, err := readKeyFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = makeKey(path, ring)
	}
	if err != nil {
		return nil, err
	}
	text := f.Key
	if f.Keyring {
		if text, err = fromKeyring(path, ring); err != nil {
			return nil, err
		}
	}
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(key) != keySize {
		return nil, keyError(path, errors.New("the key is damaged"), "put back a copy; vaults that it sealed cannot be opened without it")
	}
	return key, nil
}

func keyError(path string, err error, remedy string) error {
	return &VaultError{Place: path, Err: withoutPath(err), remedy: remedy}
}

func fromKeyring(path string, ring Keyring) (string, error) {
	if ring == nil {
		return "", keyError(path, errors.New("the key is in the system's keyring, which is switched off"), "switch it on")
	}
	text, err := ring.Get(keyName)
	if errors.Is(err, fs.ErrNotExist) {
		return "", keyError(path, errors.New("the key is no longer in the system's keyring"),
			"put it back, or move this file and the vaults away to start new ones; their tokens cannot be restored then")
	}
	if err != nil {
		return "", keyError(path, fmt.Errorf("read the key from the system's keyring: %w", err), "unlock the keyring")
	}
	return text, nil
}

// readKeyFile reads the file. The error is fs.ErrNotExist if it does not exist.
func readKeyFile(path string) (*keyFile, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	const remedy = "put back a copy; vaults that it sealed cannot be opened without it"
	if err != nil {
		return nil, keyError(path, err, remedyFolder)
	}
	if !info.Mode().IsRegular() {
		return nil, keyError(path, errors.New("it is not a regular file"), "move it away")
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, keyError(path, fmt.Errorf("other users can read it (mode %04o)", info.Mode().Perm()),
			"if nobody has, chmod 600 it; otherwise move it and the vaults away to start new ones")
	}
	in, err := safeopen.FileAt(path)
	if err != nil {
		return nil, keyError(path, err, remedyFolder)
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, maxKeyFile))
	if err != nil {
		return nil, keyError(path, err, remedyFolder)
	}
	var f keyFile
	if json.Unmarshal(text, &f) != nil {
		return nil, keyError(path, errors.New("it is damaged"), remedy)
	}
	if f.Version != 1 {
		return nil, keyError(path, fmt.Errorf("its version is %d, and this program supports only 1", f.Version), remedy)
	}
	return &f, nil
}

// makeKey creates the file, and the key if the keyring has none yet.
func makeKey(path string, ring Keyring) (*keyFile, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, keyError(path, err, remedyFolder)
	}
	l := flock.New(path+".lock", flock.SetPermissions(0o600), flock.SetFlag(safeopen.LockFlag))
	ctx, cancel := context.WithTimeout(context.Background(), 3*lockTime) // the holder of the lock may wait for a person to unlock the keyring
	defer cancel()
	if ok, err := l.TryLockContext(ctx, lockRetry); !ok {
		return nil, keyError(path, fmt.Errorf("lock it: %w", err), "end the process that creates the key, or try again")
	}
	defer l.Unlock()
	f, err := readKeyFile(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err // another process created it
	}
	f = &keyFile{Version: 1, Keyring: keepInKeyring(ring)}
	if !f.Keyring {
		f.Key = newKey()
	}
	text, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	if err := atomicfile.Write(path, append(text, '\n'), 0o600); err != nil {
		return nil, keyError(path, err, remedyFolder)
	}
	return f, nil
}

// keepInKeyring makes sure that the keyring has a key, and reports whether the keyring works.
func keepInKeyring(ring Keyring) bool {
	if ring == nil {
		return false
	}
	_, err := ring.Get(keyName)
	if errors.Is(err, fs.ErrNotExist) {
		err = ring.Set(keyName, newKey())
	}
	return err == nil
}

func newKey() string {
	key := make([]byte, keySize)
	rand.Read(key)
	return base64.StdEncoding.EncodeToString(key)
}
