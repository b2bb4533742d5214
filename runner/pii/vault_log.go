package pii

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpgen/mcpgen/runner/store"
)

const (
	// logKind is the kind of a vault's log.
	logKind = "vault"
	// maxSealed bounds a line, whose values are in base64.
	maxSealed = 2*MaxVaultBytes + 128*MaxVaultValues
	// lineCost is what reading a line costs, beside its bytes, in bytes that are read in the same time.
	lineCost = 256
	// minAdded is the cost of added lines from which one whole line may replace them all.
	minAdded = 256 << 10
	// readTime bounds the wait for the store.
	readTime = 20 * time.Second
)

// batch is the text of a line: everything, or what one change has added.
type batch struct {
	kind    byte
	Entries []*entry     `json:"entries,omitempty"`
	Noted   []note       `json:"noted,omitempty"`
	Last    map[Type]int `json:"last,omitempty"`  // of a whole line
	Moved   string       `json:"moved,omitempty"` // of a whole line; see contents
}

// note changes an entry.
type note struct {
	Token string `json:"token"`
	Field bool   `json:"field,omitempty"` // a field held it, too
	Used  int    `json:"used,omitempty"`  // the day of its last use, if that is later
}

// contents is what was read of a vault's log.
type contents struct {
	ledger *ledger
	moved  string // digest of the file whose content was moved here, in hexadecimal
	number int64  // of the last line
	tag    tag    // of the last line
	bytes  int64  // of all lines
	whole  int64  // bytes of the whole line
	added  int64  // cost of the others
}

func (v *Vault) fail(err error, remedy string) error {
	return &VaultError{Place: v.place, Err: err, remedy: remedy}
}

const (
	remedyDamaged = "restore a copy of the database, or name another one with --state; the tokens cannot be restored then"
	remedyForeign = "use the key that it was created with: that of the user and the machine where the database was first used"
	remedyOwner   = "restore a copy of the database, or name another one with --state; the tokens cannot be restored here"
	remedyStore   = "make sure that the database can be written to, has room and answers"
)

// refresh reads what was added to the log. The caller holds the mutex, except in OpenVault.
func (v *Vault) refresh(ctx context.Context) error {
	err := v.read(ctx)
	if _, ok := errors.AsType[*VaultError](err); !ok || v.number == 0 {
		return err
	}
	old := v.contents
	v.contents = contents{ledger: newLedger()} // the log may have been replaced by another one
	if err = v.read(ctx); err != nil {
		v.contents = old
	}
	return err
}

func (v *Vault) read(ctx context.Context) error {
	own, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	var bad error
	err := v.store.Lines(own, v.log, v.number, func(l store.Line) error {
		bad = v.add(l)
		return bad
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, ErrForeignKey):
		return v.fail(err, remedyForeign)
	case errors.Is(err, ErrForeignOwner):
		return v.fail(err, remedyOwner)
	case bad != nil:
		return v.fail(err, remedyDamaged)
	}
	return v.fail(err, remedyStore)
}

// add adds a line of the log.
func (v *Vault) add(l store.Line) error {
	if len(l.Value) > maxSealed {
		return fmt.Errorf("line %d has %d bytes; a vault has at most %d", l.Number, len(l.Value), maxSealed)
	}
	b, err := v.seal.open(l.Number, v.tag, l.Value)
	if err != nil {
		return err
	}
	whole := b.kind == kindWhole
	if !whole && l.Number != v.number+1 {
		return errors.New("it is damaged: lines are missing")
	}
	led := v.ledger
	if whole {
		led = newLedger()
	}
	if err := led.fill(b); err != nil {
		return err
	}
	for _, n := range b.Noted {
		if e, ok := led.byToken[n.Token]; ok {
			e.Used = max(e.Used, n.Used)
			v.setField(e, n.Field)
		}
	}
	if v.ledger = led; whole {
		v.moved = b.Moved
	}
	v.took(b.kind, l.Number, l.Value)
	return nil
}

// fill adds the entries of a batch.
func (l *ledger) fill(b *batch) error {
	for _, e := range b.Entries {
		if e == nil || tokenEnd(e.Token, 0) != len(e.Token) || !l.add(e) {
			return errors.New("it is damaged: a token is in it twice, or is not one")
		}
	}
	for t, n := range b.Last {
		l.last[t] = max(l.last[t], n)
	}
	return nil
}

// took counts a line that was read or written.
func (v *Vault) took(kind byte, number int64, line []byte) {
	size := int64(len(line))
	if kind == kindWhole {
		v.bytes, v.whole, v.added = 0, size, -size-lineCost
	}
	v.number, v.tag = number, tagOf(line)
	v.bytes += size
	v.added += size + lineCost
}

// setField notes that a field held a value, so that it is looked for in texts.
func (v *Vault) setField(e *entry, field bool) {
	if field && !e.Field {
		e.Field = true
		if v.names != nil {
			v.names.learn([]*entry{e})
		}
	}
}

// isLong reports whether one whole line is better than the lines that were added. Their number grows with what the vault holds, so that
// each value is written again only a few times.
func (v *Vault) isLong() bool { return v.added > minAdded+v.whole }

// wholeOf returns the batch that replaces all lines.
func wholeOf(l *ledger, moved string) *batch {
	return &batch{kind: kindWhole, Entries: l.entries, Last: l.last, Moved: moved}
}

// write adds a line to the log, unless ctx has ended before. The error matches [store.ErrConflict] if somebody else has added one since it
// was read.
func (v *Vault) write(ctx context.Context, b *batch) error {
	number := v.number + 1
	line, err := v.seal.seal(number, v.tag, b)
	if err != nil {
		return v.fail(err, remedyDamaged)
	}
	put, more := v.store.AppendLineAt, int64(len(line))
	if b.kind == kindWhole {
		put, more = v.store.ReplaceLines, more-v.bytes
	}
	if v.room != nil && more > 0 {
		if err := v.room(more); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	switch err := put(ctx, v.log, number, line); {
	case errors.Is(err, store.ErrConflict):
		return err
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return v.fail(err, remedyStore)
	}
	v.took(b.kind, number, line)
	return nil
}

// follow reads what others have written after a conflict. If that is nothing, the log was deleted, and is read from its beginning.
func (v *Vault) follow(ctx context.Context) error {
	number := v.number
	if err := v.refresh(ctx); err != nil || v.number != number {
		return err
	}
	v.contents = contents{ledger: newLedger()}
	return v.refresh(ctx)
}
