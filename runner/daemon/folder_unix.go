//go:build linux || darwin

package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// Supported reports whether this system has daemons.
const Supported = true

// maxSocketPath bounds the path of a socket, in bytes: some systems have 104 bytes including a final zero.
const maxSocketPath = 103

// makePrivate creates dir, or checks that it is a folder, and not a link, to which only this user has access.
func makePrivate(dir string) error {
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("the daemon's folder %q is not an absolute path", dir)
	}
	if path := socketPath(dir); len(path) > maxSocketPath {
		return fmt.Errorf("the path of the daemon's socket %q is longer than %d bytes: set XDG_RUNTIME_DIR to a shorter one", path, maxSocketPath)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("create the daemon's folder: %w", err)
	}
	return checkPrivate(dir)
}

// checkPrivate checks that dir is a folder to which no other user has access.
func checkPrivate(dir string) error {
	st, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("examine the daemon's folder: %w", err)
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok || !st.IsDir() || int(sys.Uid) != os.Geteuid() || st.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("the daemon's folder %q is not a folder that only you can use: run chmod 700 %q, or remove it if it is not yours", dir, dir)
	}
	return nil
}

// errLocked reports that another process holds a lock.
var errLocked = errors.New("another process holds the lock")

// lock takes the lock with that name in dir. It is held until the file is closed or the process ends. If another process holds it, lock
// waits, or returns errLocked if wait is false.
func lock(dir, name string, wait bool) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the daemon's folder: %w", err)
	}
	how := unix.LOCK_EX
	if !wait {
		how |= unix.LOCK_NB
	}
	for {
		err = unix.Flock(int(f.Fd()), how)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err == nil {
		return f, nil
	}
	f.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, errLocked
	}
	return nil, fmt.Errorf("lock the daemon's folder: %w", err)
}

// isAbsent reports whether an error from connecting means that no process is listening.
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ECONNREFUSED)
}
