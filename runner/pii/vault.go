package pii

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"sync"
)

const (
	// MaxVaultValues is how many values a vault holds.
	MaxVaultValues = 100_000
	// MaxVaultBytes is how many bytes its values have together.
	MaxVaultBytes = 32 << 20
	// MaxRestored is how many bytes a text or JSON can have when its tokens were turned back.
	MaxRestored = 64 << 20
)

// Found says how many pieces of each type were replaced.
type Found map[Type]int

// Vault replaces personal data by tokens such as [EMAIL_1] and turns them back into exactly what was there. What a token
// stands for is kept in one sealed file. The same value has the same token for as long as the file lives, whoever asks: a
// vault may be used by several goroutines, and its file by several processes, at once.
//
// What looks like a token and was there before is kept apart from ours: it stays as it is where no value has that token,
// and is itself replaced, by [LITERAL_1], where one has. So turning back what was tokenized once gives the same text again,
// whatever it holds.
//
// A number of JSON has a token of its own, another than the text of the same digits, and becomes a number again.
type Vault struct {
	path string
	key  sealKey
	// The bounds; tests have smaller ones.
	maxValues, maxBytes, maxRestored int

	room func(more int64) error // nil: there is always room

	mu   sync.Mutex
	kept *kept
	info fs.FileInfo // of the file that kept was read from; nil: there is none
}

// OpenVault opens the vault at an absolute path, whose folder is made with the first value; beside the file there is
// another, PATH.lock. key are 32 random bytes that nobody else has; see [LoadKey]. owner names for whom it is, and is bound to
// the file by its seal: wherever the file is copied to, nobody else opens it. A file that another key sealed, that is another
// owner's, or that is damaged, is a *VaultError, here and later, and stays as it is.
func OpenVault(path string, key []byte, owner string) (*Vault, error) {
	if len(key) != keySize {
		return nil, fmt.Errorf("open the vault %q: its key has %d bytes, not %d", path, len(key), keySize)
	}
	v := &Vault{path: path, key: sealKey{append([]byte(nil), key...), owner}, maxValues: MaxVaultValues, maxBytes: MaxVaultBytes, maxRestored: MaxRestored, kept: newKept()}
	if err := v.refresh(); err != nil {
		return nil, err
	}
	return v, nil
}

// Limit lets room be asked before the file grows by more bytes. Its error is then what Tokenize and TokenizeJSON return, and
// nothing is written. It must be called before the vault is used, and room must not use the vault.
func (v *Vault) Limit(room func(more int64) error) { v.room = room }

// Tokenize replaces what is found in text, of those types if any are named. A text that is a JSON object or list is treated
// as JSON: see [Vault.TokenizeJSON]. The error is a *VaultError, or a *FullError.
func (v *Vault) Tokenize(text string, types ...Type) (string, Found, error) {
	return (&Share{v: v}).Tokenize(context.Background(), text, types...)
}

// TokenizeJSON replaces what is found in a JSON value, of those types if any are named: in strings, in names of members,
// and whole numbers, which become strings. All else stays byte for byte. JSON in a string is treated as JSON. Errors are
// those of Tokenize, and one for what is no JSON.
func (v *Vault) TokenizeJSON(raw json.RawMessage, types ...Type) (json.RawMessage, Found, error) {
	return (&Share{v: v}).TokenizeJSON(context.Background(), raw, types...)
}

// change is one use of a vault that may add to it. The vault's mutex is held.
type change struct {
	v      *Vault
	ctx    context.Context
	share  *Share
	found  Found
	err    error  // the first
	unlock func() // of the file; nil: it is not locked
	before mark
}

// name returns the token of a value.
func (c *change) name(typ Type, value string, number bool) string {
	c.found[typ]++
	as := asText
	if number {
		as = asNumber
	}
	return c.tokenFor(typ, value, as)
}

// token returns what a text that looks like a token becomes: itself, if it stands for nothing, which is then kept.
func (c *change) token(text string) string {
	e, ok := c.v.kept.byToken[text]
	if !ok && c.begin() {
		if e, ok = c.v.kept.byToken[text]; !ok {
			e = entry{As: asItself, Token: text, Value: []byte(text)}
			c.fits(len(text))
			c.v.kept.add(e)
		}
	}
	if c.err != nil || e.As == asItself {
		return text
	}
	return c.tokenFor(literal, text, asText)
}

func (c *change) tokenFor(typ Type, value string, as form) string {
	key := valueKey(typ, value, as)
	if token, ok := c.v.kept.byValue[key]; ok {
		return token
	}
	if !c.begin() {
		return ""
	}
	if token, ok := c.v.kept.byValue[key]; ok { // of another process
		return token
	}
	if !c.fits(len(value)) {
		return ""
	}
	token := c.v.kept.free(typ)
	c.v.kept.add(entry{As: as, Type: typ, Token: token, Value: []byte(value)})
	return token
}

// begin locks the file and reads what others have added, once.
func (c *change) begin() bool {
	if c.err != nil || c.unlock != nil {
		return c.err == nil
	}
	if c.unlock, c.err = c.v.lockFile(c.ctx); c.err == nil {
		c.err = c.v.refresh()
	}
	c.before = c.v.kept.mark()
	return c.err == nil
}

// fits tells whether there is room for one value more, and somebody still waits for it.
func (c *change) fits(size int) bool {
	k := c.v.kept
	if c.err == nil && c.ctx.Err() != nil {
		c.err = context.Cause(c.ctx)
	}
	if c.err == nil && !c.share.fits(len(k.entries)-c.before.entries+1, k.bytes-c.before.bytes+size) {
		c.err = &ShareError{Values: c.share.values, Bytes: c.share.bytes}
	}
	if c.err == nil && (len(k.entries) >= c.v.maxValues || k.bytes+size > c.v.maxBytes) {
		c.err = &FullError{Path: c.v.path, Values: len(k.entries), Bytes: k.bytes}
	}
	return c.err == nil
}

// end writes what is new, or forgets it.
func (c *change) end(keep bool) error {
	if c.unlock == nil {
		return nil
	}
	defer c.unlock()
	k := c.v.kept
	if len(k.entries) == c.before.entries {
		return nil
	}
	if !keep {
		k.back(c.before)
		return nil
	}
	info, err := c.v.write(c.ctx)
	if err != nil {
		k.back(c.before)
		return err
	}
	c.v.info = info
	c.share.added += len(k.entries) - c.before.entries
	c.share.size += k.bytes - c.before.bytes
	return nil
}
