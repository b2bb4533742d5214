package embedded

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

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
