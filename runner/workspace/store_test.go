package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestStore(t *testing.T) {
	dir := t.TempDir()
	s := NewStore(dir, 100)
	at, err := s.Put("results", "a.json", []byte(`{"a":1}`))
	if err != nil || at != ".mcprun/results/a.json" {
		t.Fatalf(`Put() = %q, %v, want ".mcprun/results/a.json" and no error`, at, err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, at)); err != nil || string(got) != `{"a":1}` {
		t.Errorf("%s %v, want %q and no error", got, err, `{"a":1}`)
	}
	if _, err := s.Put("results", "a.json", nil); err == nil {
		t.Error("Put() overwrote a file: got no error, want an error")
	}
	if _, err := s.Put("results", "b.json", make([]byte, 94)); !errors.Is(err, ErrNoRoom) {
		t.Errorf("Put() of 94 bytes with room for 93 = %v, want ErrNoRoom", err)
	}
	if _, err := os.Stat(filepath.Join(dir, ".mcprun/results/b.json")); err == nil {
		t.Error("a failed Put() left a part of a file: got no error, want an error")
	}
	if got := s.Made(); len(got) != 1 || got[0] != at {
		t.Errorf("Made() = %q, want len(got) 1 and got[0] %v", got, at)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestStoreFollowsNoLink plants links where the host is about to write, as a script can.
func TestStoreFollowsNoLink(t *testing.T) {
	for _, link := range []string{".mcprun", ".mcprun/results", ".mcprun/results/a.json"} {
		dir, outside := t.TempDir(), t.TempDir()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, link)), 0o755); err != nil {
			t.Fatal(err)
		}
		target := outside
		if filepath.Ext(link) != "" {
			target = filepath.Join(outside, "made")
		}
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
		s := NewStore(dir, 100)
		if at, err := s.Put("results", "a.json", []byte("x")); err == nil {
			t.Errorf("Put() through %s = %s, want an error", link, at)
		}
		if entries, _ := os.ReadDir(outside); len(entries) > 0 {
			t.Errorf("Put() through %s wrote outside the workspace: got %v, want at most 0", link, len(entries))
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestStoreKeepsOffTheTree plants links to the generated tree, which may be in the workspace but is read-only for scripts.
func TestStoreKeepsOffTheTree(t *testing.T) {
	old := time.Now().Add(-2 * keptTime)
	for link, target := range map[string]string{".mcprun": "servers", ".mcprun/results": "../servers/results"} {
		dir := t.TempDir()
		for i := range keptFiles + 3 {
			name := filepath.Join(dir, "servers", "results", fmt.Sprintf("%04d.ts", i))
			write(t, name, "x")
			if err := os.Chtimes(name, old, old); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, link)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
		s := NewStore(dir, 100)
		if at, err := s.Put("results", "a.json", []byte("x")); err == nil {
			t.Errorf("Put() through %s = %s, want an error", link, at)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if entries, err := os.ReadDir(filepath.Join(dir, "servers", "results")); len(entries) != keptFiles+3 {
			t.Errorf("through %s: %d files of the tree, want %d, %v", link, len(entries), keptFiles+3, err)
		}
	}
}

func TestStorePrunes(t *testing.T) {
	dir := t.TempDir()
	results := filepath.Join(dir, StoreDir, "results")
	old := time.Now().Add(-2 * keptTime)
	for i := range keptFiles + 3 {
		name := filepath.Join(results, fmt.Sprintf("%04d.json", i))
		write(t, name, "x")
		if err := os.Chtimes(name, old, old.Add(time.Duration(i)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(results, "young.json"), "x")
	write(t, filepath.Join(dir, "mine.txt"), string(bytes.Repeat([]byte("x"), 10)))
	s := NewStore(dir, 100)
	defer s.Close()
	if _, err := s.Put("output", "o.txt", []byte("x")); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(results)
	if err != nil || len(entries) != keptFiles+1 || entries[0].Name() != "0003.json" {
		t.Errorf("%d files, the first %v, %v", len(entries), entries[0], err)
	}
	if _, err := os.Stat(filepath.Join(dir, "mine.txt")); err != nil {
		t.Error(err)
	}
}

// TestRelieve checks that the oldest results are removed first, and that recent ones and other files are kept.
func TestRelieve(t *testing.T) {
	dir := t.TempDir()
	results := filepath.Join(dir, StoreDir, "results")
	for name, age := range map[string]time.Duration{"a": 4 * minKeptTime, "b": 3 * minKeptTime, "c": 2 * minKeptTime, "young": 0} {
		file := filepath.Join(results, name+".json")
		write(t, file, strings.Repeat("x", 100))
		if err := os.Chtimes(file, time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, "mine.txt"), strings.Repeat("x", 100))
	s := NewStore(dir, 0)
	defer s.Close()
	left := func() (names []string) {
		entries, err := os.ReadDir(results)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, strings.TrimSuffix(e.Name(), ".json"))
		}
		return names
	}
	s.Relieve(101)
	if got := left(); !slices.Equal(got, []string{"c", "young"}) {
		t.Errorf("Relieve() left %v", got)
	}
	if _, err := s.Put("results", "new.json", make([]byte, 200)); err != nil {
		t.Errorf("Put() after Relieve() = %v", err)
	}
	s.Relieve(1 << 40)
	if got := left(); !slices.Equal(got, []string{"new", "young"}) {
		t.Errorf("Relieve() left %v", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "mine.txt")); err != nil {
		t.Error(err)
	}
	NewStore(t.TempDir(), 0).Relieve(1) // nothing was ever stored
}
