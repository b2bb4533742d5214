package workspace

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
)

// StoreDir is the folder in a workspace where the host puts values that are too large to pass to a script in any other way.
const StoreDir = ".mcprun"

const (
	// keptBytes and keptFiles limit the files of earlier runs in the store. Files younger than keptTime are not counted,
	// because a run may still be reading them.
	keptBytes = 256 << 20
	keptFiles = 500
	keptTime  = time.Hour
	// minKeptTime is how long a result is kept even if there is little room.
	minKeptTime = 5 * time.Minute
)

// ErrNoRoom reports that a file would make the workspace exceed its quota. It is returned wrapped.
var ErrNoRoom = errors.New("the workspace has no room for it")

// Store writes files of the host to a workspace that a script may be changing at the same time. It follows no link and
// overwrites nothing. It is safe for concurrent use.
type Store struct {
	dir string

	mu   sync.Mutex
	root *os.Root // nil until something is stored
	room int64    // bytes that may still be written
	made []string
}

// NewStore returns the store in a workspace that was opened with [Open]. At most room bytes are written to it. The caller must
// call [Store.Close].
func NewStore(dir string, room int64) *Store { return &Store{dir: dir, room: room} }

// Put creates a file in a folder of the store and returns its path below the workspace, with slashes. The error matches
// [ErrNoRoom] if there is no room.
func (s *Store) Put(folder, name string, data []byte) (string, error) {
	return s.put(folder, name, func(f *File) (int, error) { return f.Write(data) })
}

// PutText is like Put, for a text. It does not copy the text.
func (s *Store) PutText(folder, name, text string) (string, error) {
	return s.put(folder, name, func(f *File) (int, error) { return f.WriteString(text) })
}

func (s *Store) put(folder, name string, write func(*File) (int, error)) (string, error) {
	f, err := s.Create(folder, name)
	if err != nil {
		return "", err
	}
	_, err = write(f)
	if err != nil {
		f.remove()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("write %s: %w", f.Path, err)
	}
	return f.Path, nil
}

// Create creates a file in a folder of the store. The caller must close it.
func (s *Store) Create(folder, name string) (*File, error) {
	root, err := s.open()
	if err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	at := path.Join(StoreDir, folder, name)
	dir, err := makeFolder(root, folder)
	if err != nil {
		return nil, fmt.Errorf("create %s in the workspace: %w", path.Dir(at), err)
	}
	f, err := dir.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create %s in the workspace: %w", at, err), dir.Close())
	}
	s.mu.Lock()
	s.made = append(s.made, at)
	s.mu.Unlock()
	return &File{Path: at, store: s, dir: dir, file: f}, nil
}

// openFolder opens a folder of the store. It refuses links, which may lead to the generated tree, where scripts cannot write.
func openFolder(root *os.Root, folder string) (*os.Root, error) {
	store, err := safeopen.Dir(root, StoreDir)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	return safeopen.Dir(store, folder)
}

// makeFolder is like openFolder, and creates the folder if it is missing. It is readable for everybody who can enter the workspace, because
// scripts may run as a different user from the host.
func makeFolder(root *os.Root, folder string) (*os.Root, error) {
	store, err := safeopen.MakeDir(root, StoreDir, 0o755)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	return safeopen.MakeDir(store, folder, 0o755)
}

// Made returns the paths of the files created so far, below the workspace.
func (s *Store) Made() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.made)
}

// Close closes the workspace.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.root == nil {
		return nil
	}
	return s.root.Close()
}

// open opens the workspace when it is first needed, and prunes the store.
func (s *Store) open() (*os.Root, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.root == nil {
		root, err := OpenLocked(s.dir)
		if err != nil {
			return nil, err
		}
		s.root = root
		s.prune()
	}
	return s.root, nil
}

// prune removes the oldest files of earlier runs that it can remove.
func (s *Store) prune() {
	files, done := s.earlier(keptTime, "results", "output")
	defer done()
	var bytes int64
	for i, f := range files {
		if bytes += f.info.Size(); bytes > keptBytes || i >= keptFiles {
			_ = f.dir.Remove(f.info.Name())
		}
	}
}

// Relieve removes results of earlier runs, the oldest first, until it has freed a number of bytes or only results of the last
// five minutes are left. Otherwise scripts that get many large results would fill their workspace.
func (s *Store) Relieve(bytes int64) {
	if _, err := s.open(); err != nil {
		return // nothing can be removed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	files, done := s.earlier(minKeptTime, "results")
	defer done()
	for _, f := range slices.Backward(files) {
		if bytes <= 0 {
			return
		}
		if f.dir.Remove(f.info.Name()) == nil {
			bytes -= f.info.Size()
			s.room += f.info.Size()
		}
	}
}

// stored is a file in the store.
type stored struct {
	dir  *os.Root
	info fs.FileInfo
}

// earlier returns the files in folders that are older than age, the youngest first. The caller must call done, which closes
// the folders.
func (s *Store) earlier(age time.Duration, folders ...string) (files []stored, done func()) {
	var open []*os.Root
	for _, folder := range folders {
		dir, err := openFolder(s.root, folder)
		if err != nil {
			continue // it does not exist
		}
		open = append(open, dir)
		entries, _ := safeopen.ReadDir(dir, ".", maxEntries)
		for _, e := range entries {
			if info, err := e.Info(); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > age {
				files = append(files, stored{dir, info})
			}
		}
	}
	slices.SortFunc(files, func(a, b stored) int {
		return cmp.Or(b.info.ModTime().Compare(a.info.ModTime()), strings.Compare(a.info.Name(), b.info.Name()))
	})
	return files, func() {
		for _, dir := range open {
			dir.Close()
		}
	}
}

// take reserves room for n bytes.
func (s *Store) take(n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if int64(n) > s.room {
		return ErrNoRoom
	}
	s.room -= int64(n)
	return nil
}

// File is a file of a store that is being written.
type File struct {
	Path  string // below the workspace, with slashes
	store *Store
	dir   *os.Root
	file  io.WriteCloser
}

// remove removes the file.
func (f *File) remove() {
	_ = f.dir.Remove(path.Base(f.Path)) // the next prune tries again
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	f.store.made = slices.DeleteFunc(f.store.made, func(p string) bool { return p == f.Path })
}

// Write writes p if the store has room for all of it. Otherwise the error matches [ErrNoRoom].
func (f *File) Write(p []byte) (int, error) {
	if err := f.store.take(len(p)); err != nil {
		return 0, err
	}
	return f.file.Write(p)
}

// WriteString is like Write, for a text. It does not copy the text.
func (f *File) WriteString(text string) (int, error) {
	if err := f.store.take(len(text)); err != nil {
		return 0, err
	}
	return io.WriteString(f.file, text)
}

// Close closes the file.
func (f *File) Close() error { return errors.Join(f.file.Close(), f.dir.Close()) }
