package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/gofrs/flock"

	"github.com/mcpgen/mcpgen/gen/atomicfile"
)

// Store keeps logins in a folder, and their secrets in the system's keyring if there is one.
// Several processes may use a folder at the same time.
//
//	DIR/<id>.json  a login, with its secrets if there is no keyring
//	DIR/<id>.lock  held while it is changed
type Store struct {
	dir  string
	keys Keyring
}

// Keyring stores secrets. Get returns an error that matches fs.ErrNotExist for an unknown name.
type Keyring interface {
	Get(name string) (string, error)
	Set(name, secret string) error
	Delete(name string) error
}

// NewStore returns a store in an absolute folder, which the first login creates. With a nil keyring the files, which
// only their owner may read, hold the secrets too.
func NewStore(dir string, keys Keyring) *Store { return &Store{dir: dir, keys: keys} }

// lockRetry is the pause before a lock that another process holds is tried again.
const lockRetry = 20 * time.Millisecond

// storeVersion is the version of the file format.
const storeVersion = 1

// file is one file of the store.
type file struct {
	Version int    `json:"version"`
	Data    record `json:"data"`
	// Secret is nil when the keyring has it.
	Secret *tokens `json:"secret,omitempty"`
}

// StoreError is a stored login that can't be read or written.
type StoreError struct {
	// Path is the file.
	Path   string
	Err    error
	remedy string
}

func (e *StoreError) Error() string { return fmt.Sprintf("stored login %s: %v", e.Path, e.Err) }

// Unwrap returns the cause.
func (e *StoreError) Unwrap() error { return e.Err }

// Hint says what to do about the error.
func (e *StoreError) Hint() string { return e.remedy }

func (s *Store) path(id string) string { return filepath.Join(s.dir, id+".json") }

// loadLogin returns the stored login of a server; fs.ErrNotExist if there is none, or one of another client.
func (s *Store) loadLogin(server Server) (*login, error) {
	f, err := s.read(server.id())
	if err != nil {
		return nil, err
	}
	if f.Data.ClientKnown == byConfig && f.Data.ClientID != server.ClientID {
		return nil, fs.ErrNotExist // the configuration names another client by now
	}
	if f.Secret == nil {
		if f.Secret, err = s.fromKeyring(server.id()); err != nil {
			return nil, err
		}
	}
	if f.Data.ClientKnown == byConfig {
		f.Secret.ClientSecret = server.ClientSecret
	}
	return &login{f.Data, *f.Secret}, nil
}

// Identity returns a text that tells the stored login of a server from other logins, without secrets. Refreshing does not change it. It is
// empty if nobody has logged in, or the login cannot be read.
func (s *Store) Identity(server Server) string {
	f, err := s.read(server.id())
	if err != nil {
		return ""
	}
	return f.Data.fingerprint()
}

// fromKeyring reads the secrets of a login whose file does not hold them.
func (s *Store) fromKeyring(id string) (*tokens, error) {
	bad := &StoreError{Path: s.path(id), remedy: "switch it on, or log in again"}
	if s.keys == nil {
		bad.Err = errors.New("its secrets are in the system's keyring, which is switched off")
		return nil, bad
	}
	bad.remedy = "unlock the keyring, or log in again"
	text, err := s.keys.Get(id)
	out := &tokens{}
	switch {
	case errors.Is(err, fs.ErrNotExist): // not returned: there is a login
		bad.Err = errors.New("its secrets are no longer in the system's keyring")
	case err != nil:
		bad.Err = fmt.Errorf("read its secrets from the system's keyring: %w", err)
	case json.Unmarshal([]byte(text), out) != nil:
		bad.Err = errors.New("its secrets are damaged")
	default:
		return out, nil
	}
	return nil, bad
}

// read reads and checks one file.
func (s *Store) read(id string) (*file, error) {
	bad := &StoreError{Path: s.path(id), remedy: "remove the file, or log in again"}
	info, err := os.Stat(bad.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fs.ErrNotExist
	}
	if err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		bad.Err = fmt.Errorf("other users can read it (mode %04o)", info.Mode().Perm())
		bad.remedy = "log out, so that its tokens are worth nothing, and log in again"
		return nil, bad
	}
	text, err := os.ReadFile(bad.Path)
	var f file
	switch {
	case err != nil:
		bad.Err = cause(err)
	case json.Unmarshal(text, &f) != nil:
		bad.Err = errors.New("it is damaged")
	case f.Version != storeVersion:
		bad.Err = fmt.Errorf("its version is %d, and this program knows %d only", f.Version, storeVersion)
	default:
		return &f, nil
	}
	return nil, bad
}

// saveLogin stores a login, and reports whether the keyring has its secrets. The caller holds the login's lock.
func (s *Store) saveLogin(server Server, l *login) (inKeyring bool, err error) {
	kept := l.tokens
	if l.ClientKnown != byRegistration {
		kept.ClientSecret = ""
	}
	id, f := server.id(), file{Version: storeVersion, Data: l.record, Secret: &kept}
	// The keyring first: if the process dies between the two, the file still describes what the keyring holds.
	if s.keys != nil {
		secret, err := json.Marshal(kept)
		if err == nil && s.keys.Set(id, string(secret)) == nil {
			inKeyring, f.Secret = true, nil
		}
	}
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return false, fmt.Errorf("encode a login: %w", err)
	}
	if err := atomicfile.Write(s.path(id), append(text, '\n'), 0o600); err != nil {
		return false, &StoreError{Path: s.path(id), Err: cause(err), remedy: "make the folder writable for you"}
	}
	return inKeyring, nil
}

// remove removes a login and its secret, if they exist.
func (s *Store) remove(id string) error {
	f, _ := s.read(id)
	if err := os.Remove(s.path(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &StoreError{Path: s.path(id), Err: cause(err), remedy: "remove the file"}
	}
	if s.keys == nil {
		return nil
	}
	err := s.keys.Delete(id)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && f != nil && f.Secret == nil { // otherwise the keyring holds nothing
		return &StoreError{Path: s.path(id), Err: fmt.Errorf("remove its secrets from the system's keyring: %w", err), remedy: "remove the entry by hand"}
	}
	return nil
}

// lock takes the lock of a login, and creates the folder. The caller has to call unlock.
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
	return func() { _ = l.Close() }, nil // closing releases it
}

// cause drops the path from an error of the file system, because the error around it names it.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
