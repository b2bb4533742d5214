package folder

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mcpgen/mcpgen/runner/sandbox/internal/acl"
)

// Readable returns an *Error that names dir, or the first file or folder directly in it, that the user uid, a member of groups, cannot
// read. Deeper files, which mostly have the same permissions, are not checked, because walking a large tree would delay the guest.
func Readable(dir string, uid int, groups ...int) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("check a folder of the run: %w", err)
	}
	names := []string{dir}
	for _, e := range entries {
		names = append(names, filepath.Join(dir, e.Name()))
	}
	for _, name := range names {
		st, err := os.Lstat(name)
		if err != nil {
			return fmt.Errorf("check a folder of the run: %w", err)
		}
		need := fs.FileMode(0o4)
		if st.IsDir() {
			need = 0o5
		}
		switch {
		case OwnedBy(st, uid):
			need <<= 6
		case inGroup(st, groups):
			need <<= 3
		}
		if st.Mode()&fs.ModeSymlink == 0 && st.Mode().Perm()&need != need && !acl.Reads(name, uid) {
			return &Error{Path: name, Reason: fmt.Sprintf("is not readable for user %d, which scripts run as", uid),
				Remedy: fmt.Sprintf("chmod -R a+rX %q", dir)}
		}
	}
	return nil
}
