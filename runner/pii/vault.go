package pii

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runner/store"
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

// Vault replaces personal data by tokens such as [EMAIL_1] and restores it exactly. An encrypted log in a store holds what the tokens stand
// for. The same value has the same token for as long as the log exists, for every user: several goroutines may use a vault, and several
// processes and machines its log, at once.
//
// A text that already looks like a token stays as it is while no value has that token; if a value has it, the text is itself replaced, by
// [LITERAL_1] for example. So text that was tokenized once is restored exactly.
//
// In JSON, a number has a token of its own, different from that of the text with the same digits, and is restored as a number. A value
// written with unusual escapes also has its own token, and its escapes are restored.
type Vault struct {
	store store.Store
	log   store.Key
	place string // for people
	key   sealKey
	seal  *sealer
	// Limits; tests set smaller ones.
	maxValues, maxBytes, maxRestored int

	room func(more int64) error // nil means no limit
	now  func() time.Time

	mu sync.Mutex
	contents
	names *learned // what fields held of the values in ledger; see known
}

// OpenVault opens the vault of a customer in a store, or that of the project if customer is empty. The key is 32 random bytes and must be
// kept secret; see [LoadKey]. The vault is bound to the owner: a copy of its log cannot be opened for another owner. If a line of the log was
// sealed with another key, belongs to another owner, is damaged, or is not where it was written, this and all later operations return a
// *VaultError, and the log stays as it is. Lines that are missing at its end are not noticed, nor is an older copy of all of them.
func OpenVault(ctx context.Context, s store.Store, customer string, key []byte, owner string) (*Vault, error) {
	v := &Vault{store: s, log: store.Key{Customer: customer, Kind: logKind}, place: s.Place(), key: sealKey{append([]byte(nil), key...), owner},
		maxValues: MaxVaultValues, maxBytes: MaxVaultBytes, maxRestored: MaxRestored, now: time.Now, contents: contents{ledger: newLedger()}}
	if customer != "" {
		v.place += ", customer " + customer
	}
	if len(key) != keySize {
		return nil, fmt.Errorf("open the vault in %q: its key has %d bytes, not %d", v.place, len(key), keySize)
	}
	var err error
	if v.seal, err = newSealer(v.key); err != nil {
		return nil, err
	}
	if err := v.refresh(ctx); err != nil {
		return nil, err
	}
	return v, nil
}

// Limit sets a function that is called before the vault's size grows by more bytes. If it returns an error, Tokenize and TokenizeJSON return
// that error and write nothing. Limit must be called before the vault is used, and room must not use the vault.
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

// tokenize masks a text with mask. Before it returns, new values are written to the log or discarded.
func (s *Share) tokenize(ctx context.Context, text string, types []Type, mask func(*masker, *span)) (out string, found Found, err error) {
	s.v.mu.Lock()
	defer s.v.mu.Unlock()
	for again := true; again; {
		if out, found, again, err = s.try(ctx, text, types, mask); err != nil {
			return "", nil, err
		}
	}
	return out, found, nil
}

// try is one attempt of tokenize. again says that another is needed, because others have written, and values may have other tokens. They
// are in the vault then, so that the next attempt finds them however much others write.
func (s *Share) try(ctx context.Context, text string, types []Type, mask func(*masker, *span)) (out string, found Found, again bool, err error) {
	v := s.v
	if ctx.Err() != nil {
		return "", nil, false, context.Cause(ctx)
	}
	if err := v.refresh(ctx); err != nil {
		return "", nil, false, err
	}
	c := newChange(ctx, v, s)
	defer c.discard() // what was not written
	m := &masker{fields: newFields(nil), learned: v.known(), token: c.token, lookalike: c.lookalike, own: s.Own}
	if len(types) > 0 {
		m.wants = func(t Type) bool { return slices.Contains(types, t) }
	}
	d, top := newDocument(text)
	mask(m, top)
	if c.err != nil {
		return "", nil, false, c.err
	}
	if again, err = c.end(false); err != nil || again {
		return "", nil, again, err
	}
	return d.apply(), c.found, false, nil
}
