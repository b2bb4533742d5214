package guest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
)

// The folders that scripts see, as in every sandbox.
const (
	workspaceDir = "/workspace"
	treeDir      = "/mcp/servers"
	skillsDir    = "/mcp/skills"
	tmpDir       = "/tmp"
)

// Files is the file system that a script sees: a few real folders at fixed places. Each is opened as an os.Root, which no
// link can leave.
type Files struct {
	mounts []mount // longest path first
}

type mount struct {
	at       string
	root     *os.Root
	writable bool
	quota    *quota
}

// Folders are paths of real folders. A folder whose path is empty does not exist for the script.
type Folders struct {
	Workspace, Tree, Skills, Tmp string
	// TmpSize bounds the contents of Tmp, in bytes. Zero means that this package sets no limit.
	TmpSize int64
}

// OpenFiles opens the folders. The workspace and /tmp are writable; the tree and the skills are read-only, below /mcp and below
// the workspace.
func OpenFiles(real Folders) (*Files, error) {
	f := &Files{}
	add := func(real string, writable bool, size int64, at ...string) error {
		if real == "" {
			return nil
		}
		root, err := safeopen.Root(real)
		if err != nil {
			return err
		}
		for _, a := range at {
			f.mounts = append(f.mounts, mount{a, root, writable, &quota{root: root, limit: size}})
		}
		return nil
	}
	err := errors.Join(
		add(real.Tree, false, 0, workspaceDir+"/servers", treeDir),
		add(real.Skills, false, 0, workspaceDir+"/skills", skillsDir),
		add(real.Workspace, true, 0, workspaceDir),
		add(real.Tmp, true, real.TmpSize, tmpDir))
	return f, err
}

// file is a place in the file system: a path below a root or, if root is nil, a folder that only leads to mounts.
type file struct {
	root     *os.Root
	rel      string
	abs      string
	writable bool
	quota    *quota // nil if root is nil
}

// find resolves a path of the script. The working directory is always the workspace.
func (f *Files) find(name string) file {
	abs := name
	if !strings.HasPrefix(abs, "/") {
		abs = workspaceDir + "/" + abs
	}
	abs = path.Clean(abs)
	if rest, ok := strings.CutPrefix(abs, spelledFolder+"/"); ok && !f.hasSpelledFolder() {
		abs = path.Join(workspaceDir, rest)
	}
	for _, m := range f.mounts {
		if abs == m.at {
			return file{m.root, ".", abs, m.writable, m.quota}
		}
		if rest, ok := strings.CutPrefix(abs, m.at+"/"); ok {
			if path.Base(m.at) == "servers" { // names of the tree's folders have no dash, so this is a server's own name
				server, file, below := strings.Cut(rest, "/")
				if rest = strings.ReplaceAll(server, "-", "_"); below {
					rest += "/" + file
				}
			}
			return file{m.root, rest, abs, m.writable, m.quota}
		}
	}
	return file{abs: abs}
}

// spelledFolder is the workspace's name in scripts written for other systems: ./workspace, relative to its parent. If there is no folder
// with that name, paths below it mean files of the workspace.
const spelledFolder = workspaceDir + "/workspace"

func (f *Files) hasSpelledFolder() bool {
	for _, m := range f.mounts {
		if m.at == workspaceDir {
			_, err := m.root.Lstat(path.Base(spelledFolder))
			return err == nil
		}
	}
	return false
}

// findFolder is find for operations that inspect or create a folder: for them ./workspace itself means the workspace too. Removing it is
// not such an operation, because that would remove everything.
func (f *Files) findFolder(name string) file {
	found := f.find(name)
	if found.abs == spelledFolder && !f.hasSpelledFolder() {
		return f.find(workspaceDir)
	}
	return found
}

// below returns the names of mounts directly below a folder.
func (f *Files) below(abs string) []string {
	if abs != "/" {
		abs += "/"
	}
	var names []string
	seen := map[string]bool{}
	for _, m := range f.mounts {
		if rest, ok := strings.CutPrefix(m.at, abs); ok {
			name, _, _ := strings.Cut(rest, "/")
			if name != "" && !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	return names
}

// isMount reports whether a folder is a mount or leads to one. Such a folder can be neither removed nor replaced.
func (f *Files) isMount(abs string) bool {
	for _, m := range f.mounts {
		if m.at == abs || strings.HasPrefix(m.at, strings.TrimSuffix(abs, "/")+"/") {
			return true
		}
	}
	return false
}

// fileError is an error as Node reports it.
type fileError struct {
	code    string
	errno   int
	text    string
	syscall string
	path    string
}

func (e *fileError) Error() string {
	return fmt.Sprintf("%s: %s, %s '%s'", e.code, e.text, e.syscall, e.path)
}

// asFileError converts the error of a file operation to Node's.
func asFileError(err error, call, name string) *fileError {
	e := &fileError{code: "EIO", errno: -5, text: "i/o error", syscall: call, path: name}
	set := func(code string, errno int, text string) { e.code, e.errno, e.text = code, errno, text }
	var no syscall.Errno
	errors.As(err, &no)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		set("ENOENT", -2, "no such file or directory")
	case errors.Is(err, fs.ErrExist) && no != syscall.ENOTEMPTY:
		set("EEXIST", -17, "file already exists")
	case no == syscall.EISDIR:
		set("EISDIR", -21, "illegal operation on a directory")
	case no == syscall.ENOTDIR:
		set("ENOTDIR", -20, "not a directory")
	case no == syscall.ENOTEMPTY:
		set("ENOTEMPTY", -39, "directory not empty")
	case no == syscall.EROFS:
		set("EROFS", -30, "read-only file system")
	case no == syscall.ENOSPC || no == syscall.EDQUOT:
		set("ENOSPC", -28, "no space left on device")
	case no == syscall.EFBIG:
		set("EFBIG", -27, "file too large")
	case no == syscall.EINVAL:
		set("EINVAL", -22, "invalid argument")
	case no == syscall.ENAMETOOLONG:
		set("ENAMETOOLONG", -36, "name too long")
	case no == syscall.ELOOP:
		set("ELOOP", -40, "too many symbolic links encountered")
	case errors.Is(err, fs.ErrPermission), strings.Contains(fmt.Sprint(err), "path escapes"):
		set("EACCES", -13, "permission denied")
	case no != 0:
		e.text = no.Error()
	}
	return e
}
