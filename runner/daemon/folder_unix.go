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

// Supported tells whether there are daemons on this system.
const Supported = true

// maxSocketPath bounds the path of a socket, in bytes; the shortest that systems allow is 104 with a zero at the end.
const maxSocketPath = 103

// private makes dir, or makes sure that it is a folder, no link, that belongs to this user alone.
func private(dir string) error {
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("the daemon's folder %q is not an absolute path", dir)
	}
	if path := socketPath(dir); len(path) > maxSocketPath {
		return fmt.Errorf("the path of the daemon's socket %q is longer than %d bytes: set XDG_RUNTIME_DIR to a shorter one", path, maxSocketPath)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make the daemon's folder: %w", err)
	}
	return onlyMine(dir)
}

// onlyMine makes sure that a folder is one, and that nobody else can have put anything there.
func onlyMine(dir string) error {
	st, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("look at the daemon's folder: %w", err)
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok || !st.IsDir() || int(sys.Uid) != os.Geteuid() || st.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("the daemon's folder %q is not a folder that belongs to you alone: remove it, or, if it is yours: chmod 700 %q", dir, dir)
	}
	return nil
}

// errLocked says that another process holds a lock.
var errLocked = errors.New("another process holds the lock")

// lock takes the lock of that name in dir until the file is closed, or the process ends. Without wait it is errLocked
// when somebody has it.
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

// absent tells whether an error of connecting says that nobody listens.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ECONNREFUSED)
}
