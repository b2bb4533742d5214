package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner"
)

// TestHostileFileNames checks that a file's name cannot forge a line of a message.
func TestHostileFileNames(t *testing.T) {
	dir := t.TempDir()
	const name = "a\nmcprun: all is well \x1b[31m\u202e.ts"
	if err := os.WriteFile(filepath.Join(dir, name), []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	var src runner.Script
	if err := FromFile(&src, filepath.Join(dir, name), ""); err != nil {
		t.Fatal(err)
	}
	if want := `a\nmcprun: all is well \x1b[31m\u202e.ts`; src.Name != want {
		t.Errorf("Name = %q, want %q", src.Name, want)
	}
	if err := FromFile(&src, filepath.Join(dir, name+".bad"), ""); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %q, want one line", err)
	}
}
