// Package filesystem is the demo server for the files below one folder.
//
// Every access goes through [os.Root]: a path that leaves the folder, by ".."
// or through a symbolic link, is refused by the operating system calls
// themselves and not by comparing strings. Only regular files are opened, so a
// pipe or a device in the folder cannot block the server or be controlled
// through it. Start at [New].
package filesystem

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/seed"
	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/tool"
)

//go:embed files
var firstFiles embed.FS

// maxFile is the largest file that is read or written, in bytes.
const maxFile = 10 << 20

// New returns the server for the files below dir. A folder that does not exist
// is created with a few sample files.
func New(dir string) (*tool.Server, error) {
	files, err := fs.Sub(firstFiles, "files")
	if err != nil {
		return nil, err
	}
	if err := seed.Dir(dir, func(tmp string) error { return os.CopyFS(tmp, files) }); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the served folder: %w", err)
	}
	s := tool.NewServer("mcpdemo-filesystem", "Filesystem",
		"Files below one folder. All paths are relative to it and use forward slashes; \".\" is the folder itself. Paths that leave it are refused. Files are limited to 10 MiB.")
	s.OnClose(root.Close)
	folder := &folder{root: root}
	folder.addReaders(s)
	folder.addWriters(s)
	return s, nil
}

// folder answers the tool calls.
type folder struct{ root *os.Root }

// explain turns an error of the file system into one that names only the path
// the client gave, and says what to do.
func explain(name string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("path %q does not exist; list_directory shows what does", name)
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("path %q exists already", name)
	case strings.Contains(err.Error(), "path escapes from parent"): // os has no sentinel for it
		return fmt.Errorf("access denied: path %q leads outside the served folder", name)
	}
	return fmt.Errorf("path %q: %w", name, err)
}

// read returns the content of a regular file.
func (f *folder) read(name string) ([]byte, error) {
	info, err := f.root.Stat(name)
	if err != nil {
		return nil, explain(name, err)
	}
	switch {
	case info.IsDir():
		return nil, fmt.Errorf("path %q is a directory; use list_directory", name)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("path %q is not a regular file", name)
	case info.Size() > maxFile:
		return nil, fmt.Errorf("file %q is larger than the limit of %d bytes", name, maxFile)
	}
	content, err := f.root.ReadFile(name)
	return content, explain(name, err)
}

// readText is read for files that are text.
func (f *folder) readText(name string) (string, error) {
	content, err := f.read(name)
	if err != nil {
		return "", err
	}
	if !utf8.Valid(content) {
		return "", fmt.Errorf("file %q is not UTF-8 text; read it with encoding \"base64\"", name)
	}
	return string(content), nil
}
