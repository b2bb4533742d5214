package syncview

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen"
)

// TestNoCommandInDebug has a server that talks to GitHub's runner, as --debug passes it on.
func TestNoCommandInDebug(t *testing.T) {
	var out strings.Builder
	w := CommandFilter{&out}
	said := []byte("##[error]a ##[stop-commands]b\n::error::c\n")
	if n, err := cli.Prefixed(w)("crm").Write(said); n != len(said) || err != nil {
		t.Errorf("%d bytes, %v, want %d and no error", n, err, len(said))
	}
	slog.New(slog.NewTextHandler(w, nil)).Info("it said", "line", "x ##[add-mask]y")
	failed := EscapedError{&gen.Error{Message: "last line of its standard error: ##[error]z", Remedy: "r", Code: 2}}
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

// TestNoCommandInJSON does the same for the report for programs, which quotes the server.
func TestNoCommandInJSON(t *testing.T) {
	var out strings.Builder
	app := cli.App{Stdout: inertJSON{&out}}
	said := `a ##[stop-commands]b \##[error]c`
	if err := app.JSON(said); err != nil {
		t.Fatal(err)
	}
	var back string
	if err := json.Unmarshal([]byte(out.String()), &back); err != nil || back != said || strings.Contains(out.String(), "##[") {
		t.Errorf(`%s is read as %q: %v, want %q, no "##[" in it and no error`, out.String(), back, err, said)
	}
}
