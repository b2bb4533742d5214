package embedded

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// plainAttributes puts the child into a new process group, so that only the host handles a Ctrl-C in the terminal. It sets no
// parent-death signal, which would be sent when the thread that forked ends; the child exits when its bridge closes.
func plainAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

const watchInterval = 50 * time.Millisecond

// guard calls over when the process uses more memory than its limit. The returned function stops watching and returns the peak
// that was seen, in bytes.
func guard(child *os.Process, limits sandbox.Limits, over func(limit string)) (stop func() int64, err error) {
	var (
		most int64
		end  = make(chan struct{})
		wg   sync.WaitGroup
		once sync.Once
	)
	wg.Go(func() {
		tick := time.NewTicker(watchInterval)
		defer tick.Stop()
		for {
			used := residentMemory(child.Pid)
			if most = max(most, used); used > limits.Memory {
				over(sandbox.LimitMemory)
				return
			}
			select {
			case <-end:
				return
			case <-tick.C:
			}
		}
	})
	return func() int64 {
		once.Do(func() { close(end) })
		wg.Wait()
		return most
	}, nil
}

// residentMemory returns the anonymous memory of a process in bytes. Pages of its executable do not count.
func residentMemory(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	f := bytes.Fields(text)
	if len(f) < 3 {
		return 0
	}
	resident, _ := strconv.ParseInt(string(f[1]), 10, 64)
	shared, _ := strconv.ParseInt(string(f[2]), 10, 64)
	return (resident - shared) * int64(os.Getpagesize())
}
