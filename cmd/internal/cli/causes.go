package cli

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// causes are hints for file system errors. One is printed if none of our own errors has a hint.
var causes = []struct {
	is   error
	hint string
}{
	{fs.ErrPermission, "you have no permission for that: run the command as the owner of the file or folder, or change its owner or mode (chown, chmod)"},
	{syscall.EROFS, "that file system is read-only: choose another folder"},
	{syscall.ENOSPC, "the disk is full: free some space, or choose a folder on another disk"},
}

// causeHint returns the hint for the file system error that err wraps, or "".
func causeHint(err error) string {
	_, ofPath := errors.AsType[*fs.PathError](err)
	_, ofLink := errors.AsType[*os.LinkError](err)
	if !ofPath && !ofLink {
		return ""
	}
	for _, c := range causes {
		if errors.Is(err, c.is) {
			return c.hint
		}
	}
	return ""
}
