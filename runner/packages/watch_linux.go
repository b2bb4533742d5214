package packages

import (
	"errors"

	"golang.org/x/sys/unix"
)

// watch notices changes of files in folders. On a network file system it does not notice those that another machine makes.
type watch struct{ fd int }

const watched = unix.IN_MODIFY | unix.IN_ATTRIB | unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF

// newWatch watches folders, but not those below them.
func newWatch(folders []string) (*watch, error) {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return nil, err
	}
	w := &watch{fd}
	for _, folder := range folders {
		if _, err := unix.InotifyAddWatch(fd, folder, watched); err != nil {
			w.close()
			return nil, err
		}
	}
	return w, nil
}

// quiet reports whether nothing has changed since the watch began.
func (w *watch) quiet() bool {
	_, err := unix.Read(w.fd, make([]byte, unix.SizeofInotifyEvent+unix.NAME_MAX+1))
	return errors.Is(err, unix.EAGAIN)
}

func (w *watch) close() { _ = unix.Close(w.fd) }
