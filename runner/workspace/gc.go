package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
)

// staleAfter is how old what an import left unfinished must be to be removed.
const staleAfter = 24 * time.Hour

// GCOptions say what is removed.
type GCOptions struct {
	Idle time.Duration // how long something must have been unused; more than 0
	// DryRun removes nothing, and says what would be.
	DryRun bool
	// Customer is the only one that is looked at. Empty: all.
	Customer string
}

// Removed is what was removed of one customer, or would be.
type Removed struct {
	Customer string   `json:"customer"`
	Sessions []string `json:"sessions"` // with their checkpoints
	State    bool     `json:"state"`    // the state was emptied
	Files    int      `json:"files"`    // files and folders of the state
	Bytes    int64    `json:"bytes"`    // of all of it, on the disk
	// Busy is how many runs are under way; nothing is removed then.
	Busy int `json:"busy,omitempty"`
}

// GC removes sessions to whose log nothing was written for a time, with their checkpoints, and empties the state of
// customers who were not used for that long. Skills and vaults stay. Nothing of a customer is removed while a run of its is
// under way. It returns what was removed of each customer of which something was, or who was passed over; with an error,
// what was removed by then.
func (r *Root) GC(ctx context.Context, opt GCOptions) ([]Removed, error) {
	if opt.Idle <= 0 {
		return nil, errors.New("say after what time something counts as unused")
	}
	out := []Removed{}
	list, err := r.List()
	if opt.Customer != "" {
		var one *Customer
		one, err = r.Find(opt.Customer)
		list = []*Customer{one}
	}
	if err != nil {
		return out, err
	}
	var errs []error
	for _, c := range list {
		if ctx.Err() != nil {
			return out, errors.Join(append(errs, context.Cause(ctx))...)
		}
		removed, err := c.gc(ctx, opt)
		if err != nil {
			errs = append(errs, fmt.Errorf("customer %q: %w", c.id, err))
		}
		if len(removed.Sessions) > 0 || removed.State || removed.Busy > 0 {
			out = append(out, removed)
		}
	}
	if opt.Customer == "" && !opt.DryRun {
		errs = append(errs, r.removeStale(ctx))
	}
	return out, errors.Join(errs...)
}

func (c *Customer) gc(ctx context.Context, opt GCOptions) (Removed, error) {
	out := Removed{Customer: c.id, Sessions: []string{}}
	unlock, err := c.lock(ctx)
	if err != nil {
		return out, err
	}
	defer unlock()
	under, err := c.runs()
	if err != nil || under.count > 0 {
		out.Busy = under.count
		return out, err
	}
	before := c.root.opt.Now().Add(-opt.Idle)
	if err := c.gcSessions(ctx, before, opt.DryRun, &out); err != nil {
		return out, err
	}
	return out, c.gcState(before, opt.DryRun, &out)
}

func (c *Customer) gcSessions(ctx context.Context, before time.Time, dry bool, out *Removed) error {
	sessions, err := c.Sessions()
	if err != nil {
		return err
	}
	all, err := c.openIn(sessionsDir)
	if err != nil {
		return err
	}
	defer all.Close()
	for _, s := range sessions {
		bytes, gone, err := s.gc(ctx, all, before, dry)
		if err != nil {
			return fmt.Errorf("remove session %q: %w", s.id, err)
		}
		if gone {
			out.Sessions = append(out.Sessions, s.id)
			out.Bytes += bytes
		}
	}
	return nil
}

// gc removes the session if nothing was written to its log since before.
func (s *Session) gc(ctx context.Context, all *os.Root, before time.Time, dry bool) (bytes int64, gone bool, err error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return 0, false, err
	}
	defer unlock()
	info, err := all.Lstat(s.id + "/" + logName)
	if err != nil || !info.ModTime().Before(before) {
		return 0, false, err
	}
	bytes, _ = measure(all, s.id)
	if dry {
		return bytes, true, nil
	}
	// Without its log it is no session any more, whatever becomes of the rest.
	if err := all.Remove(s.id + "/" + logName); err != nil {
		return 0, false, err
	}
	unlock() // some systems remove no file that is open
	return bytes, true, removeAll(all, s.id)
}

// gcState empties the state of a customer who was not used since before.
func (c *Customer) gcState(before time.Time, dry bool, out *Removed) error {
	dir, err := c.open()
	if err != nil {
		return err
	}
	defer dir.Close()
	used, err := c.used(dir)
	if err != nil || !used.Before(before) {
		return err
	}
	if !dry {
		if err := c.recover(dir); err != nil {
			return err
		}
	}
	bytes, files := measure(dir, stateDir)
	if files == 0 {
		return nil
	}
	out.State, out.Files, out.Bytes = true, files, out.Bytes+bytes
	if dry {
		return nil
	}
	// It is taken away whole first: what is left of it after a crash is no state.
	if err := dir.Rename(stateDir, stateNew); err != nil {
		return err
	}
	return errors.Join(dir.Mkdir(stateDir, 0o700), removeAll(dir, stateNew))
}

// removeStale removes what imports left that did not come to their end.
func (r *Root) removeStale(ctx context.Context) error {
	unlock, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	entries, err := fs.ReadDir(r.root.FS(), ".")
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), unfinished) {
			continue
		}
		if info, err := e.Info(); err == nil && r.opt.Now().Sub(info.ModTime()) > staleAfter {
			errs = append(errs, removeAll(r.root, e.Name()))
		}
	}
	return errors.Join(errs...)
}
