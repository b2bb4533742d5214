//go:build unix

package folder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/owner"
)

// Who looks at any moment finds the owner of every folder, in its name or in it.
func TestFoldersAlwaysHaveAnOwner(t *testing.T) {
	me, err := owner.Self()
	if err != nil {
		t.Fatal(err)
	}
	parent, made := t.TempDir(), make(chan error, 1)
	go func() {
		for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
			path := filepath.Join(parent, "run")
			if err := errors.Join(Make(path, me), Remove(path)); err != nil {
				made <- err
				return
			}
		}
		made <- nil
	}()
	for {
		select {
		case err := <-made:
			if err != nil {
				t.Error(err)
			}
			return
		default:
		}
		seen, err := os.ReadDir(parent)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range seen {
			if !strings.Contains(e.Name(), ownerMark) && isUnowned(filepath.Join(parent, e.Name())) {
				t.Fatalf("%s has no owner", e.Name())
			}
		}
	}
}

// isUnowned tells whether a folder has no owner's file while it has its name: it may be renamed or removed at any moment,
// but as long as it is open here no other one is taken for it.
func isUnowned(path string) bool {
	open, err := os.OpenRoot(path)
	if err != nil {
		return false
	}
	defer open.Close()
	if _, err := open.Stat(ownerFile); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	it, err := open.Stat(".")
	if err != nil {
		return false
	}
	now, err := os.Lstat(path)
	return err == nil && os.SameFile(it, now)
}
