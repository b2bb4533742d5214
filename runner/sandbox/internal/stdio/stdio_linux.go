package stdio

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Streams are the host's ends. Their owner must call Close.
type Streams struct {
	files   [3]*os.File // stdin, stdout, stderr
	bridge  *net.UnixConn
	taken   atomic.Bool
	copying sync.WaitGroup
}

// Open creates the pipes and the socket. The guest's ends are in the order of its descriptors 0 to 3; the caller closes them once the guest
// has them.
func Open() (s *Streams, guest []*os.File, err error) {
	s = &Streams{}
	defer func() {
		if err != nil {
			CloseAll(guest)
			s.Close()
		}
	}()
	for i := range s.files {
		r, w, err := os.Pipe()
		if err != nil {
			return s, guest, fmt.Errorf("create a pipe: %w", err)
		}
		if i == 0 {
			r, w = w, r
		}
		s.files[i] = r
		guest = append(guest, w)
	}
	conn, end, err := SocketPair()
	if err != nil {
		return s, guest, err
	}
	s.bridge = conn
	return s, append(guest, end), nil
}

// SocketPair creates a connection whose second end is for a child.
func SocketPair() (*net.UnixConn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("create a socket pair: %w", err)
	}
	child, host := os.NewFile(uintptr(fds[1]), "guest"), os.NewFile(uintptr(fds[0]), "host")
	defer host.Close() // FileConn makes a copy
	conn, err := net.FileConn(host)
	if err != nil {
		child.Close()
		return nil, nil, fmt.Errorf("create a socket pair: %w", err)
	}
	return conn.(*net.UnixConn), child, nil
}

// CloseAll closes files; nil ones are skipped.
func CloseAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// Bridge returns the host's end of the bridge, and whether it was returned before. The caller must close it. If Bridge is never called,
// Close closes it.
func (s *Streams) Bridge() (conn *net.UnixConn, again bool) { return s.bridge, s.taken.Swap(true) }

// PeekBridge returns the host's end of the bridge, which the caller must not close.
func (s *Streams) PeekBridge() *net.UnixConn { return s.bridge }

// Stderr is the guest's standard error, to be read until Copy is called.
func (s *Streams) Stderr() *os.File { return s.files[2] }

// Copy connects the guest's streams to the caller's. A nil stdin is empty. Writes to stdout and stderr must not fail.
func (s *Streams) Copy(stdin io.Reader, stdout, stderr io.Writer) {
	go func() { // a reader that blocks forever blocks only this goroutine
		if stdin != nil {
			_, _ = io.Copy(s.files[0], stdin)
		}
		s.files[0].Close()
	}()
	for i, to := range []io.Writer{stdout, stderr} {
		s.copying.Go(func() { copyOutput(to, s.files[i+1]) })
	}
}

// drainTime is how long Drain waits for output.
const drainTime = time.Second

// Drain waits, after the guest has ended, until its output has been written. A pipe ends when its last
// writer closes it. If a script sent the write end through a socket, that writer outlives the guest; Drain does not wait for it.
func (s *Streams) Drain() {
	_ = s.files[0].Close()
	for _, f := range s.files[1:] {
		_ = f.SetReadDeadline(time.Now().Add(drainTime))
	}
	s.copying.Wait()
}

// Close closes the host's ends, except a bridge that Bridge has returned.
func (s *Streams) Close() {
	CloseAll(s.files[:])
	if s.bridge != nil && !s.taken.Load() {
		s.bridge.Close()
	}
}

// copyOutput copies until the end. After the read deadline it reads what the pipe still holds and stops.
func copyOutput(w io.Writer, from *os.File) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			n, err = readNow(from, buf)
		}
		if n > 0 {
			_, _ = w.Write(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

// readNow reads without waiting, ignoring the deadline.
func readNow(from *os.File, buf []byte) (n int, err error) {
	raw, err := from.SyscallConn()
	if err != nil {
		return 0, err
	}
	ctlErr := raw.Control(func(fd uintptr) { n, err = unix.Read(int(fd), buf) })
	if ctlErr != nil {
		return 0, ctlErr
	}
	if n <= 0 && err == nil {
		err = io.EOF
	}
	return max(n, 0), err
}
