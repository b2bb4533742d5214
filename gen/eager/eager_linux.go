package eager

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Conn is a connection. One goroutine is its ordinary reader and calls Read and Boundary; any may call Take, Write and
// Close.
//
// Its descriptor is not among those that the runtime waits for, or a thread of the runtime's would be woken for all that
// another takes. It is in a set of its own, which the runtime waits for, and is taken out of it while others wait.
type Conn struct {
	fd   int
	set  *os.File // holds fd
	raw  syscall.RawConn
	lone bool // there is one processor: nothing is to be taken

	mu     sync.Mutex
	open   bool   // the ordinary reader waits for the beginning of a message
	takers int    // how many wait in its place
	buf    []byte // what is taken is read into
	woken  bool   // something was given back: left, and after that failed
	left   []byte
	failed error
	closed bool

	users sync.WaitGroup // who uses the descriptor without the mutex
}

// New takes over a pipe or a socket that nobody else reads from or writes to. The caller must Close the Conn; from itself is
// closed before New returns, also where that fails.
func New(from File) (_ *Conn, err error) {
	c := &Conn{fd: -1, lone: runtime.GOMAXPROCS(0) == 1}
	defer func() {
		err = errors.Join(err, from.Close())
		if err != nil {
			c.abandon()
		}
	}()
	raw, err := from.SyscallConn()
	if err != nil {
		return nil, err
	}
	set := -1
	if failed := raw.Control(func(fd uintptr) { c.fd, set, err = register(int(fd)) }); failed != nil {
		return nil, failed
	}
	if err != nil {
		return nil, err
	}
	c.set = os.NewFile(uintptr(set), "descriptors")
	if err := c.set.SetReadDeadline(time.Time{}); err != nil { // the runtime cannot wait for it
		return nil, fmt.Errorf("wait for descriptors: %w", err)
	}
	c.raw, err = c.set.SyscallConn()
	return c, err
}

// register makes another descriptor for what fd is, and a set that holds it.
func register(fd int) (own, set int, err error) {
	if own, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0); err != nil {
		return -1, -1, os.NewSyscallError("fcntl", err)
	}
	if err = unix.SetNonblock(own, true); err == nil {
		set, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	}
	if err != nil {
		unix.Close(own)
		return -1, -1, os.NewSyscallError("epoll_create1", err)
	}
	if err = unix.SetNonblock(set, true); err == nil {
		err = unix.EpollCtl(set, unix.EPOLL_CTL_ADD, own, &unix.EpollEvent{Events: unix.EPOLLONESHOT})
	}
	if err != nil {
		unix.Close(own)
		unix.Close(set)
		return -1, -1, os.NewSyscallError("epoll_ctl", err)
	}
	return own, set, nil
}

// abandon closes what there is of a Conn that is none.
func (c *Conn) abandon() {
	if c.set != nil {
		c.set.Close()
	}
	if c.fd >= 0 {
		unix.Close(c.fd)
	}
}

// Close ends what waits, and returns when nobody uses the connection any more: where it is a pipe, that may take as long as
// a Take waits.
func (c *Conn) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return os.ErrClosed
	}
	c.closed, c.open = true, false
	c.mu.Unlock()
	_ = unix.Shutdown(c.fd, unix.SHUT_RDWR) // wakes who waits in the kernel; a pipe has no such thing
	err := c.set.Close()
	c.users.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(err, os.NewSyscallError("close", unix.Close(c.fd)))
}

// Write writes all of p; it waits for the other side where it must. It may be called by several at once only where they
// take turns.
func (c *Conn) Write(p []byte) (written int, err error) {
	if !c.enter() {
		return 0, os.ErrClosed
	}
	defer c.users.Done()
	for written < len(p) {
		n, errno := writeNow(c.fd, p[written:])
		switch {
		case errno == 0:
			written += n
		case errno == unix.EAGAIN:
			await(c.fd, unix.POLLOUT, -1)
		default:
			return written, os.NewSyscallError("write", errno)
		}
	}
	return written, nil
}

// enter lets the caller use the descriptor, until users.Done.
func (c *Conn) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.users.Add(1)
	}
	return !c.closed
}

// Boundary says that the next byte which Read returns begins a message, and that the caller has done with those before.
func (c *Conn) Boundary() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = !c.woken && !c.closed
}

// Read is the ordinary reader's: it waits until something has arrived.
func (c *Conn) Read(p []byte) (int, error) {
	for {
		if n, err := c.readOrArm(p); n >= 0 {
			return n, err
		}
		err := c.raw.Read(func(set uintptr) bool {
			var events [1]unix.EpollEvent
			n, err := unix.EpollWait(int(set), events[:], 0)
			return n > 0 || err != nil && !errors.Is(err, unix.EINTR)
		})
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return 0, os.ErrClosed
		}
	}
}

// readOrArm reads what is there; where that is nothing, it returns -1 and the reader is woken when there is something.
func (c *Conn) readOrArm(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return 0, os.ErrClosed
	case c.woken:
		c.open = false
		return c.returned(p)
	case c.open && c.takers > 0: // who waits in its place sees to it that it is woken
		return -1, nil
	}
	n, err := readNow(c.fd, p)
	if n >= 0 {
		c.open = false
		return n, err
	}
	if err := c.arm(arrival); err != nil {
		return 0, err
	}
	return -1, nil
}

// arrival is what the ordinary reader is woken for.
const arrival = unix.EPOLLIN | unix.EPOLLRDHUP

// arm sets what the ordinary reader is woken for, once.
func (c *Conn) arm(events uint32) error {
	return c.control(func(set int) error {
		return unix.EpollCtl(set, unix.EPOLL_CTL_MOD, c.fd, &unix.EpollEvent{Events: events | unix.EPOLLONESHOT})
	})
}

func (c *Conn) control(f func(set int) error) error {
	var err error
	if closed := c.raw.Control(func(set uintptr) { err = f(int(set)) }); closed != nil {
		return os.ErrClosed
	}
	return os.NewSyscallError("epoll_ctl", err)
}

// returned reads what was given back. The mutex is held.
func (c *Conn) returned(p []byte) (n int, err error) {
	n = copy(p, c.left)
	if c.left = c.left[n:]; len(c.left) == 0 {
		err, c.failed = c.failed, nil
		c.woken = false
		_ = c.set.SetReadDeadline(time.Time{}) // fails when it is closed, which the next Read says
	}
	return n, err
}

// Take waits at most limit for something to arrive, and hands it to use, which returns whether it has made use of all of
// it; what it gets is its own until it returns. Otherwise the ordinary reader gets it. It does not begin to wait unless
// wanted says so: what is waited for may have come to the ordinary reader. Calls of wanted and use, and what that reader
// does between Read and Boundary, never overlap. Take returns what use did; false where it was not called.
func (c *Conn) Take(limit time.Duration, wanted func() bool, use func(arrived []byte) bool) (used bool) {
	if !c.step(wanted) {
		return false
	}
	defer c.users.Done()
	await(c.fd, unix.POLLIN, limit)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.takers--
	if !c.open {
		return false
	}
	if c.buf == nil {
		c.buf = make([]byte, most)
	}
	n, err := readNow(c.fd, c.buf)
	if n > 0 && n < len(c.buf) && use(c.buf[:n]) {
		n, used = -1, true
	}
	if n < 0 {
		if c.takers == 0 {
			_ = c.arm(arrival) // fails when it is closed
		}
		return used
	}
	// Not of use, too much, or the end.
	c.open, c.left, c.failed, c.woken = false, append([]byte(nil), c.buf[:n]...), err, true
	_ = c.set.SetReadDeadline(time.Unix(1, 0))
	return false
}

// step takes the place of the ordinary reader, where that is possible now.
func (c *Conn) step(wanted func() bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.open || c.lone || !wanted() || c.takers == 0 && c.arm(0) != nil {
		return false
	}
	c.takers++
	c.users.Add(1)
	return true
}

// busyTime is how long a wait looks again and again before it sleeps: to be woken takes longer than most of what is waited for
// takes to come. Only one at a time does so, because where there are more, others have a use for the processor.
const busyTime = 120 * time.Microsecond

var busy atomic.Bool

// look looks at most so long whether a descriptor is ready, without sleeping.
func look(fds []unix.PollFd, limit time.Duration) bool {
	if !busy.CompareAndSwap(false, true) {
		return false
	}
	defer busy.Store(false)
	var now unix.Timespec
	for end := time.Now().Add(limit); time.Now().Before(end); {
		if n, _ := unix.Ppoll(fds, &now, nil); n > 0 {
			return true
		}
	}
	return false
}

// await waits until a descriptor is ready, at most so long; a negative limit is none. The runtime is told that this blocks,
// so that it gives the processor to others who need it; where none does, it stays with the caller. Signals, with which the
// runtime interrupts whoever seems to be busy, do not end it.
func await(fd int, events int16, limit time.Duration) {
	fds := []unix.PollFd{{Fd: int32(fd), Events: events}}
	if limit > 0 && look(fds, min(limit, busyTime)) {
		return
	}
	for end := time.Now().Add(limit); ; {
		var ts *unix.Timespec
		if limit >= 0 {
			t := unix.NsecToTimespec(int64(max(0, time.Until(end))))
			ts = &t
		}
		if _, err := unix.Ppoll(fds, ts, nil); err != unix.EINTR {
			return
		}
	}
}

// writeNow writes what there is room for. The runtime is not told of it: the descriptor does not block.
func writeNow(fd int, from []byte) (int, syscall.Errno) {
	for {
		n, _, errno := syscall.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&from[0])), uintptr(len(from)))
		if errno != unix.EINTR {
			return int(n), errno
		}
	}
}

// readNow reads what is there; -1 when there is nothing. The descriptor does not block.
func readNow(fd int, into []byte) (int, error) {
	for {
		n, _, errno := syscall.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&into[0])), uintptr(len(into)))
		switch {
		case errno == unix.EINTR:
		case errno == unix.EAGAIN:
			return -1, nil
		case errno != 0:
			return 0, os.NewSyscallError("read", errno)
		case n == 0:
			return 0, io.EOF
		default:
			return int(n), nil
		}
	}
}
