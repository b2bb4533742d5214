package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

// BenchmarkExtend measures adding rows of 400 bytes, in transactions of one and of ten.
func BenchmarkExtend(b *testing.B) {
	for _, n := range []int64{1, 10} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "state.db"), sqlite.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			content := make([]byte, 400)
			now := time.Now()
			for b.Loop() {
				err := s.Extend(b.Context(), func(size int64, _ tlog.HashReader) (add store.Addition, err error) {
					for i := size; i < size+n; i++ {
						add.Rows = append(add.Rows, store.Row{Index: i, Time: now, Kind: "call", Run: "run-x", Content: content})
					}
					add.Hashes = make([]tlog.Hash, tlog.StoredHashCount(size+n)-tlog.StoredHashCount(size))
					return add, nil
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(int64(b.N)*n), "ns/row")
		})
	}
}
