package pii

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runner/store"
)

const (
	day = 24 * time.Hour
	// useStep is the number of days after which the use of a value is noted again.
	useStep = 7
)

// today returns the days since 1970.
func (v *Vault) today() int { return int(v.now().Unix() / int64(day/time.Second)) }

// isStale reports whether the use of a value today is to be noted. The caller holds the mutex.
func (v *Vault) isStale(e *entry) bool { return v.today()-e.Used >= useStep }

// isHalfFull reports whether the vault holds half of what it may, so that no value is added that was not shown.
func (v *Vault) isHalfFull() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.ledger.entries) >= v.maxValues/2 || v.ledger.bytes >= v.maxBytes/2
}

// keep gives tokens to new values, to the extent that they fit, and notes the use of tokens. It writes once.
func (v *Vault) keep(entries []*entry, used []string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	c := newChange(context.Background(), v, &Share{v: v})
	defer c.discard()
	for _, token := range used {
		if e, ok := v.ledger.byToken[token]; ok && v.isStale(e) {
			c.note(e, note{Used: v.today()})
		}
	}
	for _, e := range entries {
		if c.tokenOf(e) == "" {
			break
		}
	}
	if _, err := c.end(true); err != nil { // also if the vault is full: what fitted has tokens
		return err
	}
	return c.err
}

// held returns the token of a value that a field holds, and whether its use is to be noted. The token is "" if there is no vault, if it has no
// token for the value, or does not know yet that a field held it.
func (v *Vault) held(e *entry) (token string, isStale bool) {
	if v == nil {
		return "", false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	known, ok := v.ledger.byToken[v.ledger.byValue[e.key()]]
	if !ok || !known.Field {
		return "", false
	}
	return known.Token, v.isStale(known)
}

// learned is known, with the mutex.
func (v *Vault) learned() *learned {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.known()
}

// Forget selects values: those that are named, those of types, or all; with Unused only those of them that were not used for that long.
type Forget struct {
	Values []string // as they are, or their tokens
	Types  []Type
	All    bool
	// Unused is the time since a value was last masked or restored. This is noted once a week, so some are kept for a week longer.
	Unused time.Duration
}

func (f *Forget) selects(e *entry, today int) bool {
	if f.Unused > 0 && time.Duration(today-e.Used-useStep)*day < f.Unused {
		return false
	}
	return f.All || slices.Contains(f.Types, e.Type) || e.As != asItself && (slices.Contains(f.Values, string(e.Value)) || slices.Contains(f.Values, e.Token))
}

// Forget removes values from the vault, and returns how many. Their tokens are unknown from then on, and stand for no other value later. The
// error is a *VaultError, or the context's cause.
func (v *Vault) Forget(ctx context.Context, f Forget) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for {
		if err := v.refresh(ctx); err != nil {
			return 0, err
		}
		n, err := v.forget(ctx, f)
		if !errors.Is(err, store.ErrConflict) {
			return n, err
		}
	}
}

// forget is one attempt of Forget. It writes the log again without the values.
func (v *Vault) forget(ctx context.Context, f Forget) (int, error) {
	c := newChange(ctx, v, &Share{v: v})
	defer c.discard()
	kept, today, n := newLedger(), v.today(), 0
	for _, e := range v.ledger.entries {
		if e.Used == 0 { // an older program wrote it
			c.note(e, note{Used: today})
		}
		if !f.selects(e, today) {
			kept.add(e)
		} else if e.As != asItself {
			n++
		}
	}
	if len(kept.entries) == len(v.ledger.entries) {
		_, err := c.end(false)
		return 0, err
	}
	kept.last = maps.Clone(v.ledger.last)
	if err := v.write(ctx, wholeOf(kept, v.moved)); err != nil {
		return 0, err
	}
	c.noted, v.ledger = nil, kept
	c.before = kept.mark()
	return n, nil
}

// isForgotten reports whether a token stood for a value.
func (l *ledger) isForgotten(token string) bool {
	_, ok := l.byToken[token]
	typ, n := numberOf(token)
	return !ok && n > 0 && n <= l.last[typ]
}

// numberOf returns the type and the number of a token. The number is 0 if the token has none.
func numberOf(token string) (Type, int) {
	name := strings.Trim(token, "[]")
	i := strings.LastIndexByte(name, '_')
	n, err := strconv.Atoi(name[i+1:])
	if i < 0 || err != nil {
		return Type(name), 0
	}
	return Type(name[:i]), n
}
