package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/runner/durable"
	"github.com/mcpgen/mcpgen/runner/store"
)

// Shared is the state of a project, which all its parts share. It is opened when the first of them needs it.
type Shared struct {
	place   string
	err     error  // why there is no place
	project string // its name, if somebody has named the place; empty: anybody may use it

	mu    sync.Mutex
	store store.Store
}

// Share returns the state of the project in the folder base, with its name; see [project.NameOf]. The caller closes it.
func (o *PlaceFlag) Share(app *cli.App, base, name string) *Shared {
	s := &Shared{}
	if s.place, s.err = o.Place(app, base); o.place != "" {
		s.project = name
	}
	return s
}

// Attach gives a project its state, which closing the project closes.
func (o *PlaceFlag) Attach(app *cli.App, p *project.Project) *Shared {
	s := o.Share(app, p.Base, project.NameOf(p.Cfg))
	s.Attach(p)
	p.OnClose(s.Close)
	return s
}

// Attach gives a project the state. Workspaces that hold a file of it are refused from now on.
func (s *Shared) Attach(p *project.Project) {
	p.State = s.Open
	if s.err == nil && !cli.IsURL(s.place) {
		p.Trusted = append(p.Trusted, s.place)
	}
}

// Open implements [store.Opener]: it opens the state, or returns it if it is open.
func (s *Shared) Open(ctx context.Context) (store.Store, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.store != nil || s.err != nil {
		return s.store, s.err
	}
	opened, err := Open(ctx, s.place)
	if err != nil { // the next part tries again
		return nil, err
	}
	if s.project != "" {
		if err := checkProject(ctx, opened, s.project); err != nil {
			return nil, errors.Join(err, opened.Close())
		}
	}
	s.store = opened
	return opened, nil
}

// IsShared reports whether other machines may share the state.
func (s *Shared) IsShared() bool { return cli.IsURL(s.place) }

// Existing is Open for a command that only reads: it makes no file. If there is no state yet, the error wraps [fs.ErrNotExist].
func (s *Shared) Existing(ctx context.Context) (store.Store, error) {
	if s.err != nil {
		return nil, fmt.Errorf("%w: %w", fs.ErrNotExist, s.err)
	}
	if !cli.IsURL(s.place) {
		if _, err := os.Stat(s.place); err != nil {
			return nil, err
		}
	}
	return s.Open(ctx)
}

// Engine opens the durable work in the state, whose place and store o leaves out. The caller closes it before the state.
func (s *Shared) Engine(ctx context.Context, o durable.Options) (*durable.Engine, error) {
	kept, err := s.Open(ctx)
	if err != nil {
		return nil, err
	}
	o.State, o.Store = s.place, kept
	return durable.Open(ctx, o)
}

// Close closes the state if it was opened.
func (s *Shared) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.store == nil {
		return nil
	}
	return s.store.Close()
}
