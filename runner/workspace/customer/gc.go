package customer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runner/store"
)

// GCOptions select what is removed.
type GCOptions struct {
	Idle time.Duration // for how long something must have been unused; more than 0
	// DryRun removes nothing, and reports what would be removed.
	DryRun bool
	// Customer is the only customer that is examined. Empty means all.
	Customer string
	// Forms removes a customer's forms that have not changed since a time, and returns how many there were, and their bytes: form.Sweep. Nil: they
	// stay.
	Forms func(ctx context.Context, s store.Documents, customer string, before time.Time, dry bool) (n int, bytes int64, err error)
}

// Removed describes what was removed of one customer, or would be.
type Removed struct {
	Customer string   `json:"customer"`
	Sessions []string `json:"sessions"` // with their checkpoints
	Forms    int      `json:"forms,omitempty"`
	State    bool     `json:"state"` // whether the state was emptied
	Files    int      `json:"files"` // files and folders in the state
	Bytes    int64    `json:"bytes"` // disk space of everything removed
	// Busy is the number of runs in progress. If there are any, nothing is removed.
	Busy int `json:"busy,omitempty"`
}

// GC removes sessions whose logs have been unchanged for a time, with their checkpoints that are on this machine, and forms, and empties the state of customers
// that have been unused for that time, with their cached results. It keeps skills and vaults, and everything of a customer with a run in progress. It
// returns an entry for each customer that is busy or had something removed, even if there is an error.
func (r *Root) GC(ctx context.Context, opt GCOptions) ([]Removed, error) {
	if opt.Idle <= 0 {
		return nil, errors.New("the time after which something counts as unused must be more than 0")
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
		if len(removed.Sessions) > 0 || removed.Forms > 0 || removed.State || removed.Busy > 0 {
			out = append(out, removed)
		}
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
	runs, err := c.runs()
	if err != nil || runs.count > 0 {
		out.Busy = runs.count
		return out, err
	}
	before := c.root.opt.Now().Add(-opt.Idle)
	if err := c.gcSessions(ctx, before, opt.DryRun, &out); err != nil {
		return out, err
	}
	if err := c.gcForms(ctx, before, opt, &out); err != nil {
		return out, err
	}
	if err := c.gcState(before, opt.DryRun, &out); err != nil || opt.DryRun {
		return out, err
	}
	return out, c.gcCached(ctx, &out)
}

func (c *Customer) gcForms(ctx context.Context, before time.Time, opt GCOptions, out *Removed) error {
	if opt.Forms == nil {
		return nil
	}
	st, err := c.store(ctx)
	if err != nil {
		return err
	}
	var bytes int64
	out.Forms, bytes, err = opt.Forms(ctx, st, c.id, before, opt.DryRun)
	out.Bytes += bytes
	return err
}

// gcCached removes cached results that have expired, and all of a customer that had something removed.
func (c *Customer) gcCached(ctx context.Context, out *Removed) error {
	st, err := c.store(ctx)
	if err != nil {
		return err
	}
	part := store.CachedPart{Customer: &c.id, Expired: c.root.opt.Now()}
	if len(out.Sessions) > 0 || out.State {
		part.Expired = time.Time{}
	}
	_, err = st.DeleteCachedResults(ctx, part)
	return err
}

func (c *Customer) gcSessions(ctx context.Context, before time.Time, dry bool, out *Removed) error {
	st, err := c.store(ctx)
	if err != nil {
		return err
	}
	documents, err := c.listSessions(ctx, st)
	if err != nil {
		return err
	}
	for i := range documents {
		s := &Session{customer: c, id: documents[i].Name}
		bytes, gone, err := s.gc(ctx, st, &documents[i], before, dry)
		if err != nil {
			return fmt.Errorf("remove session %q: %w", s.id, err)
		}
		if gone {
			out.Sessions = append(out.Sessions, s.id)
			out.Bytes += bytes
		}
	}
	if dry || len(documents) > len(out.Sessions) {
		return nil
	}
	return st.DeleteDocument(ctx, store.Key{Kind: kindCustomer, Name: c.id})
}

// gc removes the session if nobody has appended to its log since before. d is its document.
func (s *Session) gc(ctx context.Context, st store.Store, d *store.Document, before time.Time, dry bool) (bytes int64, gone bool, err error) {
	doc, err := decodeSession(d)
	if err != nil || !doc.Used.Before(before) {
		return 0, false, err
	}
	if bytes, err = s.size(doc); err != nil || dry {
		return bytes, true, err
	}
	doc.Absent = true
	if err := s.set(ctx, st, doc, d.Version); err != nil { // without this, somebody could still append to it
		return 0, false, unlessConflict(err)
	}
	return bytes, true, s.remove(ctx, st, doc)
}

// remove removes what there is of an absent session, and its document last.
func (s *Session) remove(ctx context.Context, st store.Store, doc *sessionDocument) error {
	err := st.DeleteLog(ctx, s.key(kindLog, doc.Log))
	if err != nil {
		return err
	}
	checkpoints, err := st.ListDocuments(ctx, s.customer.id, kindCheckpoint)
	for _, c := range checkpoints {
		if strings.HasPrefix(c.Name, s.id+"/") {
			err = errors.Join(err, st.DeleteDocument(ctx, c.Key))
		}
	}
	if err != nil {
		return err
	}
	all, err := s.customer.openIn(sessionsDir)
	if err != nil {
		return err
	}
	defer all.Close()
	if err := removeAll(all, s.id); err != nil {
		return err
	}
	return st.DeleteDocument(ctx, s.key(kindSession, s.id))
}

// gcState empties the state of a customer that has not been used since before.
func (c *Customer) gcState(before time.Time, dry bool, out *Removed) error {
	dir, err := c.open()
	if err != nil {
		return err
	}
	defer dir.Close()
	used, err := c.lastUsed(dir)
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
	// It is renamed first, so that a crash does not leave a part of it as the state.
	if err := dir.Rename(stateDir, stateNew); err != nil {
		return err
	}
	return errors.Join(dir.Mkdir(stateDir, 0o700), removeAll(dir, stateNew))
}
