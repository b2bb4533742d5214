package mounts

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/thread"
)

// Available returns why this process cannot change what a running guest sees, or nil if it can. It takes root and Linux 5.12.
func Available() error {
	if os.Geteuid() != 0 {
		return errors.New("only root can")
	}
	fd, err := Clone("/", false, false)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return thread.Spare(func() error {
		space, err := os.Open("/proc/self/ns/mnt")
		if err != nil {
			return err
		}
		defer space.Close()
		return enter(space)
	})
}

// Show mounts folders in the mount namespace of process pid, whose root is that of the guest or has it as a folder named root. It then
// calls finish on a thread in that namespace, with the guest's root. lives reports whether pid still means the same process; nil means that
// it does. Nothing is mounted in this process's own namespace, and all mounts go away with the guest's namespace. The guest must not have
// started its job.
func Show(pid int, lives func() bool, all []Mount, finish func(root int) error) error {
	process := filepath.Join("/proc", strconv.Itoa(pid))
	space, err := os.Open(filepath.Join(process, "ns/mnt"))
	if err != nil {
		return fmt.Errorf("show the run's folders: %w", err)
	}
	defer space.Close()
	top, err := unix.Open(filepath.Join(process, "root"), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("show the run's folders: %w", err)
	}
	defer unix.Close(top)
	if lives != nil && !lives() {
		return errors.New("show the run's folders: the guest has ended")
	}
	err = thread.Spare(func() error {
		var clones []int
		defer func() {
			for _, fd := range clones {
				unix.Close(fd) // this removes the mount if it was not attached
			}
		}()
		for _, m := range all {
			fd, err := m.clone()
			if err != nil {
				return fmt.Errorf("prepare %s: %w", m.Target, err)
			}
			clones = append(clones, fd)
		}
		if err := enter(space); err != nil {
			return err
		}
		root, err := guestRoot(top)
		if err != nil {
			return err
		}
		defer unix.Close(root)
		for i, m := range all {
			if err := m.attach(root, clones[i]); err != nil {
				return fmt.Errorf("mount %s: %w", m.Target, err)
			}
		}
		return finish(root)
	})
	if err != nil {
		return fmt.Errorf("show the run's folders: %w", err)
	}
	return nil
}

// enter moves this thread into a mount namespace.
func enter(space *os.File) error {
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("separate a thread: %w", err)
	}
	if err := unix.Setns(int(space.Fd()), unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("enter the guest's mounts: %w", err)
	}
	return nil
}

// guestRoot finds the guest's root in the process's.
func guestRoot(top int) (int, error) {
	for _, name := range []string{".", "root"} {
		if fd, err := beneath(top, name+sandbox.GuestDir); err == nil {
			unix.Close(fd)
			return beneath(top, name)
		}
	}
	return -1, errors.New("the guest's root is not where it was expected")
}

// beneath opens a folder below another without following any link.
func beneath(dir int, name string) (int, error) {
	return unix.Openat2(dir, name, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH,
	})
}

// clone returns a detached mount. Mounts below a folder of the host are not part of it.
func (m Mount) clone() (int, error) {
	if m.Source != "" {
		return Clone(m.Source, m.Writable, false)
	}
	tree, err := Tmpfs(m.Size, Files(m.Size))
	if err != nil {
		return -1, err
	}
	for _, dir := range m.Dirs {
		if err := unix.Mkdirat(tree, dir, 0o755); err != nil {
			unix.Close(tree)
			return -1, err
		}
	}
	return tree, nil
}

// Clone returns a detached mount of a file or folder. With recursive, it includes the mounts below it. The mount is private: if the host's
// mounts are shared, as systemd sets them up, mounts in it would otherwise also appear in the host's folder, and remain there.
func Clone(source string, writable, recursive bool) (int, error) {
	open, set := uint(unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC), uint(unix.AT_EMPTY_PATH)
	if recursive {
		open, set = open|unix.AT_RECURSIVE, set|unix.AT_RECURSIVE
	}
	fd, err := unix.OpenTree(unix.AT_FDCWD, source, open)
	if err != nil {
		return -1, &os.PathError{Op: "mount", Path: source, Err: kernelTooOld(err)}
	}
	var st unix.Stat_t
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID, Propagation: unix.MS_PRIVATE}
	if err = unix.Fstat(fd, &st); st.Mode&unix.S_IFMT != unix.S_IFCHR {
		attr.Attr_set |= unix.MOUNT_ATTR_NODEV
	}
	if !writable {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	if err == nil {
		err = unix.MountSetattr(fd, "", set, &attr)
	}
	if err != nil {
		unix.Close(fd)
		return -1, &os.PathError{Op: "protect the mount of", Path: source, Err: kernelTooOld(err)}
	}
	return fd, nil
}

func kernelTooOld(err error) error {
	if errors.Is(err, unix.ENOSYS) {
		return fmt.Errorf("%w (the kernel is too old; Linux 5.12 or newer is needed)", err)
	}
	return err
}

// Move attaches a detached mount at the place to which a descriptor refers.
func Move(mount, place int) error {
	return unix.MoveMount(mount, "", place, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// attach mounts a clone in the guest's root. It does not follow links in the workspace, because another run may be using the same one.
func (m Mount) attach(root, clone int) error {
	target, err := beneath(root, strings.TrimPrefix(m.Target, "/"))
	if err != nil {
		return err
	}
	defer unix.Close(target)
	return Move(clone, target)
}

// Tmpfs returns a detached, empty file system in memory that everybody may write to, with at most size bytes and files files.
func Tmpfs(size, files int64) (int, error) {
	fs, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fs)
	for key, value := range map[string]string{
		"source": "sandbox", "mode": "1777", "size": strconv.FormatInt(size, 10), "nr_inodes": strconv.FormatInt(files, 10),
	} {
		if err := unix.FsconfigSetString(fs, key, value); err != nil {
			return -1, err
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, err
	}
	return unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
}
