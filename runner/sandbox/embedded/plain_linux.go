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

// plainAttributes: a process group of its own, so that a Ctrl-C in the terminal is the host's to handle. The
// parent-death signal is left out: it would fire when the thread that forked ends. The bridge's end serves instead.
func plainAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

const watchInterval = 50 * time.Millisecond

// guard calls over when the process uses more memory than its limit. The returned function ends the watch and returns
// the most it saw, in bytes.
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

// residentMemory is the process's anonymous memory; pages of its binary don't count.
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
