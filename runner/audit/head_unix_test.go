//go:build unix

package audit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/audit"
)

func TestPublishCommand(t *testing.T) {
	dir := t.TempDir()
	publish := func(script string) error {
		c := audit.Command{Args: []string{"/bin/sh", "-c", script}, Dir: dir, Env: []string{"TO=heads"}}
		return audit.PublishCommand(c)(t.Context(), []byte("head\n"))
	}
	if err := publish(`read line; echo "$line" > "$TO"`); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "heads")); err != nil || string(got) != "head\n" {
		t.Errorf("the program got %q, %v", got, err)
	}
	if err := publish("echo no room >&2; exit 3"); err == nil || !strings.Contains(err.Error(), "exit status 3: no room") {
		t.Errorf("PublishCommand() = %v, want its code and output", err)
	}
}
