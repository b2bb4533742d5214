package audit_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

func openSQLite(t testing.TB) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(context.Background(), filepath.Join(t.TempDir(), "state.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// BenchmarkCall measures what the record adds to a call: its intent, which is durable before the call is sent, and its end.
func BenchmarkCall(b *testing.B) {
	key, _ := createKey(b, "bench")
	for name, one := range map[string]bool{"alone": true, "parallel": false} {
		b.Run(name, func(b *testing.B) {
			l := open(b, openSQLite(b), audit.Options{Key: key, Ahead: filepath.Join(b.TempDir(), "ahead-"), Who: audit.Who{User: "ann", Customer: "acme", Session: "0001", Client: "claude", ClientVersion: "2.1"}})
			intent, end := call(1)
			record := func() {
				if err := l.Intend(b.Context(), intent); err != nil {
					b.Fatal(err)
				}
				l.Later(end)
			}
			b.ReportAllocs()
			b.SetParallelism(32)
			if one {
				for b.Loop() {
					record()
				}
			} else {
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						record()
					}
				})
			}
			b.StopTimer()
			if err := l.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// fill writes n rows in large batches.
func fill(b *testing.B, s *sqlite.Store, key *audit.Key, n int) {
	b.Helper()
	l := open(b, s, audit.Options{Key: key})
	for i := range n / 2 {
		intent, end := call(i)
		l.Later(intent)
		l.Later(end)
	}
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkVerify measures the verification of 10,000 rows.
func BenchmarkVerify(b *testing.B) {
	s := openSQLite(b)
	key, verifier := createKey(b, "bench")
	fill(b, s, key, 10_000)
	for b.Loop() {
		v, err := audit.Verify(b.Context(), s, audit.VerifyOptions{Keys: []note.Verifier{verifier}})
		if err != nil || v.Finding != nil || v.Rows != 10_000 || v.Signed != 10_000 {
			b.Fatalf("Verify() = %+v, %v", v, err)
		}
	}
}

// BenchmarkProve measures proofs in a record of 200,000 rows.
func BenchmarkProve(b *testing.B) {
	s := openSQLite(b)
	key, verifier := createKey(b, "bench")
	fill(b, s, key, 200_000)
	var proof []byte
	b.Run("make", func(b *testing.B) {
		for i := int64(0); b.Loop(); i = (i + 7919) % 200_000 {
			var err error
			if proof, err = audit.Prove(b.Context(), s, i); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("check", func(b *testing.B) {
		for b.Loop() {
			if _, err := audit.CheckProof(proof, verifier); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkHead measures what a signed head costs: with the newest one kept in a file, and without.
func BenchmarkHead(b *testing.B) {
	key, _ := createKey(b, "bench")
	for name, file := range map[string]string{"kept": filepath.Join(b.TempDir(), "bench.head"), "not kept": ""} {
		b.Run(name, func(b *testing.B) {
			s := openSQLite(b)
			fill := open(b, s, audit.Options{})
			for range 10_000 {
				_, end := call(1)
				fill.Later(end)
			}
			if err := fill.Close(); err != nil {
				b.Fatal(err)
			}
			if file != "" {
				_ = os.Remove(file)
			}
			for b.Loop() {
				l := open(b, s, audit.Options{Key: key, HeadFile: file})
				_, end := call(1)
				l.Later(end)
				if err := l.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
