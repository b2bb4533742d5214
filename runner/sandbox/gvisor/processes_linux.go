package gvisor

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runner/sandbox/internal/proctree"
)

// processes are the two that runsc starts for a guest: gVisor's kernel, which runs the guest's processes, and the gofer, which
// serves files. They end with runsc; kill and wait make sure of it.
type processes struct {
	mu     sync.Mutex
	kernel handle
	gofer  handle
}

// handle is a process and its pidfd, so that a reused PID is never signalled.
type handle struct{ pid, fd int }

// find looks for the processes among runsc's children. It returns their process IDs, 0 for one that does not exist.
func (p *processes) find(runsc int) (kernel, gofer int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kernel.pid != 0 && p.gofer.pid != 0 {
		return p.kernel.pid, p.gofer.pid
	}
	children, _ := proctree.Children(runsc)
	for _, pid := range children {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		name, _, _ := bytes.Cut(line, []byte{0})
		h := map[string]*handle{"runsc-sandbox": &p.kernel, "runsc-gofer": &p.gofer}[string(name)]
		if h == nil || h.pid != 0 {
			continue
		}
		if fd, err := unix.PidfdOpen(pid, 0); err == nil {
			*h = handle{pid, fd}
		}
	}
	return p.kernel.pid, p.gofer.pid
}

// goferTime is how long the gofer may take to end after gVisor's kernel.
const goferTime = 200 * time.Millisecond

// killKernel kills gVisor's kernel, and waits briefly for the gofer to finish its request. If it were killed between creating a
// file and changing its owner, no later run could write to that file.
func (p *processes) killKernel() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kernel.pid == 0 || p.gofer.pid == 0 {
		return
	}
	if unix.PidfdSendSignal(p.kernel.fd, unix.SIGKILL, nil, 0) == nil {
		ended(p.gofer.fd, time.Now().Add(goferTime))
	}
}

func (p *processes) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range []handle{p.kernel, p.gofer} {
		if h.pid != 0 {
			_ = unix.PidfdSendSignal(h.fd, unix.SIGKILL, nil, 0)
		}
	}
}

// endTime is how long killed processes may take to be gone.
const endTime = 10 * time.Second

// wait waits until both have ended. It is called last.
func (p *processes) wait() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	deadline := time.Now().Add(endTime)
	var errs []error
	for _, h := range []*handle{&p.kernel, &p.gofer} {
		if h.pid == 0 {
			continue
		}
		if !ended(h.fd, deadline) {
			errs = append(errs, fmt.Errorf("process %d of gVisor does not end", h.pid))
		}
		unix.Close(h.fd)
		*h = handle{}
	}
	return errors.Join(errs...)
}

func ended(pidfd int, deadline time.Time) bool {
	for {
		left := time.Until(deadline)
		if left <= 0 {
			return false
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, int(left.Milliseconds())+1)
		if n > 0 {
			return true
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return false
		}
	}
}
