package meter

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"syscall"

	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/folder"
)

const (
	// maxBelow is the number of levels of folders below an open one that are opened by path. Keeping each of thousands of levels open would take too
	// many descriptors, and starting from the top each time would take too long.
	maxBelow = 8
	// maxOpen is the maximum number of folders that are open at the same time.
	maxOpen = 1000
	// canLook are the permissions needed to scan a folder.
	canLook = 0o500
)

// measure scans everything below dir and stops when the result exceeds enough. It follows no link and skips what it cannot read. A guest
// may change the folders at the same time.
func measure(dir string, enough usage) usage {
	w := walker{enough: enough}
	if info, err := os.Stat(dir); err == nil {
		unlock(info, func(mode fs.FileMode) error { return os.Chmod(dir, mode) })
	}
	root, err := safeopen.Root(dir)
	if err != nil {
		return usage{}
	}
	defer root.Close()
	w.scan(root, ".", 0)
	return w.used
}

type walker struct {
	used, enough usage
	open         int
}

// scan counts what is in the folder name, which is levels levels below the open folder from, and in all folders below it.
func (w *walker) scan(from *os.Root, name string, levels int) {
	dir, err := safeopen.Dir(from, name)
	if errors.Is(err, syscall.EMFILE) || w.open == maxOpen {
		w.used.tooDeep = true
	}
	if err != nil {
		return
	}
	defer dir.Close() // it may already be closed below
	folders := w.count(dir)
	if levels == maxBelow {
		w.open++
		defer func() { w.open-- }()
		from, name, levels = dir, ".", 0
	} else {
		dir.Close()
	}
	for _, below := range folders {
		if w.used.beyond(w.enough) || w.used.tooDeep {
			return
		}
		w.scan(from, path.Join(name, below), levels+1)
	}
}

// count counts what is in a folder, and returns the names of the folders in it.
func (w *walker) count(dir *os.Root) (folders []string) {
	list, err := dir.Open(".")
	if err != nil {
		return nil
	}
	defer list.Close()
	for {
		names, err := list.Readdirnames(1024)
		for _, name := range names {
			if w.used.beyond(w.enough) {
				return nil
			}
			info, err := dir.Lstat(name)
			if err != nil {
				continue // removed in the meantime
			}
			size := int64(0)
			if info.Mode().IsRegular() {
				size = info.Size()
			}
			w.used.add(size, onDisk(info), info.ModTime().UnixNano())
			if info.IsDir() {
				unlock(info, func(mode fs.FileMode) error { return dir.Chmod(name, mode) })
				folders = append(folders, name)
			}
		}
		if err != nil {
			return folders
		}
	}
}

// unlock permanently adds the permissions to look into a folder, if this user owns it and lacks them. Otherwise its files could not be
// counted, nor removed by a person. Root needs no permissions.
func unlock(info fs.FileInfo, chmod func(fs.FileMode) error) {
	if me := os.Geteuid(); me != 0 && info.Mode()&canLook != canLook && folder.OwnedBy(info, me) {
		_ = chmod(info.Mode() | canLook)
	}
}

// usage is what a folder holds. Holes in files take no space. A file counts once for each of its names.
type usage struct {
	bytes   int64
	files   int
	largest int64 // size of the largest file, including holes
	written int64 // when it was last written, in nanoseconds since 1970
	tooDeep bool  // folders were too deep, or too many, to be scanned
}

// add counts a file or folder. The size of anything but a regular file is 0.
func (u *usage) add(size, onDisk, written int64) {
	u.files++
	u.bytes += onDisk
	if size > u.largest || size == u.largest && written > u.written {
		u.largest, u.written = size, written
	}
}

// beyond reports whether u exceeds enough; negative fields of enough mean no bound.
func (u usage) beyond(enough usage) bool {
	return enough.bytes >= 0 && u.bytes > enough.bytes || enough.files >= 0 && u.files > enough.files
}
