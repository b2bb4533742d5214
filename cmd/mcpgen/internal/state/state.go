// Package state opens what the runs of a project have kept, for commands of mcpgen.
package state

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/spf13/pflag"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

const (
	flag     = "state"
	variable = "MCPRUN_STATE"
)

// Flag is the flag --state.
type Flag struct{ place string }

// Bind adds the flag to a command.
func (o *Flag) Bind(f *pflag.FlagSet) {
	f.StringVar(&o.place, flag, "", "the `database` with the state of runs, as for mcprun (default: run.state in mcpgen.yaml, or a file of this project in your state folder)")
}

// Named reports whether the settings alone name the state. Then a person must agree to them before it is opened.
func (o *Flag) Named(app *cli.App, cfg *config.Config) bool {
	return o.place == "" && app.Env(variable) == "" && cfg.Settings.Run[flag].Value != ""
}

// Shared is the state of a project. It is opened when it is first needed.
type Shared struct {
	place string
	err   error // why there is no place

	mu    sync.Mutex
	store store.Store
}

// Share returns the state of a project. The caller closes it.
func (o *Flag) Share(app *cli.App, cfg *config.Config) *Shared {
	s := &Shared{}
	if s.place, s.err = app.StatePlace(cmp.Or(o.place, app.Env(variable), cfg.Settings.Run[flag].Value), cfg.Dir); s.err != nil {
		s.err = cli.WithHint(fmt.Errorf("find the state of runs: %w", s.err), "set HOME or XDG_STATE_HOME, or name the state with --state")
	}
	return s
}

// Err returns an error if nothing names a place for the state.
func (s *Shared) Err() error { return s.err }

// Exists reports whether there may be a state. Opening it would create it otherwise.
func (s *Shared) Exists() bool {
	_, err := os.Stat(s.place)
	return err == nil || cli.IsURL(s.place)
}

// Open implements [store.Opener]. A state in Postgres is an error: its driver would make mcpgen larger for everybody.
func (s *Shared) Open(ctx context.Context) (store.Store, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.store != nil || s.err != nil {
		return s.store, s.err
	}
	if cli.IsURL(s.place) {
		return nil, cli.WithHint(fmt.Errorf("the state of this project is in a database at a URL, which mcpgen does not open"),
			"for mcpgen learn, record replies with mcprun --record, and give them with --replies")
	}
	at, err := sqlite.Open(ctx, s.place, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	s.store = at
	return at, nil
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
