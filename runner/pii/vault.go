package pii

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"
)

const (
	// MaxVaultValues is the number of values that a vault holds.
	MaxVaultValues = 100_000
	// MaxVaultBytes is the total size of its values.
	MaxVaultBytes = 32 << 20
	// MaxRestored is the size of a restored text, in bytes.
	MaxRestored = 64 << 20

	// RunValues and RunBytes bound what one run may add to a vault: a quarter of what the vault holds.
	RunValues = MaxVaultValues / 4
	RunBytes  = MaxVaultBytes / 4
)

// Found counts the replaced values by type.
type Found map[Type]int

// Vault replaces personal data by tokens such as [EMAIL_1] and restores it exactly. One encrypted file holds what the tokens stand for. The
// same value has the same token for as long as the file exists, for every user: several goroutines may use a vault, and several processes
// its file, at once.
//
// A text that already looks like a token stays as it is while no value has that token; if a value has it, the text is itself replaced, by
// [LITERAL_1] for example. So text that was tokenized once is restored exactly.
//
// In JSON, a number has a token of its own, different from that of the text with the same digits, and is restored as a number. A value
// written with unusual escapes also has its own token, and its escapes are restored.
type Vault struct {
	path string
	key  sealKey
	// Limits; tests set smaller ones.
	maxValues, maxBytes, maxRestored int

	room func(more int64) error // nil means no limit
	now  func() time.Time

	mu     sync.Mutex
	ledger *ledger
	info   fs.FileInfo // of the file from which ledger was read, or nil if there was none
	names  *learned    // what fields held of the values in ledger; see known
}

// OpenVault opens the vault at an absolute path. Its folder is created with the first value; PATH.lock beside the file locks it. The key is
// 32 random bytes and must be kept secret; see [LoadKey]. The file is bound to the owner: a copy of it cannot be opened for another owner.
// If a file was sealed with another key, belongs to another owner, or is damaged, this and all later operations return a *VaultError, and
// the file stays as it is.
func OpenVault(path string, key []byte, owner string) (*Vault, error) {
	if len(key) != keySize {
		return nil, fmt.Errorf("open the vault %q: its key has %d bytes, not %d", path, len(key), keySize)
	}
	v := &Vault{path: path, key: sealKey{append([]byte(nil), key...), owner}, maxValues: MaxVaultValues, maxBytes: MaxVaultBytes, maxRestored: MaxRestored, now: time.Now, ledger: newLedger()}
	if err := v.refresh(); err != nil {
		return nil, err
	}
	return v, nil
}

// Limit sets a function that is called before the file grows by more bytes. If it returns an error, Tokenize and TokenizeJSON return that
// error and write nothing. Limit must be called before the vault is used, and room must not use the vault.
func (v *Vault) Limit(room func(more int64) error) { v.room = room }

// Tokenize replaces the personal data in text: all of it, or only the given types. A text that is a JSON object or list is treated as JSON:
// see [Vault.TokenizeJSON]. The error is a *VaultError or a *FullError.
func (v *Vault) Tokenize(text string, types ...Type) (string, Found, error) {
	return (&Share{v: v}).Tokenize(context.Background(), text, types...)
}

// TokenizeJSON replaces the personal data in a JSON value, all of it or only the given types: in strings, in names of members, and in whole
// numbers, which become strings. Everything else stays byte for byte. JSON in a string is treated as JSON. Errors are those of Tokenize, or
// report invalid JSON.
func (v *Vault) TokenizeJSON(raw json.RawMessage, types ...Type) (json.RawMessage, Found, error) {
	return (&Share{v: v}).TokenizeJSON(context.Background(), raw, types...)
}

// Share is a vault with a limit on what may be added through it, for one of its many users, such as a run. It is safe for
// concurrent use.
type Share struct {
	// Own says that the caller has tokens in place of values, so those that the vault issued stay. It must be set before the share is used.
	Own bool

	v *Vault
	// How much may be added and how much was, guarded by the vault's mutex. If both limits are zero, there is no limit.
	values, bytes           int
	addedValues, addedBytes int
}

// Share returns a share through which at most this number of values, and this total size, may be added.
func (v *Vault) Share(values, bytes int) *Share { return &Share{v: v, values: values, bytes: bytes} }

// fits reports whether the share allows more values of this total size.
func (s *Share) fits(values, bytes int) bool {
	return s.values == 0 && s.bytes == 0 || s.addedValues+values <= s.values && s.addedBytes+bytes <= s.bytes
}

// Tokenize is [Vault.Tokenize]. Its error may also be a *ShareError. Once ctx has ended, nothing more is added to the vault, and the error
// is the context's cause.
func (s *Share) Tokenize(ctx context.Context, text string, types ...Type) (string, Found, error) {
	return s.tokenize(ctx, text, types, func(m *masker, top *span) { m.text(top, hint{}) })
}

// TokenizeJSON is [Vault.TokenizeJSON], with the limits of Tokenize.
func (s *Share) TokenizeJSON(ctx context.Context, raw json.RawMessage, types ...Type) (json.RawMessage, Found, error) {
	if !json.Valid(raw) {
		return nil, nil, errNotJSON
	}
	out, found, err := s.tokenize(ctx, string(raw), types, (*masker).json)
	if err != nil {
		return nil, nil, err
	}
	return json.RawMessage(out), found, nil
}

// tokenize masks a text with mask. Before it returns, new values are written to the file or discarded.
func (s *Share) tokenize(ctx context.Context, text string, types []Type, mask func(*masker, *span)) (out string, found Found, err error) {
	v := s.v
	v.mu.Lock()
	defer v.mu.Unlock()
	if ctx.Err() != nil {
		return "", nil, context.Cause(ctx)
	}
	if err := v.refresh(); err != nil {
		return "", nil, err
	}
	c := &change{v: v, ctx: ctx, share: s, found: Found{}}
	completed := false
	defer func() {
		if ended := c.end(completed); ended != nil {
			out, found, err = "", nil, ended
		}
	}()
	m := &masker{fields: newFields(nil), learned: v.known(), token: c.token, lookalike: c.lookalike, own: s.Own}
	if len(types) > 0 {
		m.wants = func(t Type) bool { return slices.Contains(types, t) }
	}
	d, top := newDocument(text)
	mask(m, top)
	if c.err != nil {
		return "", nil, c.err
	}
	completed = true
	return d.apply(), c.found, nil
}

// change is one operation that may add to a vault. The caller holds the vault's mutex.
type change struct {
	v       *Vault
	ctx     context.Context
	share   *Share
	found   Found
	err     error  // the first one
	unlock  func() // unlocks the file; nil while it is not locked
	changed bool   // the file must be written, also without new entries
	before  mark
}

// newChange returns a change without a limit of its own.
func newChange(v *Vault) *change {
	return &change{v: v, ctx: context.Background(), share: &Share{v: v}, found: Found{}}
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
	if !ok && c.begin() {
		l = c.v.ledger
		if e, ok = l.byToken[v.text]; !ok && !l.isForgotten(v.text) {
			e = &entry{As: asItself, Token: v.text, Value: []byte(v.text), Used: c.v.today()}
			c.fits(e.size())
			l.add(e)
		}
	}
	if c.err != nil || e != nil && e.As == asItself {
		return v.text
	}
	return c.tokenOf(entryOf(literalType, v))
}

// tokenOf returns the token of an entry, and adds the entry if it is new.
func (c *change) tokenOf(e *entry) string {
	key := e.key()
	if known, ok := c.v.ledger.byToken[c.v.ledger.byValue[key]]; ok && (known.Field || !e.Field) {
		return known.Token
	}
	if !c.begin() {
		return ""
	}
	if known, ok := c.v.ledger.byToken[c.v.ledger.byValue[key]]; ok { // another process added it, or it was only found in a text until now
		if e.Field && !known.Field {
			known.Field, c.changed = true, true
			if c.v.names != nil {
				c.v.names.learn([]*entry{known})
			}
		}
		return known.Token
	}
	if !c.fits(e.size()) {
		return ""
	}
	e.Token, e.Used = c.v.ledger.unused(e.Type), c.v.today()
	c.v.ledger.add(e)
	return e.Token
}

// begin locks the file and reads what others have added, once. It reports whether no error has occurred.
func (c *change) begin() bool {
	if c.err != nil || c.unlock != nil {
		return c.err == nil
	}
	if c.unlock, c.err = c.v.lockFile(c.ctx); c.err == nil {
		c.err = c.v.refresh()
	}
	c.before = c.v.ledger.mark()
	return c.err == nil
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
		c.err = &FullError{Path: c.v.path, Values: len(l.entries), Bytes: l.bytes}
	}
	return c.err == nil
}

// end writes the new entries to the file, or removes them if keep is false or they cannot be written.
func (c *change) end(keep bool) error {
	if c.unlock == nil {
		return nil
	}
	defer c.unlock()
	l := c.v.ledger
	if len(l.entries) == c.before.entries && !c.changed {
		return nil
	}
	if !keep {
		l.rollback(c.before)
		return nil
	}
	info, err := c.v.write(c.ctx)
	if err != nil {
		l.rollback(c.before)
		return err
	}
	c.v.info = info
	c.share.addedValues += len(l.entries) - c.before.entries
	c.share.addedBytes += l.bytes - c.before.bytes
	return nil
}
