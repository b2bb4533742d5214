package mcpserver

import (
	"bytes"
	"errors"
	"testing"

	"github.com/mcpgen/mcpgen/runner/internal/seal"
	"github.com/mcpgen/mcpgen/runner/store"
)

// TestMovedWork: what is kept of a call cannot be read as what is kept of another one.
func TestMovedWork(t *testing.T) {
	sealer, err := seal.New(bytes.Repeat([]byte{7}, 32), nil, sealing)
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{sealer: sealer}
	kept, err := s.seal(workKey(kindResult, "ann", "1"), "text")
	if err != nil {
		t.Fatal(err)
	}
	var got string
	if err := s.unseal(workKey(kindResult, "ann", "1"), kept, &got); err != nil || got != "text" {
		t.Errorf("unseal() = %q, %v, want text", got, err)
	}
	for _, key := range []store.Key{workKey(kindResult, "bob", "1"), workKey(kindResult, "ann", "2"), workKey(workKind, "ann", "1"), workKey(kindTask, "ann", "1")} {
		if err := s.unseal(key, kept, &got); !errors.Is(err, seal.ErrForeign) {
			t.Errorf("unseal() for %v = %v, want ErrForeign", key, err)
		}
	}
}
