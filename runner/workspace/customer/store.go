package customer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/runner/store"
)

// Kinds of what the store keeps of customers. Its customer is theirs, except for a kindCustomer, which is the project's.
const (
	kindCustomer   = "customer"    // document: a customer with sessions, by id
	kindSession    = "session"     // document: a sessionDocument, by id
	kindLog        = "session-log" // log: its records, one or several lines of JSON in each line of the log; by sessionDocument.Log
	kindVault      = "vault"       // log: the vault of personal data, which package pii writes
	kindCheckpoint = "checkpoint"  // document: a CheckpointInfo, by the ids of the session and the checkpoint with a slash between
)

// sessionDocument is the document of a session.
type sessionDocument struct {
	Log   string    `json:"log"`   // the name of its log
	Used  time.Time `json:"used"`  // when the log was last appended to
	Bytes int64     `json:"bytes"` // of the log
	// Moved is the SHA-256 of the file that the log began as, in hexadecimal. Empty: it began in the store.
	Moved string `json:"moved,omitempty"`
	// Absent says that the session is being moved to the store or removed, or that a process died while it did so.
	Absent bool `json:"absent,omitempty"`
}

// store opens the store.
func (r *Root) store(ctx context.Context) (store.Store, error) {
	if r.opt.Store == nil {
		return nil, errors.New("there is no store for sessions")
	}
	return r.opt.Store(ctx)
}

// store opens the store. The first time, it moves there what earlier versions kept in files.
func (c *Customer) store(ctx context.Context) (store.Store, error) {
	st, err := c.root.store(ctx)
	if err != nil {
		return nil, err
	}
	c.root.mu.Lock()
	defer c.root.mu.Unlock()
	if !c.root.moved[c.id] {
		if err := c.moveFiles(ctx, st); err != nil {
			return nil, fmt.Errorf("move the sessions of customer %q to %s: %w", c.id, st.Place(), err)
		}
		c.root.moved[c.id] = true
	}
	return st, nil
}

// register makes the customer known to other machines that share the store.
func (c *Customer) register(ctx context.Context, st store.Store) error {
	key := store.Key{Kind: kindCustomer, Name: c.id}
	_, err := st.Document(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		if _, err = st.SetDocument(ctx, &store.Document{Key: key, Value: []byte("{}")}); errors.Is(err, store.ErrConflict) {
			err = nil
		}
	}
	return err
}

// registered returns the ids of customers with sessions, wherever their folders are, sorted.
func (r *Root) registered(ctx context.Context) ([]string, error) {
	if r.opt.Store == nil {
		return nil, nil
	}
	st, err := r.opt.Store(ctx)
	if err != nil {
		return nil, err
	}
	list, err := st.ListDocuments(ctx, "", kindCustomer)
	var ids []string
	for _, d := range list {
		if CheckID("customer", d.Name) == nil {
			ids = append(ids, d.Name)
		}
	}
	return ids, err
}

// listSessions returns the customer's documents of sessions, also of those that are absent. Their names may become names of folders.
func (c *Customer) listSessions(ctx context.Context, st store.Store) ([]store.Document, error) {
	list, err := st.ListDocuments(ctx, c.id, kindSession)
	return slices.DeleteFunc(list, func(d store.Document) bool { return CheckID("session", d.Name) != nil }), err
}

// sessionDocuments returns the documents of the customer's sessions by id, except those that are absent, and the bytes of their logs.
func (c *Customer) sessionDocuments(ctx context.Context, st store.Store) (all map[string]*sessionDocument, bytes int64, err error) {
	list, err := c.listSessions(ctx, st)
	if err != nil {
		return nil, 0, err
	}
	all = map[string]*sessionDocument{}
	for i := range list {
		doc, err := decodeSession(&list[i])
		if err != nil {
			return nil, 0, err
		}
		if bytes += doc.Bytes; !doc.Absent {
			all[list[i].Name] = doc
		}
	}
	return all, bytes, nil
}

func decodeSession(d *store.Document) (*sessionDocument, error) {
	doc := &sessionDocument{}
	if err := json.Unmarshal(d.Value, doc); err != nil {
		return nil, fmt.Errorf("read the document of session %q of customer %q: %w", d.Name, d.Customer, err)
	}
	return doc, nil
}

// set writes the document of the session as the version after one that was read, or 0. It fails with [store.ErrConflict] if there is a newer one.
func (s *Session) set(ctx context.Context, st store.Documents, doc *sessionDocument, version int64) error {
	value, err := json.Marshal(doc)
	if err == nil {
		_, err = st.SetDocument(ctx, &store.Document{Key: s.key(kindSession, s.id), Value: value, Version: version})
	}
	return err
}

func (s *Session) key(kind, name string) store.Key {
	return store.Key{Customer: s.customer.id, Kind: kind, Name: name}
}

// document returns the document of the session and its version. The error is a *[NotFoundError] if the session does not exist.
func (s *Session) document(ctx context.Context, st store.Documents) (*sessionDocument, int64, error) {
	d, err := st.Document(ctx, s.key(kindSession, s.id))
	if err == nil {
		doc, err := decodeSession(d)
		if err != nil || !doc.Absent {
			return doc, d.Version, err
		}
	} else if !errors.Is(err, store.ErrNotFound) {
		return nil, 0, err
	}
	return nil, 0, &NotFoundError{What: "session", ID: s.id, In: fmt.Sprintf("of customer %q", s.customer.id)}
}

// change changes the document of the session, whoever else changes it at the same time.
func (s *Session) change(ctx context.Context, st store.Documents, f func(*sessionDocument) error) (*sessionDocument, error) {
	for {
		doc, version, err := s.document(ctx, st)
		if err != nil {
			return nil, err
		}
		if err := f(doc); err != nil {
			return nil, err
		}
		if err = s.set(ctx, st, doc, version); !errors.Is(err, store.ErrConflict) {
			return doc, err
		}
	}
}

// lines calls f with each line of the log.
func (s *Session) lines(ctx context.Context, f func(line []byte) (ok bool, err error)) (bad int, err error) {
	st, err := s.customer.store(ctx)
	if err != nil {
		return 0, err
	}
	doc, _, err := s.document(ctx, st)
	if err != nil {
		return 0, err
	}
	err = st.Lines(ctx, s.key(kindLog, doc.Log), 0, func(l store.Line) error {
		more, err := eachLine(l.Value, f)
		bad += more
		return err
	})
	return bad, err
}

// eachLine calls f with each line. It counts the lines for which f returns false, and those longer than maxLine.
func eachLine(text []byte, f func(line []byte) (ok bool, err error)) (bad int, err error) {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		ok := false
		if len(line) <= maxLine {
			if ok, err = f(line); err != nil {
				return bad, err
			}
		}
		if !ok {
			bad++
		}
	}
	return bad, nil
}
