package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpgen/mcpgen/runner/store"
)

// errFound ends a search.
var errFound = errors.New("found")

// NoteChange adds a row of kind [KindChange] if the digest of something, such as the policy, differs from the one that the newest row about
// it has. An empty digest means that there is no such thing.
func (l *Log) NoteChange(ctx context.Context, what, digest string) error {
	if l == nil {
		return nil
	}
	var last Change
	err := l.store.Rows(ctx, store.Range{Kinds: []string{string(KindChange)}, NewestFirst: true}, func(r store.Row) error {
		row, err := Decode(r)
		if err != nil || row.Forgotten {
			return err
		}
		var c Change
		if err := json.Unmarshal(row.Body, &c); err != nil {
			return fmt.Errorf("row %d of the record is damaged (%w): run mcprun audit verify", row.Index, err)
		}
		if c.What == what {
			last = c
			return errFound
		}
		return nil
	})
	if err != nil && !errors.Is(err, errFound) {
		return err
	}
	if last.To == Text(digest) {
		return nil
	}
	return l.Append(ctx, Entry{Kind: KindChange, Body: Change{What: what, From: last.To, To: Text(digest)}})
}
