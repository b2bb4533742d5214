//go:build linux && (amd64 || arm64)

package jail

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runner/sandbox/internal/mounts"
)

// buildRoot makes a new root from the request and makes the old one unreachable. It returns the isolation that the machine does not
// support. It runs in the jail's own mount namespace.
//
// Everything from the host is cloned first, while its paths still mean what the host meant; the clones are then attached in a fresh tmpfs,
// following no link on the way.
func buildRoot(p *request) (missing []string, err error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return nil, fmt.Errorf("make mounts private: %w", err)
	}
	var clones []clone
	for _, m := range append(p.devices(), p.Mounts...) {
		c, err := cloneMount(m)
		if err != nil {
			return nil, err
		}
		clones = append(clones, c)
	}
	root, err := newRoot()
	if err != nil {
		return nil, err
	}
	for _, dir := range append([]string{"/tmp"}, p.Tmpfs...) {
		if err := tmpfs(root, dir, p.Limits.Tmp); err != nil {
			return nil, err
		}
	}
	for _, dir := range p.Dirs {
		place, err := descend(root, dir, true)
		if err != nil {
			return nil, err
		}
		unix.Close(place)
	}
	for _, c := range clones {
		if err := c.attach(root); err != nil {
			return nil, err
		}
	}
	for _, dir := range p.Hidden {
		if err := hide(root, dir); err != nil {
			return nil, err
		}
	}
	if err := writeFiles(root, p.Files); err != nil {
		return nil, err
	}
	if missing, err = mountProc(root); err != nil {
		return nil, err
	}
	return missing, enterRoot(root)
}

// clone is a copy of a host mount that is not yet attached.
type clone struct {
	Mount
	fd       int
	dev, ino uint64
	isDir    bool
}

func cloneMount(m Mount) (clone, error) {
	fd, err := mounts.Clone(m.Source, m.Writable, true)
	if err != nil {
		return clone{}, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return clone{}, fmt.Errorf("mount %q: %w", m.Source, err)
	}
	return clone{Mount: m, fd: fd, dev: st.Dev, ino: st.Ino, isDir: st.Mode&unix.S_IFMT == unix.S_IFDIR}, nil
}

// attach closes the clone.
func (c clone) attach(root int) error {
	defer unix.Close(c.fd)
	place, err := descend(root, c.Target, c.isDir)
	if err != nil {
		return err
	}
	defer unix.Close(place)
	if err := mounts.Move(c.fd, place); err != nil {
		return fmt.Errorf("mount %q at %q: %w", c.Source, c.Target, err)
	}
	return nil
}

// newRoot mounts the tmpfs that becomes the root and returns a descriptor for it. It can be mounted on any folder: the mount is visible
// only in this namespace, and the folder is hidden in the end.
func newRoot() (int, error) {
	if err := unix.Mount("jail", "/tmp", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755,size=16m,nr_inodes=8192"); err != nil {
		return -1, fmt.Errorf("mount the root: %w", err)
	}
	fd, err := unix.Open("/tmp", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open the root: %w", err)
	}
	return fd, nil
}

// descend opens name below root and creates what is missing: folders, and at the end a folder or an empty file. It follows no link, so that
// a link left in a workspace by a guest cannot redirect a mount.
func descend(root int, name string, dir bool) (int, error) {
	at, err := unix.Dup(root)
	if err != nil {
		return -1, err
	}
	parts := strings.Split(strings.Trim(path.Clean("/"+name), "/"), "/")
	for i, part := range parts {
		last := i == len(parts)-1
		next, err := step(at, part, dir || !last)
		unix.Close(at)
		if err != nil {
			return -1, fmt.Errorf("create a mount point for %q: %q: %w", name, "/"+path.Join(parts[:i+1]...), err)
		}
		at = next
	}
	return at, nil
}

func step(at int, name string, dir bool) (int, error) {
	var err error
	flags := unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC
	if dir {
		flags |= unix.O_DIRECTORY
		err = unix.Mkdirat(at, name, 0o755)
	} else {
		err = unix.Mknodat(at, name, unix.S_IFREG|0o444, 0)
	}
	fd, openErr := unix.Openat(at, name, flags, 0)
	if openErr != nil && err != nil && !errors.Is(err, unix.EEXIST) {
		return -1, err
	}
	return fd, openErr
}

// maxTmpFiles bounds the number of files in each of the jail's folders in memory.
const maxTmpFiles = 32768

// tmpfs makes dir an empty folder in memory.
func tmpfs(root int, dir string, size int64) error {
	fd, err := mounts.Tmpfs(size, maxTmpFiles)
	if err != nil {
		return fmt.Errorf("create an empty folder for %q: %w", dir, err)
	}
	return clone{Mount: Mount{Source: "tmpfs", Target: dir}, fd: fd, isDir: true}.attach(root)
}

// hide covers a folder with an empty one that is read-only.
func hide(root int, dir string) error {
	fd, err := mounts.Tmpfs(4096, 2)
	if err != nil {
		return fmt.Errorf("hide %q: %w", dir, err)
	}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		unix.Close(fd)
		return fmt.Errorf("hide %q: %w", dir, err)
	}
	return clone{Mount: Mount{Source: "tmpfs", Target: dir}, fd: fd, isDir: true}.attach(root)
}

// writeFiles writes through os.Root, below the tmpfs root only.
func writeFiles(root int, files map[string][]byte) error {
	if err := unix.Fchdir(root); err != nil {
		return err
	}
	dir, err := os.OpenRoot(".")
	if err != nil {
		return fmt.Errorf("open the root: %w", err)
	}
	defer dir.Close()
	for name, content := range files {
		rel := strings.TrimPrefix(path.Clean("/"+name), "/")
		if err := dir.MkdirAll(filepath.Dir(rel), 0o755); err != nil {
			return fmt.Errorf("write %q: %w", name, err)
		}
		if err := dir.WriteFile(rel, content, 0o444); err != nil {
			return fmt.Errorf("write %q: %w", name, err)
		}
	}
	return nil
}

// devices are the only nodes in /dev. A mapping of /dev/zero can be shared memory without a file: see filter.
func (p *request) devices() []Mount {
	names := []string{"null", "full", "random", "urandom"}
	if !p.Watched {
		names = append(names, "zero")
	}
	var list []Mount
	for _, name := range names {
		list = append(list, Mount{Source: "/dev/" + name, Target: "/dev/" + name, Writable: true})
	}
	return list
}

// mountProc mounts a fresh, read-only /proc of this PID namespace. It contains only processes if the kernel supports that; otherwise the
// kernel's own files in it are masked. A container that masks its own /proc refuses a fresh one, so the jail has none.
func mountProc(root int) (missing []string, err error) {
	place, err := descend(root, "/proc", true)
	if err != nil {
		return nil, err
	}
	defer unix.Close(place)
	if err := unix.Fchdir(place); err != nil {
		return nil, err
	}
	const flags = unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	err = unix.Mount("proc", ".", "proc", flags, "hidepid=invisible,subset=pid")
	if errors.Is(err, unix.EPERM) {
		return []string{"/proc: cannot be mounted here; scripts run without it"}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("mount /proc: %w", err)
	}
	return nil, nil
}

// enterRoot makes root the root of this process and detaches everything else.
func enterRoot(root int) error {
	if err := unix.Fchdir(root); err != nil {
		return err
	}
	for name, target := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0",
		"stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"} {
		if err := unix.Symlink(target, "dev/"+name); err != nil {
			return fmt.Errorf("link /dev/%s: %w", name, err)
		}
	}
	// pivot_root onto itself stacks the old root above the new one, from where it can be detached without a folder for it.
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("change the root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("detach the old root: %w", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return err
	}
	err := unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, "")
	if err != nil {
		return fmt.Errorf("make the root read-only: %w", err)
	}
	return unix.Close(root)
}
