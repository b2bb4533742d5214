package packages

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkOpen opens a set of 8,000 files in 400 folders, about as many as numpy and pandas have: in a process that knows it, and in a new one.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	for i := range 8000 {
		write(b, filepath.Join(dir, "python3.11", fmt.Sprintf("package_%d/sub_%d/module_%d.py", i%20, i%400, i)), "x")
	}
	if err := (&manifest{}).seal(dir); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = removeAll(filepath.Join(dir, "python3.11")); _ = os.Remove(dir) })
	for name, forget := range map[string]bool{"Known": false, "New": true} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if forget {
					sets.Delete(dir)
				}
				if _, err := openDir(dir); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
