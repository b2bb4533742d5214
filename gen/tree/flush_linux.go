package tree

import (
	"os"

	"golang.org/x/sys/unix"
)

// beginFlush makes the system begin to write a file to the disk, so that its flush finds that done. It is a hint: what
// fails here fails in the flush.
func beginFlush(f *os.File) {
	_ = unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WRITE)
}
