package catalog

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPhrases(t *testing.T) {
	dir := t.TempDir()
	if got, err := ReadPhrases(filepath.Join(dir, "none")); err != nil || len(got) != 0 {
		t.Errorf("ReadPhrases of no tree = %v, %v, want len(got) 0 and no error", got, err)
	}
	if err := os.Mkdir(filepath.Join(dir, MetaDir), 0o755); err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]Phrases{"a/b": {"x": {Of: "sha256:00", Phrases: []string{"say <it>", "hid\u202eden"}}}}
	for range 2 { // the second replaces the first
		if err := WritePhrases(dir, want); err != nil {
			t.Fatal(err)
		}
	}
	got, err := ReadPhrases(dir)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("ReadPhrases() (-want +got): %s %v", diff, err)
	}
	file := filepath.Join(dir, filepath.FromSlash(PhrasesPath))
	if b, err := os.ReadFile(file); err != nil || !strings.Contains(string(b), `hid\u202eden`) {
		t.Errorf("a hidden character is not escaped: %s, %v, want %q in it and no error", b, err, `hid\u202eden`)
	}
	if entries, err := os.ReadDir(filepath.Dir(file)); err != nil || len(entries) != 1 {
		t.Errorf("files: %v, %v, want the phrases alone", entries, err)
	}
	for name, text := range map[string]string{"cut off": `{"a": {`, "other form": `{"a": {"x": ["y"]}}`, "conflict": "<<<<<<< HEAD\n{}"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var bad *PhrasesError
		if _, err := ReadPhrases(dir); !errors.As(err, &bad) {
			t.Errorf("%s: ReadPhrases() = %v, want a *PhrasesError", name, err)
		}
	}
}

// TestPhrasesThroughLink checks that neither reading nor writing follows a link out of the tree.
func TestPhrasesThroughLink(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "own.json")
	if err := os.WriteFile(outside, []byte(`{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, MetaDir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, filepath.FromSlash(PhrasesPath))); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadPhrases(dir); err == nil {
		t.Errorf("ReadPhrases() = %v through a link, want an error", got)
	}
	if err := WritePhrases(dir, nil); err == nil {
		t.Error("WritePhrases() replaced a link: got no error, want an error")
	}
	if b, err := os.ReadFile(outside); err != nil || string(b) != "{}" {
		t.Errorf(`the file outside: %q, %v, want "{}" and no error`, b, err)
	}
}
