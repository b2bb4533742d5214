//go:build !windows && !darwin

package cli

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// On other systems the system itself finds the browser.
func TestOpenBrowser(t *testing.T) {
	bin := t.TempDir()
	said := filepath.Join(bin, "said")
	if err := os.WriteFile(filepath.Join(bin, "xdg-open"), []byte("#!/bin/sh\nprintf %s \"$1\" >"+said+".tmp && mv "+said+".tmp "+said+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	env := map[string]string{}
	app := &App{LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
	if app.OpenBrowser(t.Context(), "https://example.test/") {
		t.Error("a browser is opened where there is no display")
	}
	env["DISPLAY"] = ":0"
	if !app.OpenBrowser(t.Context(), "https://example.test/?a=$(b)&c='d'") {
		t.Fatal("no browser")
	}
	var text []byte
	for end := time.Now().Add(time.Minute); text == nil && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		text, _ = os.ReadFile(said)
	}
	if string(text) != "https://example.test/?a=$(b)&c='d'" {
		t.Errorf(`opened %q, want "https://example.test/?a=$(b)&c='d'"`, text)
	}
	t.Setenv("PATH", filepath.Join(bin, "nothing"))
	if app.OpenBrowser(t.Context(), "https://example.test/") {
		t.Error("a browser is opened without one")
	}
}
