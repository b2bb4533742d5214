// Package customer keeps the files of several customers apart. Start with [OpenRoot].
//
// Each [Customer] has a folder of its own with a quota. A [Lease] reserves its state, the workspace of its scripts, for one
// run. A [Session] logs what was done for it, and keeps and restores checkpoints of the state. [Stats] are totals over runs.
//
// Sessions are in a store, which machines may share. What concerns the disk of this machine is in the folder: what scripts wrote, the
// files of checkpoints, and the leases.
//
// Ids, logs and archives are hostile, and so is everything in a state. No function here follows a symbolic link that a script
// left behind.
package customer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/workspace"
)

const (
	// DefaultQuota is the quota of a customer in bytes, unless the options name another.
	DefaultQuota = 1 << 30
	// MinQuota is the smallest quota in bytes.
	MinQuota = 4 << 20
)

// RootOptions configure a [Root]. Nil is valid.
type RootOptions struct {
	// Quota limits the size of each customer in bytes: state, sessions with their checkpoints, skills and vault together.
	// Zero means [DefaultQuota]; the minimum is [MinQuota].
	Quota int64
	// Mask removes secrets and personal data from a JSON value before it is written to a session's log. Its result must be
	// JSON. Nil means that records are written as they are.
	Mask func(value json.RawMessage) json.RawMessage
	// Named are ids named in settings. They are known ids even if the customers do not exist.
	Named []string
	// Store opens the store of sessions, of their logs and of the list of their checkpoints. Roots with one store have the same sessions,
	// also on different machines. Nil means that there are no sessions.
	Store store.Opener
	// Moved is called with a line for people when sessions that were in files have been moved to the store. May be nil.
	Moved func(line string)
	// Now is the clock. Nil means time.Now.
	Now func() time.Time
}

// Root is the folder of all customers. It is safe for concurrent use, also by several processes. Only the host writes
// below it, except in the state folders.
type Root struct {
	dir  string // absolute, without links
	opt  RootOptions
	root *os.Root

	mu    sync.Mutex
	moved map[string]bool // customers whose files are in the store
}

// OpenRoot opens the folder of all customers. If the folder is missing, OpenRoot creates it with mode 0700 and excludes its
// content from git. The caller must call [Root.Close].
func OpenRoot(dir string, opt *RootOptions) (*Root, error) {
	r := &Root{moved: map[string]bool{}}
	if opt != nil {
		r.opt = *opt
	}
	if r.opt.Quota == 0 {
		r.opt.Quota = DefaultQuota
	}
	if r.opt.Quota < MinQuota {
		return nil, fmt.Errorf("a customer's quota of %d bytes is too small: the minimum is %d", r.opt.Quota, MinQuota)
	}
	if r.opt.Now == nil {
		r.opt.Now = time.Now
	}
	_, err := os.Lstat(dir)
	missing := errors.Is(err, fs.ErrNotExist)
	if r.dir, err = workspace.Open(dir); err != nil {
		return nil, err
	}
	if r.root, err = safeopen.Root(r.dir); err != nil {
		return nil, fmt.Errorf("open the folder of customers: %w", err)
	}
	if missing {
		if err := workspace.ExcludeFromGit(r.root); err != nil {
			return nil, errors.Join(err, r.Close())
		}
	}
	return r, nil
}

// Close closes the folder. Its customers and sessions must not be used afterwards.
func (r *Root) Close() error { return r.root.Close() }

// Dir returns the folder's absolute path, with links resolved.
func (r *Root) Dir() string { return r.dir }

// Quota returns the quota of each customer in bytes.
func (r *Root) Quota() int64 { return r.opt.Quota }

// NotFoundError reports that a customer, session or checkpoint does not exist. It matches [fs.ErrNotExist].
type NotFoundError struct {
	What, ID string // such as "session"; the ID is empty if there are none at all
	In       string // a description of where it was looked for; may be empty
}

func (e *NotFoundError) Error() string {
	text := "there is no " + e.What
	if e.ID != "" {
		text += fmt.Sprintf(" %q", e.ID)
	}
	if e.In != "" {
		text += " " + e.In
	}
	return text
}

// Is reports whether target is [fs.ErrNotExist].
func (e *NotFoundError) Is(target error) bool { return target == fs.ErrNotExist }

// Customer returns the customer with an id, and creates it if it is missing. An invalid id is refused with an *[IDError]. So is an id that
// differs from another known id only in case, because some file systems do not distinguish the two, and settings for the other customer
// would not apply.
func (r *Root) Customer(id string) (*Customer, error) {
	if err := CheckID("customer", id); err != nil {
		return nil, err
	}
	if c, err := r.Find(id); !errors.Is(err, fs.ErrNotExist) {
		return c, err
	}
	return r.create(id)
}

// create creates the folder of a customer.
func (r *Root) create(id string) (*Customer, error) {
	elsewhere, err := r.registered(context.Background())
	if err != nil {
		return nil, err
	}
	unlock, err := r.lock(context.Background())
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := r.checkCase(id, elsewhere...); err != nil {
		return nil, err
	}
	if err := r.root.Mkdir(id, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("create the folder of customer %q: %w", id, err)
	}
	c := &Customer{root: r, id: id}
	return c, c.complete()
}

// Find returns an existing customer: one with a folder here, or with sessions in the store. The error is a *[NotFoundError] if there is none.
func (r *Root) Find(id string) (*Customer, error) {
	if err := CheckID("customer", id); err != nil {
		return nil, err
	}
	info, err := r.root.Lstat(id)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		elsewhere, err := r.registered(context.Background())
		if err != nil {
			return nil, err
		}
		if slices.Contains(elsewhere, id) {
			return r.create(id)
		}
		return nil, &NotFoundError{What: "customer", ID: id, In: "in " + r.dir}
	case err != nil:
		return nil, fmt.Errorf("find customer %q: %w", id, err)
	case !info.IsDir():
		return nil, fmt.Errorf("customer %q: %s is not a folder: remove it", id, filepath.Join(r.dir, id))
	}
	if err := r.checkCase(id); err != nil {
		return nil, err
	}
	c := &Customer{root: r, id: id}
	return c, c.complete()
}

// checkCase refuses an id that is known with different case. elsewhere are ids of customers that may have no folder here.
func (r *Root) checkCase(id string, elsewhere ...string) error {
	ids, err := r.ids()
	if err != nil {
		return err
	}
	if slices.Contains(ids, id) {
		ids = nil
	}
	for _, known := range slices.Concat(ids, elsewhere, r.opt.Named) {
		if known != id && strings.EqualFold(known, id) {
			return &IDError{What: "customer", ID: id, Problem: fmt.Sprintf("there is a customer %q, from which it differs only in upper and lower case", known)}
		}
	}
	return nil
}

// ids returns the names of the customers' folders, sorted.
func (r *Root) ids() ([]string, error) {
	entries, err := fs.ReadDir(r.root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("list the customers: %w", err)
	}
	var ids []string
	for _, e := range entries {
		if e.IsDir() && CheckID("customer", e.Name()) == nil {
			ids = append(ids, e.Name())
		}
	}
	return ids, nil
}

// List returns all customers, sorted by id: those with a folder here, and those with sessions in the store. It ignores whatever else is in
// the folder.
func (r *Root) List() ([]*Customer, error) {
	ids, err := r.ids()
	if err != nil {
		return nil, err
	}
	elsewhere, err := r.registered(context.Background())
	if err != nil {
		return nil, err
	}
	ids = append(ids, elsewhere...)
	slices.Sort(ids)
	var list []*Customer
	for _, id := range slices.Compact(ids) {
		c := &Customer{root: r, id: id}
		if slices.Contains(elsewhere, id) {
			if c, err = r.Find(id); err != nil {
				return nil, err
			}
		}
		if err := c.complete(); errors.Is(err, fs.ErrNotExist) {
			continue // it was removed in the meantime
		} else if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// FindSession returns the session with an id, whichever customer it belongs to. It is an error if several customers have a session with
// that id.
func (r *Root) FindSession(id string) (*Session, error) {
	if err := CheckID("session", id); err != nil {
		return nil, err
	}
	list, err := r.List()
	if err != nil {
		return nil, err
	}
	var found *Session
	for _, c := range list {
		s, err := c.Session(id)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, err
		case found != nil:
			return nil, fmt.Errorf("customers %q and %q both have a session %q: name the customer", found.customer.id, c.id, id)
		default:
			found = s
		}
	}
	if found == nil {
		return nil, &NotFoundError{What: "session", ID: id, In: "of any customer in " + r.dir}
	}
	return found, r.checkCase(found.customer.id)
}
