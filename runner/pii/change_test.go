package pii

import (
	"context"
	"errors"
	"testing"

	"github.com/mcpgen/mcpgen/runner/store"
)

// slowStore lets others write once, before the next line is written.
type slowStore struct {
	store.Store
	others func()
}

func (s *slowStore) wait() {
	if do := s.others; do != nil {
		s.others = nil
		do()
	}
}

func (s *slowStore) AppendLineAt(ctx context.Context, k store.Key, number int64, value []byte) error {
	s.wait()
	return s.Store.AppendLineAt(ctx, k, number, value)
}

func (s *slowStore) ReplaceLines(ctx context.Context, k store.Key, number int64, value []byte) error {
	s.wait()
	return s.Store.ReplaceLines(ctx, k, number, value)
}

func meanwhile(v *Vault, write func()) {
	if slow, ok := v.store.(*slowStore); ok {
		slow.others = write
		return
	}
	v.store = &slowStore{v.store, write}
}

// TestOthersWriteFirst: a change that others were faster than is made again on what they have written.
func TestOthersWriteFirst(t *testing.T) {
	v := newVault(t)
	mustTokenize(t, v, "call +1 212-555-0123") // which no field holds yet
	other := reopen(t, v)
	s := v.Share(3, 1000)
	tokenize := func(text, want string) {
		t.Helper()
		got, found, err := s.Tokenize(t.Context(), text)
		if err != nil || got != want {
			t.Errorf("Tokenize(%s) = %s, %v, want %s", text, got, err, want)
		}
		if len(found) == 0 {
			t.Errorf("Tokenize(%s) found nothing", text)
		}
		for _, v := range []*Vault{v, other, reopen(t, v)} {
			if back, err := v.Restore(got); err != nil || back != text {
				t.Errorf("Restore(%s) = %s, %v, want %s", got, back, err, text)
			}
		}
	}
	meanwhile(v, func() { mustTokenize(t, other, "bob@example.com [EMAIL_5] carl@example.com") })
	tokenize("ann@example.com [EMAIL_5] [EMAIL_2]", "[EMAIL_3] [EMAIL_5] [LITERAL_1]")
	meanwhile(v, func() { mustTokenize(t, other, "dora@example.com") })
	tokenize("dora@example.com", "[EMAIL_4]") // it is theirs now
	meanwhile(v, func() { mustTokenize(t, other, "emil@example.com") })
	tokenize(`{"phone":"+1 212-555-0123"}`, `{"phone":"[PHONE_1]"}`)
	if again := reopen(t, v); !again.ledger.byToken["[PHONE_1]"].Field {
		t.Error("that a field held the number was not written")
	}
	// Each counts once towards the share: ann@example.com and [EMAIL_2].
	tokenize("fred@example.com", "[EMAIL_7]")
	if _, _, err := s.Tokenize(t.Context(), "gert@example.com"); err == nil {
		t.Error("a fourth value: got no error, want a *ShareError")
	}

	meanwhile(v, func() { mustTokenize(t, other, "gert@example.com") })
	if n, err := v.Forget(t.Context(), Forget{Values: []string{"gert@example.com", "ann@example.com"}}); n != 2 || err != nil {
		t.Errorf("Forget() = %d, %v beside others, want 2", n, err)
	}
	if got, err := other.Restore("[EMAIL_3] [EMAIL_8] [EMAIL_7]"); err != nil || got != "[EMAIL_3] [EMAIL_8] fred@example.com" {
		t.Errorf("Restore() = %s, %v, want that two are forgotten", got, err)
	}
}

// TestOthersFillTheVault checks what becomes of a change when others have filled the vault meanwhile.
func TestOthersFillTheVault(t *testing.T) {
	v := newVault(t)
	mustTokenize(t, v, "ann@example.com")
	other := reopen(t, v)
	v.maxValues = 3
	meanwhile(v, func() { mustTokenize(t, other, "bob@example.com") })
	if out, _, err := v.Tokenize("carl@example.com dora@example.com"); err == nil {
		t.Errorf("Tokenize() = %s in a full vault, want an error", out)
	}
	if n := len(reopen(t, v).ledger.entries); n != 2 {
		t.Errorf("the vault has %d values, want 2", n)
	}
	v.maxValues = 4
	meanwhile(v, func() { mustTokenize(t, other, "emil@example.com") })
	err := v.keep([]*entry{{Type: "EMAIL", Value: []byte("fred@example.com")}, {Type: "EMAIL", Value: []byte("gert@example.com")}}, nil)
	if _, ok := errors.AsType[*FullError](err); !ok {
		t.Errorf("keep() = %v, want a *FullError", err)
	}
	if got, err := reopen(t, v).Restore("[EMAIL_4] [EMAIL_5]"); err != nil || got != "fred@example.com [EMAIL_5]" {
		t.Errorf("Restore() = %s, %v, want what fitted", got, err)
	}
}
