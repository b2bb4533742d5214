package main

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen"
)

// TestNoCommandInDebug has a server that talks to GitHub's runner, as --debug passes it on.
func TestNoCommandInDebug(t *testing.T) {
	var out strings.Builder
	w := inert{&out}
	said := []byte("##[error]a ##[stop-commands]b\n::error::c\n")
	if n, err := cli.Prefixed(w)("crm").Write(said); n != len(said) || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	slog.New(slog.NewTextHandler(w, nil)).Info("it said", "line", "x ##[add-mask]y")
	failed := disarmedError{&gen.AlteredError{Server: "crm", File: "f", Err: errors.New("its last words: ##[error]z")}}
	if cli.ExitCode(failed, 1) != 2 || len(cli.Hints(failed)) == 0 {
		t.Errorf("exit code %d, hints %q", cli.ExitCode(failed, 1), cli.Hints(failed))
	}
	out.WriteString("mcpgen: " + failed.Error() + "\n")
	for line := range strings.Lines(out.String()) {
		if strings.Contains(line, "##[") || strings.HasPrefix(strings.TrimSpace(line), "::") {
			t.Errorf("%q is a command", line)
		}
	}
}

// TestNoCommandInJSON has the same in the report for programs, which read what was said.
func TestNoCommandInJSON(t *testing.T) {
	var out strings.Builder
	app := cli.App{Stdout: inertJSON{&out}}
	said := `a ##[stop-commands]b \##[error]c`
	if err := app.JSON(said); err != nil {
		t.Fatal(err)
	}
	var back string
	if err := json.Unmarshal([]byte(out.String()), &back); err != nil || back != said || strings.Contains(out.String(), "##[") {
		t.Errorf("%s is read as %q: %v", out.String(), back, err)
	}
}

// TestErrorsAreDisarmed has an error that quotes a server leave sync in each form of report.
func TestErrorsAreDisarmed(t *testing.T) {
	for _, format := range []string{formatText, formatJSON, formatGitHub} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, ".mcp.json"), []byte(`{"mcpServers":{"##[stop-commands]x":{}}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		app := &cli.App{Dir: dir, Stdout: io.Discard, Stderr: io.Discard}
		err := (&syncOptions{app: app, format: format, offline: true}).run(t.Context())
		if err == nil || strings.Contains(err.Error(), "##[") || cli.ExitCode(err, 1) != 2 {
			t.Errorf("%s: %v, exit code %d", format, err, cli.ExitCode(err, 1))
		}
	}
}
