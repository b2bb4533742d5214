package audit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpgen/mcpgen/runner/store"
)

// errFound ends a search.
var errFound = errors.New("found")

// Subject is something whose changes the record has, such as the policy.
type Subject struct {
	What string
	// Text is what it is now. With neither a Text nor a Digest, it does not exist.
	Text string
	// Digest is the SHA-256 of something whose text the record does not keep, in hexadecimal.
	Digest string
}

// NoteChanges adds a row of kind [KindChange] for each subject that is not what the newest row about it says. mask removes secrets and
// personal data from the texts that are kept.
func (l *Log) NoteChanges(ctx context.Context, mask func(string) string, now ...Subject) error {
	if l == nil {
		return nil
	}
	last, removed, err := l.lastChanges(ctx, now)
	if err != nil {
		return err
	}
	var rows []Entry
	for _, s := range now {
		digest := s.Digest
		if s.Text != "" {
			sum := sha256.Sum256([]byte(s.Text))
			digest = hex.EncodeToString(sum[:])
		}
		was, known := last[s.What]
		if was.To == Text(digest) {
			continue
		}
		c := Change{What: s.What, From: was.To, To: Text(digest), FromText: was.ToText, Unsure: removed && !known}
		if s.Text != "" {
			kept, err := l.Code(ctx, mask(s.Text))
			if err != nil {
				return err
			}
			c.ToText = Text(kept)
		}
		rows = append(rows, Entry{Kind: KindChange, Body: c})
	}
	return l.Append(ctx, rows...)
}

// lastChanges returns the newest rows about subjects, and whether the contents of older rows were removed.
func (l *Log) lastChanges(ctx context.Context, subjects []Subject) (last map[string]Change, removed bool, err error) {
	last = map[string]Change{}
	missing := map[string]bool{}
	for _, s := range subjects {
		missing[s.What] = true
	}
	err = l.store.Rows(ctx, store.Range{Kinds: []string{string(KindChange)}, NewestFirst: true}, func(r store.Row) error {
		row, err := Decode(r)
		if err != nil {
			return err
		}
		if removed = row.Forgotten; removed { // so are all before it
			return errFound
		}
		var c Change
		if err := json.Unmarshal(row.Body, &c); err != nil {
			return fmt.Errorf("row %d of the record is damaged (%w): run mcprun audit verify", row.Index, err)
		}
		if missing[c.What] {
			last[c.What] = c
			delete(missing, c.What)
		}
		if len(missing) == 0 {
			return errFound
		}
		return nil
	})
	if errors.Is(err, errFound) {
		err = nil
	}
	return last, removed, err
}
