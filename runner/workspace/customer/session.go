package customer

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
)

const (
	logName        = "log.jsonl"
	checkpointsDir = "checkpoints"
)

// maxSessions limits how many sessions a customer has at a time.
const maxSessions = 10_000

// Meta describes a new session.
type Meta struct {
	ID    string // if empty, it is generated from the time and random characters
	Title string // a description
}

// Session is the log of a customer's work, in order, and the checkpoints made on the way. It is safe for concurrent use, also by several
// processes.
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
	unlock, err := c.lock(context.Background())
	if err != nil {
		return nil, err
	}
	defer unlock()
	dir, err := c.open()
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	// A log limits its own size; without this check, logs could grow without limit in new sessions.
	if free := c.Quota() - hostUsage(dir).Total(); free < maxLine {
		return nil, &QuotaError{Customer: c.id, Quota: c.Quota(), Free: max(0, free), For: "another session"}
	}
	all, err := safeopen.Dir(dir, sessionsDir)
	if err != nil {
		return nil, err
	}
	defer all.Close()
	if err := c.checkNewSession(all, meta.ID); err != nil {
		return nil, err
	}
	own, err := safeopen.MakeDir(all, meta.ID, 0o700)
	if err != nil {
		return nil, fmt.Errorf("create session %q of customer %q: %w", meta.ID, c.id, err)
	}
	defer own.Close()
	f, err := own.OpenFile(logName, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create the log of session %q: %w", meta.ID, err)
	}
	s := &Session{customer: c, id: meta.ID}
	return s, errors.Join(f.Close(), s.Append(Record{Kind: KindSession, Time: now, Task: meta.Title}))
}

// checkNewSession refuses the id of an existing session, also in a different case, and refuses more sessions than a customer may have.
func (c *Customer) checkNewSession(all *os.Root, id string) error {
	entries, err := fs.ReadDir(all.FS(), ".")
	if err != nil {
		return fmt.Errorf("list the sessions of customer %q: %w", c.id, err)
	}
	if len(entries) >= maxSessions {
		return fmt.Errorf("customer %q has %d sessions and cannot have more: remove old ones (mcprun workspace gc)", c.id, len(entries))
	}
	for _, e := range entries {
		if e.Name() == id {
			return fmt.Errorf("create session %q of customer %q: %w", id, c.id, fs.ErrExist)
		}
		if strings.EqualFold(e.Name(), id) {
			return &IDError{What: "session", ID: id, Problem: fmt.Sprintf("there is a session %q, from which it differs only in upper and lower case", e.Name())}
		}
	}
	return nil
}

// Session returns an existing session. The error is a *[NotFoundError] if there is none.
func (c *Customer) Session(id string) (*Session, error) {
	if err := CheckID("session", id); err != nil {
		return nil, err
	}
	s := &Session{customer: c, id: id}
	dir, err := s.open()
	if err == nil {
		_, err = dir.Lstat(logName)
		dir.Close()
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &NotFoundError{What: "session", ID: id, In: fmt.Sprintf("of customer %q", c.id)}
	}
	return s, err
}

// Sessions returns the customer's sessions, sorted by id.
func (c *Customer) Sessions() ([]*Session, error) {
	all, err := c.openIn(sessionsDir)
	if err != nil {
		return nil, err
	}
	defer all.Close()
	entries, err := fs.ReadDir(all.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("list the sessions of customer %q: %w", c.id, err)
	}
	var list []*Session
	for _, e := range entries {
		if !e.IsDir() || CheckID("session", e.Name()) != nil {
			continue
		}
		s, err := c.Session(e.Name())
		if errors.Is(err, fs.ErrNotExist) {
			continue // it is being created or removed
		}
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

func (s *Session) open() (*os.Root, error) { return s.customer.openIn(sessionsDir, s.id) }
