package pii

import (
	"context"
	"encoding/json"
)

const (
	// RunValues and RunBytes are what one run may add to a vault, a quarter of what the vault holds.
	RunValues = MaxVaultValues / 4
	RunBytes  = MaxVaultBytes / 4
)

// Share is a vault in the hands of somebody who may add only so much to it, such as one run: the vault is there for many. It
// may be used by several goroutines at once.
type Share struct {
	v *Vault
	// What may be added, and what was; under the vault's mutex. No values and no bytes: as much as the vault holds.
	values, bytes int
	added, size   int
}

// Share lets so many values, of so many bytes together, be added to the vault.
func (v *Vault) Share(values, bytes int) *Share { return &Share{v: v, values: values, bytes: bytes} }

// fits tells whether so many values more may be added, of so many bytes.
func (s *Share) fits(values, bytes int) bool {
	return s.values == 0 && s.bytes == 0 || s.added+values <= s.values && s.size+bytes <= s.bytes
}

// Tokenize is [Vault.Tokenize]. Its error may be a *ShareError too. When ctx has ended nothing is added to the vault any more,
// and the error is the cause.
func (s *Share) Tokenize(ctx context.Context, text string, types ...Type) (string, Found, error) {
	var out string
	found, err := s.tokenize(ctx, types, func(m *masker) {
		top := jsonMasker{masker: m}
		out = apply(text, top.value(text))
	})
	if err != nil {
		return "", nil, err
	}
	return out, found, nil
}

// TokenizeJSON is [Vault.TokenizeJSON], with the bounds of Tokenize.
func (s *Share) TokenizeJSON(ctx context.Context, raw json.RawMessage, types ...Type) (json.RawMessage, Found, error) {
	if !json.Valid(raw) {
		return nil, nil, errNotJSON
	}
	var out json.RawMessage
	found, err := s.tokenize(ctx, types, func(m *masker) {
		top := jsonMasker{masker: m, s: string(raw)}
		out = top.mask(raw)
	})
	if err != nil {
		return nil, nil, err
	}
	return out, found, nil
}

// tokenize lets mask work with a masker that knows what is kept. What is new is written down before tokenize returns, or
// not known afterwards either.
func (s *Share) tokenize(ctx context.Context, types []Type, mask func(*masker)) (found Found, err error) {
	v := s.v
	v.mu.Lock()
	defer v.mu.Unlock()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := v.refresh(); err != nil {
		return nil, err
	}
	c := &change{v: v, ctx: ctx, share: s, found: Found{}}
	defer func() {
		if ended := c.end(err == nil); err == nil {
			err = ended
		}
	}()
	m := &masker{name: c.name, token: c.token}
	if len(types) > 0 {
		wanted := make(map[Type]bool, len(types))
		for _, t := range types {
			wanted[t] = true
		}
		m.wants = func(t Type) bool { return wanted[t] }
	}
	mask(m)
	return c.found, c.err
}
