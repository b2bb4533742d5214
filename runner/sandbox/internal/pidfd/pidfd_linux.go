package pidfd

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Process is a process that was alive at Open. It is safe for concurrent use.
type Process struct {
	PID  int
	file *os.File
}

// Open opens the process pid. The caller must then check that it is the intended process.
func Open(pid int) (*Process, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, fmt.Errorf("open a handle for process %d: %w", pid, err)
	}
	if err := unix.SetNonblock(fd, true); err != nil { // lets waiting not block a thread
		unix.Close(fd)
		return nil, fmt.Errorf("open a handle for process %d: %w", pid, err)
	}
	return &Process{PID: pid, file: os.NewFile(uintptr(fd), "pidfd")}, nil
}

// Kill kills the process, unless it has ended.
func (p *Process) Kill() error {
	conn, err := p.file.SyscallConn()
	if err != nil {
		return err
	}
	var killed error
	if err := conn.Control(func(fd uintptr) { killed = unix.PidfdSendSignal(int(fd), unix.SIGKILL, nil, 0) }); err != nil {
		return err
	}
	if errors.Is(killed, unix.ESRCH) {
		return nil
	}
	return killed
}

// Ended reports whether the process has ended, or p is closed.
func (p *Process) Ended() bool {
	conn, err := p.file.SyscallConn()
	if err != nil {
		return true
	}
	over := false
	err = conn.Control(func(fd uintptr) { over = readable(fd) })
	return over || err != nil
}

// Wait returns when the process has ended, or p is closed.
func (p *Process) Wait() { p.wait(time.Time{}) }

// WaitUntil waits for the end of the process until the deadline, and reports whether it has ended.
func (p *Process) WaitUntil(deadline time.Time) bool {
	p.wait(deadline)
	return p.Ended()
}

func (p *Process) wait(deadline time.Time) {
	conn, err := p.file.SyscallConn()
	if err != nil || p.file.SetReadDeadline(deadline) != nil {
		return
	}
	_ = conn.Read(readable) // an error means that it was closed, or that time is up
}

// Close releases the descriptor.
func (p *Process) Close() error { return p.file.Close() }

func readable(fd uintptr) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	return err == nil && n > 0
}
