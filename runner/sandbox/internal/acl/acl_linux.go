package acl

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// NotSupportedError reports that the folder's file system keeps no access control lists.
type NotSupportedError struct {
	Dir string
	UID int
}

func (e *NotSupportedError) Error() string {
	return fmt.Sprintf("make %q writable for user %d: its file system does not support access control lists", e.Dir, e.UID)
}

// Hint returns what a person can do about the error.
func (e *NotSupportedError) Hint() string {
	return fmt.Sprintf("run mcprun as an ordinary user, or change the folder's owner: chown %d %q", e.UID, e.Dir)
}

// Grant lets the user uid read, write and enter the folder dir, and everything created in it from now on, as far as the creating program's
// mode bits allow. The folder's present contents keep their permissions. The caller must own the folder or be root. Grant does nothing if
// the user already has these permissions. The error is a *NotSupportedError if the file system has no access control lists.
func Grant(dir string, uid int) error {
	if err := grant(dir, uid); err != nil {
		if errors.Is(err, unix.ENOTSUP) {
			return &NotSupportedError{Dir: dir, UID: uid}
		}
		return fmt.Errorf("make %q writable for user %d: %w", dir, uid, err)
	}
	return nil
}

// Reads reports whether the list of a file or folder gives the user uid the right to read it and to enter it. It does not consider
// permission bits.
func Reads(name string, uid int) bool {
	var st unix.Stat_t
	if err := unix.Lstat(name, &st); err != nil {
		return false
	}
	need := uint16(4)
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		need = 5
	}
	l, err := read(func(buf []byte) (int, error) { return unix.Lgetxattr(name, accessList, buf) })
	return err == nil && l.given(uint32(uid))&need == need
}

const accessList = "system.posix_acl_access"

func grant(dir string, uid int) error {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if int(st.Uid) == uid && st.Mode>>6&rwx == rwx {
		return nil
	}
	mode := fromMode(st.Mode)
	if err := extend(fd, accessList, mode, uint32(uid)); err != nil {
		return err
	}
	return extend(fd, "system.posix_acl_default", mode, uint32(uid))
}

// extend adds the user id to the list in the attribute name, or to initial if the attribute does not exist.
func extend(fd int, name string, initial list, id uint32) error {
	l, err := read(func(buf []byte) (int, error) { return unix.Fgetxattr(fd, name, buf) })
	if err != nil {
		return err
	}
	if l == nil {
		l = initial
	}
	if l.allows(id) {
		return nil
	}
	return unix.Fsetxattr(fd, name, l.with(id).bytes(), 0)
}

// read returns nil if there is no list.
func read(get func(buf []byte) (int, error)) (list, error) {
	buf := make([]byte, 64<<10) // the largest possible value of an attribute
	n, err := get(buf)
	if errors.Is(err, unix.ENODATA) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parse(buf[:n])
}
