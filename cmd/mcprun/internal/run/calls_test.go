package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/runner/chain"
)

// TestRecordingIsMadeAnew checks that a recording is readable only for its owner, and never written through a link.
func TestRecordingIsMadeAnew(t *testing.T) {
	dir := t.TempDir()
	old, link, other := filepath.Join(dir, "old"), filepath.Join(dir, "link"), filepath.Join(dir, "other")
	for _, path := range []string{old, other} {
		if err := os.WriteFile(path, []byte("before"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(other, link); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{old: "", filepath.Join(dir, "new"): "", link: "not a regular file", dir: "not a regular file", filepath.Join(dir, "no", "folder"): "no such file"} {
		var s chain.Settings
		open, err := (&callFlags{record: path}).openFiles(&cli.App{}, &s)
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want %q", path, err, want)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Record.Write([]byte("line\n")); err != nil {
			t.Fatal(err)
		}
		if err := open.Close(); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 || info.Size() != 5 {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	if text, err := os.ReadFile(other); err != nil || string(text) != "before" {
		t.Errorf(`what the link led to: %q, %v, want "before" and no error`, text, err)
	}
}
