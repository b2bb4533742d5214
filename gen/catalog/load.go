package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
)

// TreeError reports that a folder is not a whole tree.
type TreeError struct {
	Dir string
	Err error
}

func (e *TreeError) Error() string {
	if errors.Is(e.Err, fs.ErrNotExist) {
		return fmt.Sprintf("no generated tree in %s: %v", e.Dir, e.Err)
	}
	return fmt.Sprintf("the generated tree in %s: %v", e.Dir, e.Err)
}

// Unwrap returns the reason; it is an fs.ErrNotExist when there is no tree, or a file of it is missing.
func (e *TreeError) Unwrap() error { return e.Err }

// Hint suggests a remedy.
func (e *TreeError) Hint() string {
	if other, ok := errors.AsType[*VersionError](e.Err); ok {
		return other.Hint() // a sync meets the same error
	}
	return `run "mcpgen sync"`
}

// LoadTree reads the catalog and the lock of a generated tree, strictly: the stored tool lists must be the very ones
// the lock was made with, since the lock is what calls are judged by. It reads nothing else of the tree. Errors are
// *[TreeError].
func LoadTree(dir string) (*Catalog, *Lock, error) {
	c, lock, err := loadTree(dir)
	if err != nil {
		return nil, nil, &TreeError{Dir: dir, Err: err}
	}
	return c, lock, nil
}

func loadTree(dir string) (*Catalog, *Lock, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = root.Close() }()
	b, err := readFile(root, LockPath)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", LockPath, err)
	}
	lock, err := ParseLock(b)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", LockPath, err)
	}
	c := &Catalog{byID: map[string]toolRef{}}
	for _, key := range slices.Sorted(maps.Keys(lock.Servers)) {
		server, err := loadServer(root, key, lock)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", StoredPath(lock.Servers[key].Directory), err)
		}
		c.Servers = append(c.Servers, server)
	}
	return c, lock, c.index()
}

// loadServer takes digests and ids from the lock rather than work them out again: once the file's own digest is right,
// they are. What NewServer checked and put right when the file was written needs no second look.
func loadServer(root *os.Root, key string, lock *Lock) (Server, error) {
	locked := lock.Servers[key]
	b, err := readFile(root, StoredPath(locked.Directory))
	if err != nil {
		return Server{}, err
	}
	if FileDigest(b) != lock.Files[StoredPath(locked.Directory)] {
		return Server{}, unread(b, errors.New("it was changed after the lock was written"))
	}
	var file stored
	if err := json.Unmarshal(b, &file); err != nil {
		return Server{}, err
	}
	if file.Server != key || len(file.Tools) != len(locked.Tools) {
		return Server{}, errors.New("it does not hold the tools that the lock names")
	}
	s := Server{Key: key, Dir: locked.Directory, Title: file.Title, Instructions: file.Instructions, Tools: make([]Tool, 0, len(file.Tools))}
	r := reader{server: key, seen: map[string]bool{}, digest: func(name string, _ json.RawMessage) (string, error) {
		lt, ok := locked.Tools[name]
		if !ok {
			return "", errors.New("the lock does not name it")
		}
		return lt.Digest, nil
	}}
	for i, raw := range file.Tools {
		t, ok := r.tool(fmt.Sprintf("%s#/tools/%d", key, i), raw)
		if !ok {
			return Server{}, fmt.Errorf("tool %d of %q: %s", i, key, r.warnings[len(r.warnings)-1].Message)
		}
		t.ID = locked.Tools[t.Name].ID
		s.Tools = append(s.Tools, t)
	}
	file.offers(&s)
	return s, nil
}
