package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcpgen/internal/syncview"
)

// TestErrorsAreDisarmed makes sync return an error that quotes a server, in each form of the report.
func TestErrorsAreDisarmed(t *testing.T) {
	for _, format := range []string{syncview.Text, syncview.JSON, syncview.GitHub} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, ".mcp.json"), []byte(`{"mcpServers":{"##[stop-commands]x":{}}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		app := &cli.App{Dir: dir, Stdout: io.Discard, Stderr: io.Discard}
		err := (&syncOptions{app: app, format: format, offline: true}).run(t.Context(), nil)
		if err == nil || strings.Contains(err.Error(), "##[") || cli.ExitCode(err, 1) != 2 {
			t.Errorf("%s: %v, exit code %d", format, err, cli.ExitCode(err, 1))
		}
	}
}
