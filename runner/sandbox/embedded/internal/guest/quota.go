package guest

import (
	"io/fs"
	"os"
	"syscall"

	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
)

// quota limits the size of a folder that only the script writes to. Each file counts one block in addition to its content.
type quota struct {
	root  *os.Root
	limit int64 // bytes; zero means no limit
	spent int64 // upper bound of the folder's contents, in bytes
}

const blockSize = 4096

// spend reserves n bytes for a new file, or for additional content. It fails with ENOSPC.
func (q *quota) spend(n int) error {
	if q.limit <= 0 {
		return nil
	}
	cost := int64(n) + blockSize
	if q.spent+cost > q.limit {
		q.spent = q.holds() // files may have been removed or overwritten
	}
	if q.spent+cost > q.limit {
		return syscall.ENOSPC
	}
	q.spent += cost
	return nil
}

func (q *quota) holds() (bytes int64) {
	_ = fs.WalkDir(safeopen.FS(q.root), ".", func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		bytes += blockSize
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}
