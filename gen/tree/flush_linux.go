package tree

import (
	"os"

	"golang.org/x/sys/unix"
)

// beginFlush makes the system start to write a file to the disk, so that the flush has less to wait for. It ignores errors:
// the flush reports them.
func beginFlush(f *os.File) {
	_ = unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WRITE)
}
