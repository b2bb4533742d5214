package audit_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/store"
)

func TestProve(t *testing.T) {
	w := write(t)
	_, stranger := createKey(t, "test")
	_, other := createKey(t, "other")
	for i := range w.rows {
		proof, err := audit.Prove(t.Context(), w.memory, int64(i))
		if err != nil {
			t.Fatal(err)
		}
		got, err := audit.CheckProof(proof, w.verifier)
		if err != nil {
			t.Fatal(err)
		}
		if got.Index != int64(i) || !bytes.Equal(got.Content, w.rows[i].Content) || got.Rows != 20 || string(got.Kind) != w.rows[i].Kind || !got.Time.Equal(w.rows[i].Time) || got.Body == nil {
			t.Errorf("CheckProof() = %+v, want row %d", got, i)
		}
		if _, err := audit.CheckProof(proof, stranger); err == nil || !strings.Contains(err.Error(), "signed by the key mcprun/test+") {
			t.Errorf("CheckProof() with another key = %v", err)
		}
		if _, err := audit.CheckProof(proof, other); err == nil {
			t.Error("CheckProof() with the key of another record succeeds")
		}
		for at := range proof { // no other byte makes it a proof of something else
			changed := bytes.Clone(proof)
			changed[at] ^= 1
			if got, err := audit.CheckProof(changed, w.verifier); err == nil && (got.Index != int64(i) || !bytes.Equal(got.Content, w.rows[i].Content)) {
				t.Fatalf("CheckProof() proves row %d, %s, with a change of %q at %d of\n%s", got.Index, got.Content, proof[at], at, proof)
			}
			if i > 0 && at > 200 {
				break
			}
		}
	}
}

func TestProveRefuses(t *testing.T) {
	w := write(t)
	for name, c := range map[string]struct {
		change func(*written)
		index  int64
		want   string
	}{
		"no row":       {func(*written) {}, 20, "the record has no row 20"},
		"negative":     {func(*written) {}, -1, "the record has no row -1"},
		"no head":      {func(w *written) { w.heads = nil }, 3, "not covered by a signed head"},
		"an old head":  {func(w *written) { w.heads = w.heads[:1] }, 6, "not covered by a signed head"},
		"edited":       {func(w *written) { w.edit(3) }, 3, "was changed"},
		"hashes":       {func(w *written) { w.hashes = w.hashes[:5] }, 3, "was changed"},
		"forgotten":    {func(w *written) { w.rows[3].Content = nil }, 3, "was removed after its retention time"},
		"damaged head": {func(w *written) { w.heads[2].Text = []byte("x") }, 3, "the newest head in the store is not valid"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &written{memory: &memory{rows: append([]store.Row(nil), w.rows...), hashes: w.hashes, heads: append([]store.Head(nil), w.heads...)}}
			c.change(w)
			_, err := audit.Prove(t.Context(), w.memory, c.index)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Prove() = %v, want %s", err, c.want)
			}
			if unsigned, ok := errors.AsType[*audit.UnsignedError](err); ok && (unsigned.Hint() == "" || unsigned.Keyed != (name == "an old head")) {
				t.Errorf("Prove() = %+v", unsigned)
			}
		})
	}
}

func FuzzCheckProof(f *testing.F) {
	w := write(f)
	for _, i := range []int64{0, 7, 19} {
		proof, err := audit.Prove(f.Context(), w.memory, i)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(proof)
	}
	f.Fuzz(func(t *testing.T, proof []byte) {
		got, err := audit.CheckProof(proof, w.verifier)
		if err == nil && !bytes.Equal(got.Content, w.rows[got.Index].Content) {
			t.Errorf("CheckProof() proves %s", got.Content)
		}
	})
}
