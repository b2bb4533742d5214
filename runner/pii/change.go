package pii

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/mcpgen/mcpgen/runner/store"
)

// change is one operation that may add to a vault. The caller holds the vault's mutex.
type change struct {
	v      *Vault
	ctx    context.Context
	share  *Share
	found  Found
	err    error // the first one
	before mark
	noted  []noted
}

// noted is an entry that a change has changed, and what it was.
type noted struct {
	e     *entry
	field bool
	used  int
}

// newChange returns a change.
func newChange(ctx context.Context, v *Vault, s *Share) *change {
	return &change{v: v, ctx: ctx, share: s, found: Found{}, before: v.ledger.mark()}
}

// token returns the token of a value.
func (c *change) token(typ Type, v value) string {
	c.found[typ]++
	return c.tokenOf(entryOf(typ, v))
}

// lookalike returns the replacement of a text that looks like a token: the text itself, which is remembered, if no value has that token, or if the
// caller has tokens.
func (c *change) lookalike(v value) string {
	l := c.v.ledger
	e, ok := l.byToken[v.text]
	if c.share.Own && (ok || l.isForgotten(v.text)) {
		return v.text
	}
	if !ok {
		e = c.addItself(v.text)
	}
	if c.err != nil || e != nil && e.As == asItself {
		return v.text
	}
	return c.tokenOf(entryOf(literalType, v))
}

// addItself adds a text that looks like a token that stands for no value. It returns nil if the token stood for one.
func (c *change) addItself(token string) *entry {
	e := &entry{As: asItself, Token: token, Value: []byte(token), Used: c.v.today()}
	if c.v.ledger.isForgotten(token) || !c.fits(e.size()) {
		return nil
	}
	c.v.ledger.add(e)
	return e
}

// tokenOf returns the token of an entry, and adds the entry if it is new. After an error, the token is empty.
func (c *change) tokenOf(e *entry) string {
	l := c.v.ledger
	if known, ok := l.byToken[l.byValue[e.key()]]; ok {
		c.note(known, note{Field: e.Field, Used: known.Used})
		return known.Token
	}
	if !c.fits(e.size()) {
		return ""
	}
	e.Token, e.Used = l.unused(e.Type), c.v.today()
	l.add(e)
	return e.Token
}

// note changes an entry.
func (c *change) note(e *entry, n note) {
	if n.Used <= e.Used && (e.Field || !n.Field) {
		return
	}
	c.noted = append(c.noted, noted{e, e.Field, e.Used})
	e.Used = max(e.Used, n.Used)
	c.v.setField(e, n.Field)
}

// fits reports whether one more value fits and ctx has not ended.
func (c *change) fits(size int) bool {
	l := c.v.ledger
	if c.err == nil && c.ctx.Err() != nil {
		c.err = context.Cause(c.ctx)
	}
	if c.err == nil && !c.share.fits(len(l.entries)-c.before.entries+1, l.bytes-c.before.bytes+size) {
		c.err = &ShareError{Values: c.share.values, Bytes: c.share.bytes}
	}
	if c.err == nil && (len(l.entries) >= c.v.maxValues || l.bytes+size > c.v.maxBytes) {
		c.err = &FullError{Place: c.v.place, Values: len(l.entries), Bytes: l.bytes}
	}
	return c.err == nil
}

// batch returns what the change has added, or nil.
func (c *change) batch() *batch {
	l := c.v.ledger
	b := &batch{kind: kindAdded, Entries: l.entries[c.before.entries:], Noted: c.notes()}
	switch {
	case len(b.Entries) == 0 && len(b.Noted) == 0:
		return nil
	case c.v.number == 0, c.v.isLong():
		return wholeOf(l, c.v.moved)
	}
	return b
}

// notes returns how the change has changed entries.
func (c *change) notes() (all []note) {
	for _, n := range c.noted {
		all = append(all, note{Token: n.e.Token, Field: n.e.Field, Used: n.e.Used})
	}
	return all
}

// discard takes back what the change has added.
func (c *change) discard() {
	for _, n := range slices.Backward(c.noted) {
		n.e.Field, n.e.Used = n.field, n.used
	}
	c.v.ledger.rollback(c.before)
	c.noted, c.before = nil, c.v.ledger.mark()
}

// end writes what the change has added, or takes it back if it cannot be written. If others have written in the meantime, the values get
// tokens again, which may be other ones: then changed is true. partly says that values that still fit are written if others do not.
func (c *change) end(partly bool) (changed bool, err error) {
	for {
		b := c.batch()
		if b == nil {
			return changed, nil
		}
		if err := c.v.write(c.ctx, b); !errors.Is(err, store.ErrConflict) {
			if err != nil {
				c.discard()
				return changed, err
			}
			l := c.v.ledger
			c.share.addedValues += len(l.entries) - c.before.entries
			c.share.addedBytes += l.bytes - c.before.bytes
			c.noted, c.before = nil, l.mark()
			return changed, nil
		}
		changed = true
		if c.again(); c.err != nil && !partly {
			c.discard()
			return changed, c.err
		}
	}
}

// again makes the change again, after what others have written.
func (c *change) again() {
	entries, notes := slices.Clone(c.v.ledger.entries[c.before.entries:]), c.notes()
	c.discard()
	c.err = c.v.follow(c.ctx)
	l := c.v.ledger
	if c.before = l.mark(); c.err != nil {
		return
	}
	for _, n := range notes {
		if e, ok := l.byToken[n.Token]; ok {
			c.note(e, n)
		}
	}
	for _, e := range entries {
		fresh := *e
		switch _, known := l.byToken[e.Token]; {
		case e.As != asItself:
			c.tokenOf(&fresh)
		case !known:
			c.addItself(e.Token)
		}
		if c.err != nil {
			return
		}
	}
}

// mark is a state of a ledger to which rollback returns.
type mark struct {
	entries, bytes int
	last           map[Type]int
}

func (l *ledger) mark() mark { return mark{len(l.entries), l.bytes, maps.Clone(l.last)} }

// rollback removes everything added after the mark.
func (l *ledger) rollback(m mark) {
	for _, e := range l.entries[m.entries:] {
		delete(l.byToken, e.Token)
		if e.As != asItself {
			delete(l.byValue, e.key())
		}
	}
	l.entries, l.bytes, l.last = l.entries[:m.entries], m.bytes, m.last
}
