package gvisor

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox/internal/pidfd"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/proctree"
)

// processes are the two processes that runsc starts for a guest: gVisor's kernel, which runs the guest's processes, and the gofer, which
// serves files. They normally end with runsc; kill and wait make sure of it.
type processes struct {
	mu     sync.Mutex
	kernel *pidfd.Process // nil until it is found
	gofer  *pidfd.Process
}

// find looks for the processes among runsc's children. It returns their process IDs, or 0 for one that does not exist.
func (p *processes) find(runsc int) (kernel, gofer int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kernel == nil || p.gofer == nil {
		children, _ := proctree.Children(runsc)
		for _, pid := range children {
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			name, _, _ := bytes.Cut(line, []byte{0})
			switch found := string(name); {
			case found == "runsc-sandbox" && p.kernel == nil:
				p.kernel, _ = pidfd.Open(pid) // an error means that it has ended
			case found == "runsc-gofer" && p.gofer == nil:
				p.gofer, _ = pidfd.Open(pid)
			}
		}
	}
	return pidOf(p.kernel), pidOf(p.gofer)
}

func pidOf(p *pidfd.Process) int {
	if p == nil {
		return 0
	}
	return p.PID
}

// goferTime is how long the gofer may take to end after gVisor's kernel.
const goferTime = 200 * time.Millisecond

// killKernel kills gVisor's kernel, and waits briefly for the gofer to finish its request. If the gofer were killed between creating a file
// and changing its owner, no later run could write to that file.
func (p *processes) killKernel() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kernel != nil && p.gofer != nil && p.kernel.Kill() == nil {
		p.gofer.WaitUntil(time.Now().Add(goferTime))
	}
}

func (p *processes) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, process := range []*pidfd.Process{p.kernel, p.gofer} {
		if process != nil {
			_ = process.Kill()
		}
	}
}

// endTime is how long killed processes may take to end.
const endTime = 10 * time.Second

// wait waits until both have ended. It is called last.
func (p *processes) wait() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	deadline := time.Now().Add(endTime)
	var errs []error
	for _, process := range []*pidfd.Process{p.kernel, p.gofer} {
		if process == nil {
			continue
		}
		if !process.WaitUntil(deadline) {
			errs = append(errs, fmt.Errorf("gVisor process %d does not end", process.PID))
		}
		process.Close()
	}
	p.kernel, p.gofer = nil, nil
	return errors.Join(errs...)
}
