package daemon

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
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

// endingPath returns a new path for the socket of a daemon that is ending. It is no longer than that of socketName, because
// systems bound the paths of sockets.
func endingPath(dir string) string { return filepath.Join(dir, "e"+rand.Text()[:5]+".sock") }

// endingPaths returns the sockets of daemons that are ending.
func endingPaths(dir string) []string {
	paths, _ := filepath.Glob(filepath.Join(dir, "e?????.sock")) // the pattern is well formed
	return paths
}

// dial connects to the daemon and checks that it is this user's. The error is errAbsent if there is none.
func dial(ctx context.Context, dir string) (net.Conn, error) {
	return dialAt(ctx, dir, socketPath(dir))
}

// dialAt connects to a daemon by the path of its socket, which is in dir.
func dialAt(ctx context.Context, dir, path string) (net.Conn, error) {
	if !Supported {
		return nil, errAbsent
	}
	if err := checkPrivate(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, errAbsent
	} else if err != nil {
		return nil, err
	}
	dialer := net.Dialer{Timeout: dialTime}
	conn, err := dialer.DialContext(ctx, "unix", path)
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

// listener is the daemon's socket, and the lock that allows this process to have it.
type listener struct {
	net.Listener
	self os.FileInfo // of the socket
	lock *os.File
	once sync.Once

	mu   sync.Mutex
	path string
}

// errRunning reports that another daemon listens.
var errRunning = errors.New("a daemon is already running")

// listen creates the socket. One that a dead daemon left is replaced; with a running daemon the error is errRunning.
func listen(dir string) (_ *listener, err error) {
	if err := makePrivate(dir); err != nil {
		return nil, err
	}
	held, err := lock(dir, lockName, false)
	if errors.Is(err, errLocked) {
		return nil, errRunning
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			held.Close()
		}
	}()
	path := socketPath(dir)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove the socket that a dead daemon left: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen for commands: %w", err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // the path may be another daemon's by then
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, fmt.Errorf("listen for commands: %w", err)
	}
	self, err := os.Lstat(path)
	if err != nil {
		l.Close()
		return nil, fmt.Errorf("listen for commands: %w", err)
	}
	return &listener{Listener: l, path: path, self: self, lock: held}, nil
}

// handOver lets another daemon listen: it frees the socket's path, then the lock. This socket goes on under another path,
// by which clients can stop this daemon.
func (l *listener) handOver() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	path := endingPath(filepath.Dir(l.path))
	if st, err := os.Lstat(l.path); err != nil || !os.SameFile(st, l.self) {
		return l.lock.Close() // the path is no longer this socket's
	}
	if err := os.Rename(l.path, path); err != nil {
		return errors.Join(err, os.Remove(l.path), l.lock.Close())
	}
	l.path = path
	return l.lock.Close()
}

// Close closes and removes the socket.
func (l *listener) Close() (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.once.Do(func() {
		if st, err := os.Lstat(l.path); err == nil && os.SameFile(st, l.self) {
			_ = os.Remove(l.path)
		}
		err = l.Listener.Close()
		_ = l.lock.Close() // handOver may have closed it
	})
	return err
}
