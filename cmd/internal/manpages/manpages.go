// Package manpages writes the manual pages of our programs. Only their tests import it, so that no program contains the writer;
// make man keeps what the tests write.
package manpages

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// Variable names the folder for the pages. Without it they are written to a folder that goes with the test.
const Variable = "MCPGEN_MAN"

// Write writes a page for each command of a program, and fails the test where one is missing.
func Write(t *testing.T, root *cobra.Command) {
	t.Helper()
	dir := os.Getenv(Variable)
	if dir == "" {
		dir = t.TempDir()
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	root.InitDefaultCompletionCmd()
	root.DisableAutoGenTag = true // pages are the same every day
	if err := doc.GenManTreeFromOpts(root, doc.GenManTreeOptions{
		Header: &doc.GenManHeader{Section: "1", Source: root.Name()}, Path: dir, CommandSeparator: "-",
	}); err != nil {
		t.Fatal(err)
	}
	check(t, root, filepath.Join(dir, root.Name()))
}

func check(t *testing.T, cmd *cobra.Command, page string) {
	t.Helper()
	if _, err := os.Stat(page + ".1"); err != nil {
		t.Errorf("%s has no page: %v", cmd.CommandPath(), err)
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			check(t, sub, page+"-"+sub.Name())
		}
	}
}
