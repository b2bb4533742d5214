// Package traffic records the shapes of the results of tools without an output schema. Each tool has a document in the project's
// state. [learn.Traffic] defines what a shape holds and what it never holds; this package shares it between processes. Start with [New].
package traffic

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/gen/learn"
	"github.com/mcpgen/mcpgen/runner/internal/kept"
	"github.com/mcpgen/mcpgen/runner/store"
)

const (
	// storeTime bounds how long shapes are read or written. What could not be written is written the next time.
	storeTime = 5 * time.Second
	// retryTime is how long nothing is kept after the state could not be opened, so that calls do not wait for it each time.
	retryTime = 30 * time.Second
	// pause is the least time between two writes by one process.
	pause = 2 * time.Second
	// maxTries bounds the attempts to write a tool's shapes that other processes change too.
	maxTries = 10
	// kind is that of documents with the shapes of a tool.
	kind = "shape"
)

// common names the document without tools, whose key the shapes of all tools share.
func common() store.Key { return store.Key{Kind: "shapes", Name: "common"} }

func keyOf(tool learn.Tool) store.Key {
	id, _ := json.Marshal([]string{tool.Server, tool.Name}) // texts always encode
	sum := sha256.Sum256(id)
	return store.Key{Kind: kind, Name: hex.EncodeToString(sum[:16])}
}

// Options say where shapes are kept.
type Options struct {
	// State opens the store. It is called for the first observation.
	State store.Opener
	// Old is the file in which earlier versions kept the shapes. It is moved into the store when that is opened, and renamed to NAME.moved.
	// It may not exist. Empty: there is none.
	Old string
	// Moved is called with a line for people after the file was moved. Nil: nobody is told.
	Moved func(line string)
}

// Store keeps shapes in memory and, from time to time, in the state. It is safe for concurrent use, also by several processes.
type Store struct {
	opt Options

	mu      sync.Mutex
	shapes  *learn.Traffic // nil until they are read
	dirty   map[learn.Tool]bool
	written time.Time // when Flush last began to write
	waiting bool      // a write is due

	io       sync.Mutex // held while reading and writing; taken before mu
	versions map[learn.Tool]int64
	failed   error // why the state could not be opened at the time given by tried
	tried    time.Time
}

// New returns a store of the shapes in a state. Close it before the state.
func New(opt Options) *Store {
	return &Store{opt: opt, dirty: map[learn.Tool]bool{}, versions: map[learn.Tool]int64{}}
}

// Observe adds a reply. An error means that nothing of the reply was kept; the call is not affected.
func (s *Store) Observe(o *learn.Observation) (err error) {
	defer func() { // the call has succeeded regardless of what is kept
		if r := recover(); r != nil {
			err = fmt.Errorf("keep the shapes of results: what is kept of %q may be damaged: %v; forget it with mcpgen learn --forget", o.Tool.Name, r)
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	shapes, err := s.Shapes(ctx)
	if err != nil {
		return err
	}
	if err := shapes.Observe(o); err != nil {
		return err
	}
	s.mu.Lock()
	s.dirty[o.Tool] = true
	s.mu.Unlock()
	return nil
}

// Shapes returns what is kept. It creates nothing for tools.
func (s *Store) Shapes(ctx context.Context) (*learn.Traffic, error) {
	if shapes := s.known(); shapes != nil {
		return shapes, nil
	}
	s.io.Lock()
	defer s.io.Unlock()
	if shapes := s.known(); shapes != nil {
		return shapes, nil
	}
	if s.failed != nil && time.Since(s.tried) < retryTime {
		return nil, s.failed
	}
	shapes, err := s.open(ctx)
	if err != nil {
		s.failed, s.tried = fmt.Errorf("keep the shapes of results: %w", err), time.Now()
		return nil, s.failed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shapes = shapes
	return shapes, nil
}

func (s *Store) known() *learn.Traffic {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shapes
}

// open reads the shapes. The caller holds s.io.
func (s *Store) open(ctx context.Context) (*learn.Traffic, error) {
	at, err := s.opt.State(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(s.opt.Old); s.opt.Old == "" || errors.Is(err, fs.ErrNotExist) {
		return s.read(ctx, at, learn.NewTraffic())
	}
	unlock, err := kept.Lock(ctx, s.opt.Old+".lock")
	if err != nil {
		return nil, err
	}
	defer unlock()
	old := learn.NewTraffic()
	if err := kept.Read(s.opt.Old, old); err != nil {
		return nil, err
	}
	shapes, err := s.read(ctx, at, old)
	if err != nil {
		return nil, err
	}
	tools := old.Tools()
	shapes.Merge(old)
	for _, tool := range tools {
		if err := s.put(ctx, at, shapes, tool); err != nil {
			return nil, err
		}
	}
	err = os.Rename(s.opt.Old, s.opt.Old+".moved")
	if errors.Is(err, fs.ErrNotExist) { // another process has moved it
		return shapes, nil
	}
	if err == nil && s.opt.Moved != nil {
		s.opt.Moved(fmt.Sprintf("the shapes of results were moved from %s to %s", s.opt.Old, at.Place()))
	}
	return shapes, err
}

// read reads the shapes. All processes use the key of those that the first one begins with.
func (s *Store) read(ctx context.Context, at store.Store, begin *learn.Traffic) (*learn.Traffic, error) {
	first, err := begin.Encode()
	if err != nil {
		return nil, err
	}
	d, err := at.Document(ctx, common())
	if errors.Is(err, store.ErrNotFound) {
		if _, err = at.SetDocument(ctx, &store.Document{Key: common(), Value: first}); err == nil || errors.Is(err, store.ErrConflict) {
			d, err = at.Document(ctx, common())
		}
	}
	if err != nil {
		return nil, err
	}
	shapes, err := decode(at, d)
	if err != nil {
		return nil, err
	}
	all, err := at.ListDocuments(ctx, "", kind)
	if err != nil {
		return nil, err
	}
	for i := range all {
		one, err := decode(at, &all[i])
		if err != nil {
			return nil, err
		}
		for _, tool := range one.Tools() {
			s.versions[tool] = all[i].Version
		}
		shapes.Merge(one)
	}
	return shapes, nil
}

func decode(at store.Store, d *store.Document) (*learn.Traffic, error) {
	shapes := learn.NewTraffic()
	if err := json.Unmarshal(d.Value, shapes); err != nil {
		return nil, fmt.Errorf("the document %s %s in %s is damaged (%w): delete it", d.Kind, d.Name, at.Place(), err)
	}
	return shapes, nil
}

// put writes the shapes of a tool, with those that other processes have seen meanwhile. The caller holds s.io.
func (s *Store) put(ctx context.Context, at store.Store, shapes *learn.Traffic, tool learn.Tool) error {
	for range maxTries {
		if !shapes.Has(tool) {
			return nil
		}
		text, err := shapes.Encode(tool)
		if err != nil {
			return err
		}
		version, err := at.SetDocument(ctx, &store.Document{Key: keyOf(tool), Value: text, Version: s.versions[tool]})
		if err == nil {
			s.versions[tool] = version
		}
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
		d, err := at.Document(ctx, keyOf(tool))
		gone := errors.Is(err, store.ErrNotFound)
		if err != nil && !gone {
			return err
		}
		if gone && s.versions[tool] > 0 || !gone && d.Version < s.versions[tool] { // a person has removed it
			shapes.Forget(tool)
		}
		if gone {
			delete(s.versions, tool)
			return nil
		}
		theirs, err := decode(at, d)
		if err != nil {
			return err
		}
		shapes.Merge(theirs)
		s.versions[tool] = d.Version
	}
	return store.ErrConflict
}

// Flush writes what is new. If this process has just written, the next write follows a little later, in the background.
func (s *Store) Flush() error {
	s.mu.Lock()
	since := time.Since(s.written)
	switch {
	case len(s.dirty) == 0 || s.waiting:
		s.mu.Unlock()
		return nil
	case since < pause:
		s.waiting = true
		time.AfterFunc(pause-since, func() { _ = s.Close() }) // the next run reports the error
		s.mu.Unlock()
		return nil
	}
	s.written = time.Now() // other runs that end meanwhile do not wait
	s.mu.Unlock()
	return s.Close()
}

// Close writes what is new, without a pause. The store can still be used afterwards.
func (s *Store) Close() error {
	s.io.Lock()
	defer s.io.Unlock()
	s.mu.Lock()
	shapes, dirty := s.shapes, s.dirty
	s.waiting, s.dirty = false, map[learn.Tool]bool{}
	s.mu.Unlock()
	if len(dirty) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	at, err := s.opt.State(ctx)
	for _, tool := range slices.Collect(maps.Keys(dirty)) {
		if err == nil {
			err = s.put(ctx, at, shapes, tool)
		}
		if err == nil {
			delete(dirty, tool)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		maps.Copy(s.dirty, dirty)
		return fmt.Errorf("keep the shapes of results: %w", err)
	}
	return nil
}

// Forget removes a tool's shapes from the state, and from other processes when they next write them.
func (s *Store) Forget(ctx context.Context, tool learn.Tool) error {
	shapes, err := s.Shapes(ctx)
	if err != nil {
		return err
	}
	at, err := s.opt.State(ctx)
	if err == nil {
		err = at.DeleteDocument(ctx, keyOf(tool))
	}
	if err != nil {
		return fmt.Errorf("forget the shapes of results: %w", err)
	}
	shapes.Forget(tool)
	return nil
}
