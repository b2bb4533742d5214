package customer

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runner/store"
)

const checkpointsDir = "checkpoints"

// maxSessions limits how many sessions a customer has at a time.
const maxSessions = 10_000

// Meta describes a new session.
type Meta struct {
	ID    string // if empty, it is generated from the time and random characters
	Title string // a description
}

// Session is the log of a customer's work, in order, and the checkpoints made on the way. The log and the list of checkpoints are in the store;
// the files of checkpoints are in the customer's folder. It is safe for concurrent use, also by several processes.
type Session struct {
	customer *Customer
	id       string
}

// ID returns the session's id.
func (s *Session) ID() string { return s.id }

// Customer returns the customer that the session belongs to.
func (s *Session) Customer() *Customer { return s.customer }

// NewSession creates a session. The error matches fs.ErrExist if there is one with that id.
func (c *Customer) NewSession(meta Meta) (*Session, error) {
	now := c.root.opt.Now()
	if meta.ID == "" {
		meta.ID = now.UTC().Format("20060102-150405-") + strings.ToLower(rand.Text()[:6])
	}
	if err := CheckID("session", meta.ID); err != nil {
		return nil, err
	}
	ctx := context.Background()
	unlock, err := c.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	st, err := c.store(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := c.open()
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	// A log limits its own size; without this check, logs could grow without limit in new sessions.
	u, err := c.hostUsage(ctx, dir)
	if err != nil {
		return nil, err
	}
	if free := c.Quota() - u.Total(); free < maxLine {
		return nil, &QuotaError{Customer: c.id, Quota: c.Quota(), Free: max(0, free), For: "another session"}
	}
	s := &Session{customer: c, id: meta.ID}
	documents, _, err := c.sessionDocuments(ctx, st)
	if err == nil {
		err = c.checkNewSession(documents, meta.ID)
	}
	if err == nil {
		err = s.begin(ctx, st, meta.Title, now)
	}
	if err != nil {
		return nil, fmt.Errorf("create session %q of customer %q: %w", meta.ID, c.id, err)
	}
	return s, nil
}

// begin creates the session with the first line of its log.
func (s *Session) begin(ctx context.Context, st store.Store, title string, now time.Time) error {
	line, err := s.line(Record{Kind: KindSession, Time: now, Task: title})
	if err != nil {
		return err
	}
	if d, err := st.Document(ctx, s.key(kindSession, s.id)); err == nil {
		old, err := decodeSession(d)
		if err == nil && !old.Absent {
			err = fs.ErrExist // another machine has just created it
		}
		if err == nil {
			err = s.remove(ctx, st, old)
		}
		if err != nil {
			return err
		}
	} else if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	doc := &sessionDocument{Log: s.newLog(), Used: now, Bytes: int64(len(line))}
	log := s.key(kindLog, doc.Log)
	if _, err = st.AppendLine(ctx, log, line); err == nil {
		err = s.set(ctx, st, doc, 0)
	}
	if err != nil {
		_ = st.DeleteLog(context.WithoutCancel(ctx), log) // nothing refers to it
	}
	if errors.Is(err, store.ErrConflict) {
		return fs.ErrExist
	}
	if err != nil {
		return err
	}
	return s.customer.register(ctx, st)
}

// newLog returns a name for the session's log that no log has.
func (s *Session) newLog() string { return s.id + "/" + strings.ToLower(rand.Text()[:12]) }

// checkNewSession refuses the id of an existing session, also in a different case, and refuses more sessions than a customer may have.
func (c *Customer) checkNewSession(documents map[string]*sessionDocument, id string) error {
	if len(documents) >= maxSessions {
		return fmt.Errorf("it has %d sessions and cannot have more: remove old ones (mcprun workspace gc)", len(documents))
	}
	for known := range documents {
		if known == id {
			return fs.ErrExist
		}
		if strings.EqualFold(known, id) {
			return &IDError{What: "session", ID: id, Problem: fmt.Sprintf("there is a session %q, from which it differs only in upper and lower case", known)}
		}
	}
	return nil
}

// Session returns an existing session. The error is a *[NotFoundError] if there is none.
func (c *Customer) Session(id string) (*Session, error) {
	if err := CheckID("session", id); err != nil {
		return nil, err
	}
	ctx, s := context.Background(), &Session{customer: c, id: id}
	st, err := c.store(ctx)
	if err == nil {
		_, _, err = s.document(ctx, st)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Sessions returns the customer's sessions, sorted by id.
func (c *Customer) Sessions() ([]*Session, error) {
	ctx := context.Background()
	st, err := c.store(ctx)
	if err != nil {
		return nil, err
	}
	documents, _, err := c.sessionDocuments(ctx, st)
	if err != nil {
		return nil, fmt.Errorf("list the sessions of customer %q: %w", c.id, err)
	}
	var list []*Session
	for _, id := range slices.Sorted(maps.Keys(documents)) {
		list = append(list, &Session{customer: c, id: id})
	}
	return list, nil
}
