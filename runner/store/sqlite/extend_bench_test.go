package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

// BenchmarkExtend measures adding rows of 400 bytes, one by one.
func BenchmarkExtend(b *testing.B) {
	s, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "state.db"), sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	content := make([]byte, 400)
	now := time.Now()
	for b.Loop() {
		err := s.Extend(b.Context(), func(size int64, _ tlog.HashReader) (store.Addition, error) {
			n := tlog.StoredHashCount(size+1) - tlog.StoredHashCount(size)
			return store.Addition{Rows: []store.Row{{Index: size, Time: now, Kind: "call", Run: "run-x", Content: content}}, Hashes: make([]tlog.Hash, n)}, nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
