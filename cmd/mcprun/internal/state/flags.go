// Package state opens what a project remembers: its store, and the record in it.
package state

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
)

// PlaceFlag is the flag --state.
type PlaceFlag struct{ place string }

// Bind adds the flag to a command.
func (o *PlaceFlag) Bind(f *pflag.FlagSet) {
	f.Var(flags.Text(&o.place, "database"), "state", "where the record and other state are kept: a SQLite file, or postgres://… (default: a file of this project in your state folder)")
}

// ErrNoPlace says that nothing names a place for the state: neither --state nor the environment.
var ErrNoPlace = errors.New("there is no place for the state")

// noPlace returns the error of looking for the user's state folder as one that matches ErrNoPlace.
func noPlace(err error) error {
	if err == nil {
		return nil
	}
	return cli.WithHint(fmt.Errorf("%w: %w", ErrNoPlace, err), "set HOME or XDG_STATE_HOME")
}

// Place returns the database for the project in the folder base: an absolute path, or a URL.
func (o *PlaceFlag) Place(app *cli.App, base string) (string, error) {
	place, err := app.StatePlace(o.place, base)
	return place, noPlace(err)
}

// Flags are --state and --audit.
type Flags struct {
	PlaceFlag
	audit string // true, false or empty
}

// Bind adds the flags to a command.
func (o *Flags) Bind(f *pflag.FlagSet) {
	o.PlaceFlag.Bind(f)
	v := flags.New("bool", func() string { return o.audit }, func(text string) error {
		on, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", text)
		}
		o.audit = strconv.FormatBool(on)
		return nil
	})
	f.VarPF(v, "audit", "", "record the run, its calls and decisions (default: runs of customers and of mcprun serve)").NoOptDefVal = "true"
}

// Asked reports whether the flag or a setting says whether runs are recorded.
func (o *Flags) Asked() bool { return o.audit != "" }

// Records reports whether a run is recorded. usual says whether runs of its kind are, unless the flag or a setting says otherwise.
func (o *Flags) Records(usual bool) bool {
	if o.audit == "" {
		return usual
	}
	return o.audit == "true"
}
