package docker

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/thread"
)

// canEnter tells whether this process may change what a running container sees: root may, with a kernel that knows
// mounts without a place (Linux 5.12).
func canEnter() error {
	if os.Geteuid() != 0 {
		return errors.New("only root can")
	}
	tree, err := cloneMount("/", true)
	if err != nil {
		return err
	}
	defer tree.Close()
	space, err := os.Open("/proc/self/ns/mnt")
	if err != nil {
		return err
	}
	defer space.Close()
	return thread.Spare(func() error { return enterMounts(space) })
}

func enterMounts(space *os.File) error {
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("separate a thread: %w", err)
	}
	if err := unix.Setns(int(space.Fd()), unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("enter a container's mounts: %w", err)
	}
	return nil
}

// shown is a mount that has no place yet.
type shown struct {
	mount *os.File
	at    string // a path of the container
	below string // a folder in the workspace; then at is not used
}

// show mounts the run's folders in a container in which nothing of theirs is mounted yet, and sets the size of its /tmp.
// The guest must not have begun with its job.
func (in *inside) show(spec sandbox.Spec, lim sandbox.Limits) error {
	all, err := in.prepare(spec, lim)
	defer func() {
		for _, s := range all {
			s.mount.Close() // where it has found no place, it is gone with this
		}
	}()
	if err != nil {
		return fmt.Errorf("prepare the run's folders: %w", err)
	}
	space, err := os.Open(fmt.Sprintf("/proc/%d/ns/mnt", in.pid))
	if err != nil {
		return fmt.Errorf("show the run's folders: %w", err)
	}
	defer space.Close()
	if in.over() { // else the number has been the container's all the time
		return errors.New("show the run's folders: the guest has ended")
	}
	err = thread.Spare(func() error {
		if err := enterMounts(space); err != nil {
			return err
		}
		for _, s := range all {
			if err := s.place(all[0].mount); err != nil {
				return err
			}
		}
		options := fmt.Sprintf("size=%d,nr_inodes=%d", lim.Tmp, tmpFiles(lim.Tmp))
		if err := unix.Mount("", "/tmp", "", unix.MS_REMOUNT|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, options); err != nil {
			return fmt.Errorf("set the size of /tmp: %w", err)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("show the run's folders: %w", err)
	}
	return nil
}

// prepare makes the mounts, the workspace's first. What it returns is to be closed also where it fails.
func (in *inside) prepare(spec sandbox.Spec, lim sandbox.Limits) (all []shown, err error) {
	add := func(m *os.File, err error, at, below string) error {
		if err == nil {
			all = append(all, shown{mount: m, at: at, below: below})
		}
		return err
	}
	var workspace *os.File
	if spec.Workspace == "" {
		workspace, err = newTmpfs(lim.Tmp)
	} else {
		workspace, err = cloneMount(spec.Workspace, false)
	}
	if err := add(workspace, err, sandbox.WorkspaceDir, ""); err != nil {
		return all, err
	}
	for _, f := range readOnlyFolders(spec) {
		if spec.Workspace == "" {
			if err := unix.Mkdirat(int(workspace.Fd()), f.name, 0o755); err != nil {
				return all, err
			}
		}
		m, err := cloneMount(f.source, true)
		if err := add(m, err, path.Join(sandbox.Root, f.name), ""); err != nil {
			return all, err
		}
		m, err = cloneMount(f.source, true)
		if err := add(m, err, "", f.name); err != nil {
			return all, err
		}
	}
	return all, nil
}

// place gives a mount its place in the namespace of the thread. Another run in the same workspace may be at work: its
// links are not followed.
func (s shown) place(workspace *os.File) error {
	if s.below == "" {
		if err := unix.MoveMount(int(s.mount.Fd()), "", unix.AT_FDCWD, s.at, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
			return fmt.Errorf("mount %s: %w", s.at, err)
		}
		return nil
	}
	at, err := unix.Openat2(int(workspace.Fd()), s.below, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV,
	})
	if err != nil {
		return fmt.Errorf("find %s in the workspace: %w", s.below, err)
	}
	defer unix.Close(at)
	if err := unix.MoveMount(int(s.mount.Fd()), "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH); err != nil {
		return fmt.Errorf("mount %s in the workspace: %w", s.below, err)
	}
	return nil
}

// cloneMount makes a mount of a folder, without what is mounted below it: a read-only bind is not read-only further
// down.
func cloneMount(folder string, readOnly bool) (*os.File, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, folder, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return nil, &os.PathError{Op: "mount", Path: folder, Err: err}
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV, Propagation: unix.MS_PRIVATE}
	if readOnly {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &attr); err != nil {
		unix.Close(fd)
		return nil, &os.PathError{Op: "protect", Path: folder, Err: err}
	}
	return os.NewFile(uintptr(fd), folder), nil
}

// newTmpfs makes an empty folder in memory that holds size bytes.
func newTmpfs(size int64) (*os.File, error) {
	fs, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make a workspace: %w", err)
	}
	defer unix.Close(fs)
	for key, value := range map[string]string{
		"size": strconv.FormatInt(size, 10), "nr_inodes": strconv.FormatInt(tmpFiles(size), 10), "mode": "1777",
	} {
		if err := unix.FsconfigSetString(fs, key, value); err != nil {
			return nil, fmt.Errorf("make a workspace: %s: %w", key, err)
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return nil, fmt.Errorf("make a workspace: %w", err)
	}
	fd, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make a workspace: %w", err)
	}
	return os.NewFile(uintptr(fd), "workspace"), nil
}
