package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"
)

const (
	socketName = "daemon.sock"
	// lockName is locked by the daemon that listens, startName by a client that starts one.
	lockName  = "daemon.lock"
	startName = "start.lock"
)

// dialTime bounds connecting, helloTime the first message of each side.
const (
	dialTime  = 2 * time.Second
	helloTime = 5 * time.Second
)

// errAbsent reports that no daemon listens.
var errAbsent = errors.New("no daemon is running")

func socketPath(dir string) string { return filepath.Join(dir, socketName) }

// dial connects to the daemon and checks that it is this user's. The error is errAbsent if there is none.
func dial(ctx context.Context, dir string) (net.Conn, error) {
	if !Supported {
		return nil, errAbsent
	}
	if err := checkPrivate(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, errAbsent
	} else if err != nil {
		return nil, err
	}
	dialer := net.Dialer{Timeout: dialTime}
	conn, err := dialer.DialContext(ctx, "unix", socketPath(dir))
	if isAbsent(err) {
		return nil, errAbsent
	}
	if err != nil {
		return nil, fmt.Errorf("connect to the daemon: %w", err)
	}
	if err := checkPeer(conn); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// checkPeer checks that the process at the other end is this user's.
func checkPeer(conn net.Conn) error {
	unix, ok := conn.(*net.UnixConn)
	if !ok {
		return errors.New("the daemon's connection is not a Unix socket")
	}
	uid, err := peerUser(unix)
	if err != nil {
		return fmt.Errorf("identify the other end of the daemon's socket: %w", err)
	}
	return sameUser(uid, os.Geteuid())
}

func sameUser(peer, self int) error {
	if peer != self {
		return fmt.Errorf("the other end of the daemon's socket belongs to user %d, not to user %d", peer, self)
	}
	return nil
}

// listener is the daemon's socket, with the lock that entitles this process to it.
type listener struct {
	net.Listener
	lock *os.File
}

// Close removes the socket, and then lets another daemon listen.
func (l *listener) Close() error { return errors.Join(l.Listener.Close(), l.lock.Close()) }

// ErrRunning is returned by [Serve] if another daemon uses the folder.
var ErrRunning = errors.New("a daemon is already running")

// listen creates the socket, replacing one left by a dead daemon. If a daemon is running, the error is ErrRunning.
func listen(dir string) (*listener, error) {
	if err := makePrivate(dir); err != nil {
		return nil, err
	}
	held, err := lock(dir, lockName, false)
	if errors.Is(err, errLocked) {
		return nil, ErrRunning
	}
	if err != nil {
		return nil, err
	}
	path := socketPath(dir)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(fmt.Errorf("remove the socket that a dead daemon left: %w", err), held.Close())
	}
	l, err := net.Listen("unix", path)
	if err == nil {
		err = os.Chmod(path, 0o600)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen for commands: %w", err), held.Close())
	}
	return &listener{Listener: l, lock: held}, nil
}
