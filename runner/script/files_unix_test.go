//go:build unix

package script

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestPipeInPlaceOfAModule: opening one waits for somebody to write into it, which nobody does.
func TestPipeInPlaceOfAModule(t *testing.T) {
	dir, opt := world(t, map[string]string{"a.json": "{}"})
	f := newFiles(Source{Name: "script.ts", Dir: dir})
	defer f.close()
	if err := f.open(dir, opt); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, "a.json")
	if err := os.Remove(at); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(at, 0o644); err != nil {
		t.Fatal(err)
	}
	if text, err := f.text(scriptNamespace, "a.json"); err == nil {
		t.Errorf("read %q: got no error, want an error", text)
	}
	p := &pythonFiles{root: f.script}
	if text, there, _ := p.read("a.json"); there || text != nil {
		t.Errorf("for Python: read %q", text)
	}
}
