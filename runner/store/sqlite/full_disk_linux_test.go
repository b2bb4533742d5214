package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/storetest"
)

// TestFullDisk fills a disk, checks that nothing is half written, and goes on when there is room.
func TestFullDisk(t *testing.T) {
	if os.Getuid() != 0 {
		t.Fatal("mounting a small disk needs root")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 600<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := openPath(t.Context(), filepath.Join(dir, "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	written := int64(0)
	for err == nil && written < 100_000 {
		if _, err = storetest.Append(t.Context(), s, store.Row{Kind: "call", Run: "run-1"}); err == nil {
			written++
		}
	}
	if !errors.Is(err, store.ErrFull) {
		t.Fatalf("Extend() on a full disk = %v after %d rows, want ErrFull", err, written)
	}
	if size := storetest.Check(t, s); size != written {
		t.Errorf("%d rows on a full disk, want %d", size, written)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if _, err := storetest.Append(t.Context(), s, store.Row{Kind: "call"}); err != nil {
		t.Errorf("Extend() with room again = %v", err)
	}
	storetest.Check(t, s)
}
