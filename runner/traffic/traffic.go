// Package traffic records the shapes of results that runs have seen, for tools that declare none, in a file of the project. [learn.Traffic]
// defines what a shape holds and what it never holds; this package shares it between processes. Start with [New].
package traffic

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/gen/learn"
	"github.com/mcpgen/mcpgen/runner/internal/kept"
)

const (
	// lockTime bounds the wait for other processes that write. What could not be written is written the next time.
	lockTime = time.Second
	// pause is the least time between two writes by one process.
	pause = 2 * time.Second
)

// Store keeps shapes in memory and, from time to time, in a file. It is safe for concurrent use, also by several processes.
type Store struct {
	path string

	mu      sync.Mutex
	shapes  *learn.Traffic // nil until the first observation
	saved   []learn.Tool   // as they were in the file when it was last read or written
	dirty   bool
	written time.Time
	waiting bool // a write is due
	broken  error
}

// New returns a store in a file, which the first write creates with mode 0600. Scripts must not be able to reach its folder.
func New(path string) *Store { return &Store{path: path} }

// Observe adds a reply. An error means that nothing of the reply was kept; the call is not affected.
func (s *Store) Observe(o *learn.Observation) (err error) {
	defer func() { // the call has succeeded regardless of the file
		if r := recover(); r != nil {
			err = fmt.Errorf("keep the shapes of results: %s may be damaged: %v; remove it", s.path, r)
		}
	}()
	shapes, err := s.open()
	if err != nil {
		return err
	}
	if err := shapes.Observe(o); err != nil {
		return err
	}
	s.mu.Lock()
	s.dirty = true
	s.mu.Unlock()
	return nil
}

func (s *Store) open() (*learn.Traffic, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shapes == nil && s.broken == nil {
		if s.shapes, s.broken = read(s.path); s.broken == nil {
			s.saved = s.shapes.Tools()
		}
	}
	return s.shapes, s.broken
}

// Flush writes what is new. If this process has just written, the next write follows a little later, in the background.
func (s *Store) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.dirty || s.waiting {
		return nil
	}
	if since := time.Since(s.written); since < pause {
		s.waiting = true
		time.AfterFunc(pause-since, func() { _ = s.Close() }) // the next run reports the error
		return nil
	}
	return s.write()
}

// Close writes what is new, without a pause. The store can still be used afterwards.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = false
	if !s.dirty {
		return nil
	}
	return s.write()
}

// write merges the file into the shapes in memory, and replaces it. Shapes that have been removed from the file are forgotten. The caller
// holds the mutex.
func (s *Store) write() error {
	err := change(s.path, func(others *learn.Traffic) *learn.Traffic {
		there := others.Tools()
		for _, tool := range s.saved {
			if !slices.Contains(there, tool) {
				s.shapes.Forget(tool)
			}
		}
		s.shapes.Merge(others)
		return s.shapes
	})
	if err != nil {
		return err
	}
	s.dirty, s.written, s.saved = false, time.Now(), s.shapes.Tools()
	return nil
}

// Forget removes a tool's shapes from a file, and from stores of the file when they next write. The file need not exist.
func Forget(path string, tool learn.Tool) error {
	if kept, err := Read(path); errors.Is(err, fs.ErrNotExist) || err == nil && !slices.Contains(kept.Tools(), tool) {
		return nil
	}
	return change(path, func(shapes *learn.Traffic) *learn.Traffic {
		shapes.Forget(tool)
		return shapes
	})
}

// change replaces a file while other processes are locked out.
func change(path string, of func(*learn.Traffic) *learn.Traffic) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("keep the shapes of results: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockTime)
	defer cancel()
	unlock, err := kept.Lock(ctx, path+".lock")
	if err != nil {
		return fmt.Errorf("keep the shapes of results: %w", err)
	}
	defer unlock()
	shapes, err := read(path)
	if err != nil {
		return err
	}
	if err := kept.Write(path, of(shapes)); err != nil {
		return fmt.Errorf("keep the shapes of results: %w", err)
	}
	return nil
}

// Read returns the shapes in a file, or fs.ErrNotExist if there is no file.
func Read(path string) (*learn.Traffic, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the shapes of results: %w", err)
	}
	return read(path)
}

func read(path string) (*learn.Traffic, error) {
	shapes := learn.NewTraffic()
	if err := kept.Read(path, shapes); err != nil {
		return nil, fmt.Errorf("read the shapes of results: %w", err)
	}
	return shapes, nil
}
