package meter

import (
	"io/fs"

	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
)

// measureByNames scans all that is below dir and stops when that exceeds enough. It follows no link, and skips what it cannot
// read.
func measureByNames(dir string, enough usage) usage {
	var u usage
	root, err := safeopen.Root(dir)
	if err != nil {
		return u
	}
	defer root.Close()
	_ = fs.WalkDir(safeopen.FS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return nil
		}
		if info, err := entry.Info(); err == nil {
			size := int64(0)
			if info.Mode().IsRegular() {
				size = info.Size()
			}
			u.add(size, onDisk(info), info.ModTime().UnixNano())
		}
		if u.beyond(enough) {
			return fs.SkipAll
		}
		return nil
	})
	return u
}
