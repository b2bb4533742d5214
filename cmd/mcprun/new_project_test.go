package main

import (
	"os"
	"path/filepath"
	"testing"
)

// newProject returns the folder of a project whose configuration is trusted, the environment of its programs, and a function that writes its files.
func newProject(t *testing.T) (dir string, env []string, write func(name, text string)) {
	t.Helper()
	if err := buildMcpgen(); err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	env = append(os.Environ(), "MCPGEN_TRUST=1", "HOME="+t.TempDir(), "XDG_STATE_HOME=", "XDG_CACHE_HOME=", "CI=1")
	return dir, env, func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
