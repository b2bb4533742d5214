package oauth

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/gofrs/flock"
)

// Store keeps logins and client registrations in a folder of one's own, secrets in the system's keyring where there is
// one. Several processes may use a folder at the same time.
//
//	DIR/<id>.json  what is known of a login or a registration, and the secrets if there is no keyring
//	DIR/<id>.lock  held while it is changed
type Store struct {
	dir  string
	keys Keyring
}

// Keyring is a place for secrets, such as the system's. Get returns an error that is fs.ErrNotExist for a name it does
// not know.
type Keyring interface {
	Get(name string) (string, error)
	Set(name, secret string) error
	Delete(name string) error
}

// NewStore makes a store over an absolute folder, which is made with the first login. A nil keyring: secrets stand in
// the files, which only their owner may read.
func NewStore(dir string, keys Keyring) *Store { return &Store{dir: dir, keys: keys} }

// maxStored bounds a file of the store, in bytes.
const maxStored = 1 << 20

// lockRetry is how often a lock that somebody else holds is tried again.
const lockRetry = 20 * time.Millisecond

// storeVersion is the version of the files' form.
const storeVersion = 1

// file is one file of the store.
type file struct {
	Version int             `json:"version"`
	Data    json.RawMessage `json:"data"`
	// Secret is nil when the keyring has it.
	Secret json.RawMessage `json:"secret,omitempty"`
}

// StoreError is a stored login that can't be read or written.
type StoreError struct {
	// Path is the file.
	Path   string
	Err    error
	remedy string
}

func (e *StoreError) Error() string { return fmt.Sprintf("stored login %s: %v", e.Path, e.Err) }

// Unwrap returns what was wrong.
func (e *StoreError) Unwrap() error { return e.Err }

// Hint says what to do about it.
func (e *StoreError) Hint() string { return e.remedy }

func (s *Store) path(id string) string { return filepath.Join(s.dir, id+".json") }

// load reads data and, unless secret is nil, its secret. The error is fs.ErrNotExist when nothing is stored.
func (s *Store) load(id string, data, secret any) error {
	f, err := s.read(id)
	if err != nil {
		return err
	}
	damaged := &StoreError{Path: s.path(id), remedy: "remove the file, or log in again"}
	if err := json.Unmarshal(f.Data, data); err != nil {
		damaged.Err = errors.New("it is damaged")
		return damaged
	}
	if secret == nil {
		return nil
	}
	text := []byte(f.Secret)
	if f.Secret == nil {
		if s.keys == nil {
			damaged.Err = errors.New("its secrets are in the system's keyring, which is switched off")
			damaged.remedy = "switch it on, or log in again"
			return damaged
		}
		kept, err := s.keys.Get(id)
		if err != nil {
			damaged.Err = fmt.Errorf("read its secrets from the system's keyring: %w", err)
			damaged.remedy = "unlock the keyring, or log in again"
			if errors.Is(err, fs.ErrNotExist) { // must not look as if there were no login
				damaged.Err = errors.New("its secrets are no longer in the system's keyring")
			}
			return damaged
		}
		text = []byte(kept)
	}
	if err := json.Unmarshal(text, secret); err != nil {
		damaged.Err = errors.New("its secrets are damaged")
		return damaged
	}
	return nil
}

// read reads and checks one file.
func (s *Store) read(id string) (*file, error) {
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fs.ErrNotExist
		}
		return nil, &StoreError{Path: s.dir, Err: cause(err), remedy: "make it a folder that only you can read"}
	}
	defer root.Close()
	in, err := root.Open(id + ".json")
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fs.ErrNotExist
		}
		return nil, &StoreError{Path: s.path(id), Err: cause(err), remedy: "remove the file, or log in again"}
	}
	defer in.Close()
	bad := &StoreError{Path: s.path(id), remedy: "remove the file, or log in again"}
	if info, err := in.Stat(); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		bad.Err = fmt.Errorf("other people can read it (mode %04o)", info.Mode().Perm())
		bad.remedy = "log out, so that its tokens are worth nothing, and log in again"
		return nil, bad
	}
	text, err := io.ReadAll(io.LimitReader(in, maxStored+1))
	var f file
	switch {
	case err != nil:
		bad.Err = cause(err)
	case len(text) > maxStored:
		bad.Err = errors.New("it is too large")
	case json.Unmarshal(text, &f) != nil:
		bad.Err = errors.New("it is damaged")
	case f.Version != storeVersion:
		bad.Err = fmt.Errorf("its version is %d, and this program knows %d only", f.Version, storeVersion)
	default:
		return &f, nil
	}
	return nil, bad
}

// save writes data and its secret, and reports whether the keyring has the secret. The caller holds the lock.
func (s *Store) save(id string, data, secret any) (inKeyring bool, err error) {
	f := file{Version: storeVersion}
	if f.Data, err = json.Marshal(data); err != nil {
		return false, fmt.Errorf("encode a login: %w", err)
	}
	if f.Secret, err = json.Marshal(secret); err != nil {
		return false, fmt.Errorf("encode a login: %w", err)
	}
	// The keyring first: should we die between the two, what is newer is there, and the file says the same of it.
	if s.keys != nil && s.keys.Set(id, string(f.Secret)) == nil {
		inKeyring, f.Secret = true, nil
	}
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return false, fmt.Errorf("encode a login: %w", err)
	}
	if err := s.write(id, append(text, '\n')); err != nil {
		return false, &StoreError{Path: s.path(id), Err: cause(err), remedy: "make the folder writable for you"}
	}
	return inKeyring, nil
}

// write replaces one file atomically.
func (s *Store) write(id string, text []byte) (err error) {
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	temp := id + "." + rand.Text() + ".tmp"
	out, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = root.Remove(temp) // the first error is the one to tell
		}
	}()
	if _, err := out.Write(text); err != nil {
		_ = out.Close()
		return err
	}
	if err := errors.Join(out.Sync(), out.Close()); err != nil {
		return err
	}
	return root.Rename(temp, id+".json")
}

// remove forgets a login, its secret too. What is not there is no error.
func (s *Store) remove(id string) error {
	var keyErr error
	if s.keys != nil {
		if keyErr = s.keys.Delete(id); errors.Is(keyErr, fs.ErrNotExist) {
			keyErr = nil
		}
	}
	root, err := os.OpenRoot(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return &StoreError{Path: s.dir, Err: cause(err)}
	}
	defer root.Close()
	f, _ := s.read(id)
	if err := root.Remove(id + ".json"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &StoreError{Path: s.path(id), Err: cause(err), remedy: "remove the file"}
	}
	if keyErr != nil && f != nil && f.Secret == nil { // without a keyring there is nothing in it to remove
		return &StoreError{Path: s.path(id), Err: fmt.Errorf("remove its secrets from the system's keyring: %w", keyErr), remedy: "remove the entry by hand"}
	}
	return nil
}

// lock takes the lock of a login and returns what gives it back. It makes the folder.
func (s *Store) lock(ctx context.Context, id string) (unlock func(), err error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, &StoreError{Path: s.dir, Err: cause(err), remedy: "make the folder writable for you"}
	}
	l := flock.New(filepath.Join(s.dir, id+".lock"), flock.SetPermissions(0o600))
	if _, err := l.TryLockContext(ctx, lockRetry); err != nil {
		_ = l.Close()
		if ctx.Err() != nil {
			return nil, fmt.Errorf("wait for another process that renews the login: %w", context.Cause(ctx))
		}
		return nil, &StoreError{Path: l.Path(), Err: cause(err), remedy: "make the folder writable for you"}
	}
	return func() { _ = l.Close() }, nil // closing gives it back; there is nothing to do about a failure
}

// cause drops the path from an error of the file system: it is told already.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
