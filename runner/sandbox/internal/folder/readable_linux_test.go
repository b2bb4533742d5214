package folder

import (
	"errors"
	"os"
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox/internal/acl"
)

// Files that a workspace's access control list lets the guest's user read are readable.
func TestReadableByList(t *testing.T) {
	tree := t.TempDir()
	if err := os.Chmod(tree, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := acl.Grant(tree, 65533); err != nil {
		if _, ok := errors.AsType[*acl.NotSupportedError](err); ok && os.Getenv("CI") == "" {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	if err := Readable(tree, 65533, 65533); err != nil {
		t.Error(err)
	}
}
