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

// processes are the two that runsc starts for a guest: gVisor's kernel, with the guest's processes in it, and the gofer,
// which serves files. They were told to end with runsc; this makes sure of it.
type processes struct {
	mu     sync.Mutex
	kernel handle
	gofer  handle
}

// handle is a process and its pidfd, so that a reused PID is never signalled.
type handle struct{ pid, fd int }

// find looks for those that are not known yet among the children of runsc. It returns their numbers, 0 for one that is not
// there.
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

// goferTime is how long the gofer may take to end once nobody asks it any more.
const goferTime = 200 * time.Millisecond

// killKernel kills gVisor's kernel, and waits a little for the gofer: it first finishes what it was asked. Killed between
// making a file and giving it to the guest's user, it would leave one that no later run may write.
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

// wait returns when they are gone. Nothing else is called after that.
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
