package seal

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"testing"

	"github.com/mcpgen/mcpgen/runner/store"
)

var testSecret = bytes.Repeat([]byte{7}, 32)

func newSealer(t *testing.T, secret, salt []byte, purpose string) *Sealer {
	t.Helper()
	s, err := New(secret, salt, purpose)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func Example() {
	s, err := New([]byte("the secret of a user"), nil, "notes 1")
	if err != nil {
		panic(err)
	}
	sealed := s.Seal([]byte("buy milk"), At(store.Key{Customer: "ann", Kind: "note", Name: "1"}))
	plain, err := s.Open(sealed, At(store.Key{Customer: "ann", Kind: "note", Name: "1"}))
	fmt.Printf("%s %v\n", plain, err)
	_, err = s.Open(sealed, At(store.Key{Customer: "bob", Kind: "note", Name: "1"}))
	fmt.Println(err)
	// Output:
	// buy milk <nil>
	// it was sealed with another key or for another place, or is damaged
}

func TestOpen(t *testing.T) {
	place := Place("ann", "note", "1")
	s := newSealer(t, testSecret, nil, "notes 1")
	sealed := s.Seal([]byte("text"), place)
	for name, c := range map[string]struct {
		by     *Sealer
		sealed []byte
		place  []byte
	}{
		"another secret":  {newSealer(t, bytes.Repeat([]byte{8}, 32), nil, "notes 1"), sealed, place},
		"another salt":    {newSealer(t, testSecret, []byte("salt"), "notes 1"), sealed, place},
		"another purpose": {newSealer(t, testSecret, nil, "notes 2"), sealed, place},
		"another place":   {s, sealed, Place("ann", "note", "2")},
		"no place":        {s, sealed, nil},
		"longer":          {s, append(bytes.Clone(sealed), 0), place},
	} {
		if plain, err := c.by.Open(c.sealed, c.place); !errors.Is(err, ErrForeign) || plain != nil {
			t.Errorf("%s: Open() = %q, %v, want ErrForeign", name, plain, err)
		}
	}
	for i := range sealed {
		if _, err := s.Open(sealed[:i], place); !errors.Is(err, ErrForeign) {
			t.Errorf("the first %d bytes: Open() = %v, want ErrForeign", i, err)
		}
		changed := bytes.Clone(sealed)
		changed[i] ^= 1
		if _, err := s.Open(changed, place); !errors.Is(err, ErrForeign) {
			t.Errorf("byte %d changed: Open() = %v, want ErrForeign", i, err)
		}
	}
	for _, plain := range []string{"text", ""} {
		one, two := s.Seal([]byte(plain), place), s.Seal([]byte(plain), place)
		if bytes.Equal(one, two) || len(one) != len(plain)+28 {
			t.Errorf("Seal(%q) = %x and %x, want two of %d bytes", plain, one, two, len(plain)+28)
		}
		if got, err := newSealer(t, testSecret, nil, "notes 1").Open(one, place); err != nil || string(got) != plain {
			t.Errorf("Open() = %q, %v, want %q", got, err, plain)
		}
	}
}

func TestShortSecret(t *testing.T) {
	for n := range 16 {
		if _, err := New(testSecret[:n], nil, "notes 1"); err == nil {
			t.Errorf("New() took a secret of %d bytes", n)
		}
	}
	newSealer(t, testSecret[:16], nil, "notes 1")
}

// TestFormat opens what this version has sealed, so that later ones do too.
func TestFormat(t *testing.T) {
	sealed, err := hex.DecodeString("2f557d42eee43904a6140865a081c42715876460f408cc129ae8817fbc6b1526")
	if err != nil {
		t.Fatal(err)
	}
	got, err := newSealer(t, testSecret, []byte("salt"), "notes 1").Open(sealed, Place("ann", "", "note"))
	if err != nil || string(got) != "text" {
		t.Errorf("Open() = %q, %v, want text", got, err)
	}
}

func TestPlace(t *testing.T) {
	seen := map[string][]string{}
	for _, names := range [][]string{{}, {""}, {"", ""}, {"a", "b"}, {"ab"}, {"ab", ""}, {"", "ab"}, {"a1:b"}, {"a\x00b"}, {"a", "\x00b"}, {"1:a"}, {"a", "a"}} {
		place := string(Place(names...))
		if other, ok := seen[place]; ok {
			t.Errorf("Place(%q) = Place(%q) = %q", names, other, place)
		}
		seen[place] = names
	}
}
