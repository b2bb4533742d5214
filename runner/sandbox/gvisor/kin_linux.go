package gvisor

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// kin are the two processes that runsc starts for a guest: gVisor's kernel, with the guest's processes in it, and the
// one that serves files. They were told to end with runsc; this makes sure of it.
type kin struct {
	mu     sync.Mutex
	kernel relative
	files  relative
}

// relative is a process and a descriptor that stands for it and no other of its number.
type relative struct {
	pid, fd int
}

// find looks for those that are not known yet among the children of runsc.
func (k *kin) find(runsc int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kernel.pid != 0 && k.files.pid != 0 {
		return
	}
	for _, pid := range children(runsc) {
		line, err := os.ReadFile(procFile(pid, "cmdline"))
		if err != nil {
			continue
		}
		name, _, _ := bytes.Cut(line, []byte{0})
		switch string(name) {
		case "runsc-sandbox":
			k.kernel.take(pid)
		case "runsc-gofer":
			k.files.take(pid)
		}
	}
}

func (r *relative) take(pid int) {
	if r.pid != 0 {
		return
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	r.pid, r.fd = pid, fd
}

// pids returns the numbers; 0 for one that is not known.
func (k *kin) pids() (kernel, files int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.kernel.pid, k.files.pid
}

// filesTime is how long the process that serves files may take to end once nobody asks it any more.
const filesTime = 200 * time.Millisecond

// killKernel kills gVisor's kernel, and waits a little for the process that serves files: it first finishes what it was
// asked. Killed between making a file and giving it to the guest's user, it would leave one that no later run may write.
func (k *kin) killKernel() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kernel.pid == 0 || k.files.pid == 0 {
		return
	}
	if unix.PidfdSendSignal(k.kernel.fd, unix.SIGKILL, nil, 0) == nil {
		ended(k.files.fd, time.Now().Add(filesTime))
	}
}

func (k *kin) kill() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range []relative{k.kernel, k.files} {
		if r.pid != 0 {
			_ = unix.PidfdSendSignal(r.fd, unix.SIGKILL, nil, 0)
		}
	}
}

// endTime is how long killed processes may take to be gone.
const endTime = 10 * time.Second

// wait returns when they are gone; nothing may be asked of k after that.
func (k *kin) wait() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	deadline := time.Now().Add(endTime)
	var errs []error
	for _, r := range []*relative{&k.kernel, &k.files} {
		if r.pid == 0 {
			continue
		}
		if !ended(r.fd, deadline) {
			errs = append(errs, fmt.Errorf("process %d of gVisor does not end", r.pid))
		}
		unix.Close(r.fd)
		*r = relative{}
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

func procFile(pid int, name string) string { return filepath.Join("/proc", strconv.Itoa(pid), name) }

// children lists the child processes of pid's threads.
func children(pid int) []int {
	var kids []int
	files, _ := filepath.Glob(procFile(pid, "task/*/children"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for f := range strings.FieldsSeq(string(text)) {
			if kid, err := strconv.Atoi(f); err == nil {
				kids = append(kids, kid)
			}
		}
	}
	return kids
}
