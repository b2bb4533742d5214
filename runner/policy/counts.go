package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runner/internal/kept"
	"github.com/mcpgen/mcpgen/runner/store"
)

const (
	// tallyKind is the kind of documents that hold numbers of calls.
	tallyKind = "count"
	// tallyTime is how long the number of a session or a day is kept after its last call.
	tallyTime = 90 * 24 * time.Hour
	tallyLock = "lock"
)

// Counts say where the numbers of sessions, customers and days are kept. All processes that use the store count together.
type Counts struct {
	// State opens the store. It is called when a call counts for such a number.
	State store.Opener
	// Old is the folder in which earlier versions kept each number in a file. The files are moved into the store before the first call is
	// counted, and renamed to NAME.moved. The folder need not exist. Empty: no files are moved.
	Old string
	// Moved is called with a line for people after files were moved. Nil: nobody is told.
	Moved func(line string)
}

// In returns a Rates that shares the calls within a minute with r, and keeps the numbers of sessions, customers and days in a store. A number
// of a session or a day is forgotten 90 days after its last call.
func (r *Rates) In(c Counts) *Rates { return &Rates{memory: r.memory, counts: &counts{Counts: c}} }

// counts keeps numbers in the store. The turn of its Rates guards it.
type counts struct {
	Counts
	moved bool // the old files are in the store
}

// open opens the store, which has the numbers of old files then.
func (c *counts) open(ctx context.Context) (store.Store, error) {
	s, err := c.State(ctx)
	if err != nil || c.moved {
		return s, err
	}
	err = c.move(ctx, s)
	c.moved = err == nil
	return s, err
}

// load reads a number, with version 0 if nothing is counted yet.
func load(ctx context.Context, s store.Store, k store.Key) (t tally, err error) {
	d, err := s.Document(ctx, k)
	if errors.Is(err, store.ErrNotFound) {
		return t, nil
	}
	if err != nil {
		return t, err
	}
	if err = json.Unmarshal(d.Value, &t); err == nil && t.Calls < 0 {
		err = errors.New("calls is negative")
	}
	if err != nil {
		err = fmt.Errorf("the document %s %s in %s is damaged (%w): delete it, or give the rule another name", k.Kind, k.Name, s.Place(), err)
	}
	t.version = d.Version
	return t, err
}

// keep writes numbers, all of them or none.
func keep(ctx context.Context, s store.Store, all map[string]*tally) error {
	var docs []store.Document
	begins := false
	for name, t := range all {
		text, err := json.Marshal(t)
		if err != nil {
			return err
		}
		docs = append(docs, store.Document{Key: t.key(name), Value: text, Version: t.version})
		begins = begins || t.version == 0
	}
	if begins {
		if err := sweep(ctx, s, docs[0].Customer); err != nil {
			return err
		}
	}
	return s.SetDocuments(ctx, docs)
}

// sweep deletes a customer's numbers of sessions and days that have had no call for a long time.
func sweep(ctx context.Context, s store.Store, customer string) error {
	all, err := s.ListDocuments(ctx, customer, tallyKind)
	for _, d := range all {
		var t tally
		if err == nil && time.Since(d.Updated) > tallyTime && json.Unmarshal(d.Value, &t) == nil && t.Of != perCustomer {
			err = s.DeleteDocument(ctx, d.Key)
		}
	}
	return err
}

// move moves the numbers of old files into the store. It may be repeated: of the two numbers, the larger one counts.
func (c *counts) move(ctx context.Context, s store.Store) error {
	files, err := fs.Glob(os.DirFS(c.Old), "*.json") // none without a folder
	if err != nil || c.Old == "" || len(files) == 0 {
		return err
	}
	unlock, err := kept.Lock(ctx, filepath.Join(c.Old, tallyLock))
	if err != nil {
		return fmt.Errorf("lock %s: %w: make the folder writable for you", c.Old, err)
	}
	defer unlock()
	moved := 0
	for _, base := range files {
		var old tally
		file := filepath.Join(c.Old, base)
		if err := kept.Read(file, &old); err != nil {
			return err
		}
		name := strings.TrimSuffix(base, ".json")
		now, err := load(ctx, s, old.key(name))
		if err != nil {
			return err
		}
		if old.Day > now.Day || old.Day == now.Day && old.Calls > now.Calls {
			old.version = now.version
			if err := keep(ctx, s, map[string]*tally{name: &old}); err != nil {
				return err
			}
		}
		if err := os.Rename(file, file+".moved"); err == nil {
			moved++
		} else if !errors.Is(err, fs.ErrNotExist) { // another process has moved it
			return err
		}
	}
	if moved > 0 && c.Moved != nil {
		c.Moved(fmt.Sprintf("the numbers of calls that the policy counts were moved from %s to %s", c.Old, s.Place()))
	}
	return nil
}
