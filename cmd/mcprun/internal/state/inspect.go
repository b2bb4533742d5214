package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/runner/store"
)

// inspectTime bounds how long a database may take to answer.
const inspectTime = 5 * time.Second

// Inspection is what there is to know about the state at a place. A nil member is unknown.
type Inspection struct {
	Place string `json:"place"`
	Kind  string `json:"kind"` // sqlite or postgres
	// Exists is false for a file that is made when something is kept there first.
	Exists  bool    `json:"exists"`
	Answers bool    `json:"answers"`
	Error   *string `json:"error"`  // why it does not answer
	Remedy  *string `json:"remedy"` // what to do then
	Version *int64  `json:"version"`
	Bytes   *int64  `json:"bytes"`
	Rows    *int64  `json:"rows"` // of the record
	Head    *Head   `json:"head"` // the newest one that was signed
	// Recorded says which runs are recorded: all, usual (those of customers and of mcprun serve) or none.
	Recorded string `json:"recorded"`
}

// Head is a signed head of the record.
type Head struct {
	Time time.Time `json:"time"`
	Rows int64     `json:"rows"` // that it covers
}

// Inspect looks at the state at a place that [PlaceFlag.Place] returned. audit is the setting: true, false or empty. It leaves no new file, but
// adds missing tables to a database that is there, as a run would.
func Inspect(ctx context.Context, place, audit string) *Inspection {
	i := &Inspection{Place: place, Kind: "sqlite", Exists: true, Recorded: map[string]string{"true": "all", "false": "none"}[audit]}
	if i.Recorded == "" {
		i.Recorded = "usual"
	}
	if cli.IsURL(place) {
		i.Kind, i.Place = "postgres", cli.ShownPlace(place)
	} else {
		_, err := os.Stat(place)
		i.Exists = !errors.Is(err, fs.ErrNotExist)
		if err := writable(place); err != nil {
			return i.failed(fmt.Errorf("%w: %w", store.ErrUnusable, err))
		}
		if !i.Exists {
			i.Answers = true
			return i
		}
	}
	ctx, cancel := context.WithTimeout(ctx, inspectTime)
	defer cancel()
	return i.failed(i.ask(ctx, place))
}

// failed adds an error, which may be nil, and what to do.
func (i *Inspection) failed(err error) *Inspection {
	if i.Answers = err == nil; err != nil {
		text, remedy := err.Error(), "correct the address: --state, MCPRUN_STATE, or run.state in mcpgen.yaml"
		if i.Kind == "sqlite" {
			remedy = "name another file with --state"
		}
		if hints := cli.Hints(err); len(hints) > 0 {
			remedy = strings.Join(hints, "; ")
		}
		i.Error, i.Remedy = &text, &remedy
	}
	return i
}

// writable returns why a SQLite file or its folder cannot be written. They need not exist. This process must not have opened the database:
// closing the file releases its locks.
func writable(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		err = f.Close()
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	for _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir); _, err = os.Stat(dir) {
		dir = filepath.Dir(dir)
	}
	if f, err = os.CreateTemp(dir, ".mcprun-"); err != nil {
		if failed, ok := errors.AsType[*fs.PathError](err); ok {
			err = failed.Err // its path says nothing
		}
		return fmt.Errorf("make a file in %s: %w", dir, err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// ask asks the database.
func (i *Inspection) ask(ctx context.Context, place string) (err error) {
	s, err := Open(ctx, place)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	about, err := s.About(ctx)
	if err != nil {
		return err
	}
	rows, err := s.Size(ctx)
	if err != nil {
		return err
	}
	i.Version, i.Bytes, i.Rows = &about.Version, &about.Bytes, &rows
	head, err := s.NewestHead(ctx)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	i.Head = &Head{head.Time, head.Size}
	return err
}
