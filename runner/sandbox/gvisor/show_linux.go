package gvisor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runner/sandbox/internal/thread"
)

// show mounts folders in the view of the process that serves a guest its files: the guest then finds them in its root,
// which gVisor looks at anew. files is that process's number. Only root may; nothing is mounted in this process's own
// view of the machine, and all of it goes with the guest.
func show(files int, places []place) error {
	if files == 0 {
		return errors.New("the process that serves the guest's files was not found")
	}
	return thread.Spare(func() error { return showOnThread(files, places) })
}

func showOnThread(files int, places []place) error {
	var trees []int
	defer func() {
		for _, fd := range trees {
			unix.Close(fd)
		}
	}()
	for _, p := range places {
		fd, err := p.tree()
		if err != nil {
			return fmt.Errorf("prepare what is shown at %q: %w", "/"+p.target, err)
		}
		trees = append(trees, fd)
	}
	root, err := enterView(files)
	if err != nil {
		return err
	}
	defer unix.Close(root)
	for i, p := range places {
		if err := p.attach(root, trees[i]); err != nil {
			return fmt.Errorf("show %q at %q: %w", p.source, "/"+p.target, err)
		}
	}
	// What is left of the root itself is for nobody to change.
	return unix.MountSetattr(root, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

// tree returns a mount that is attached nowhere yet. What is mounted below a folder of the host is not part of it. It is
// private: where the host's mounts are shared, as systemd has them, what is mounted in it would appear in the host's
// folder too, and stay.
func (p place) tree() (fd int, err error) {
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV, Propagation: unix.MS_PRIVATE}
	if !p.writable {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	if p.source == "" {
		return memoryTree(p.size)
	}
	fd, err = unix.OpenTree(unix.AT_FDCWD, p.source, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return -1, err
	}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &attr); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// memoryTree is a folder in memory for everybody, bounded in bytes and files; in it are the places for what is shown in a
// workspace.
func memoryTree(size int64) (int, error) {
	fs, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fs)
	for key, value := range map[string]string{
		"source": "sandbox", "mode": "1777", "size": strconv.FormatInt(size, 10), "nr_inodes": strconv.FormatInt(max(size>>10, 1024), 10),
	} {
		if err := unix.FsconfigSetString(fs, key, value); err != nil {
			return -1, err
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, err
	}
	tree, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return -1, err
	}
	for _, name := range []string{treeName, skillsName} {
		if err := unix.Mkdirat(tree, name, 0o755); err != nil {
			unix.Close(tree)
			return -1, err
		}
	}
	return tree, nil
}

// enterView moves the thread into the process's view of the machine and returns the guest's root there.
func enterView(pid int) (root int, err error) {
	process := filepath.Join("/proc", strconv.Itoa(pid))
	view, err := os.Open(filepath.Join(process, "ns/mnt"))
	if err != nil {
		return -1, err
	}
	defer view.Close()
	top, err := unix.Open(filepath.Join(process, "root"), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(top)
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return -1, fmt.Errorf("leave the other threads' folder: %w", err)
	}
	if err := unix.Setns(int(view.Fd()), unix.CLONE_NEWNS); err != nil {
		return -1, fmt.Errorf("enter the view of process %d: %w", pid, err)
	}
	// The process has the guest's root as its own, or, with some releases, in a folder of it.
	for _, name := range []string{".", "root"} {
		if fd, err := at(top, name+"/mcp/guest"); err == nil {
			unix.Close(fd)
			return at(top, name)
		}
	}
	return -1, errors.New("the guest's root is not where this release of gVisor should have it")
}

// at opens a folder below another without following any link.
func at(dir int, name string) (int, error) {
	return unix.Openat2(dir, name, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH,
	})
}

func (p place) attach(root, tree int) error {
	target, err := at(root, p.target)
	if err != nil {
		return err
	}
	defer unix.Close(target)
	return unix.MoveMount(tree, "", target, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}
