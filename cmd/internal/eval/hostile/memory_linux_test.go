package hostile

import (
	"os"
	"syscall"
)

// maxMemory is the largest resident set of a process that has ended, in bytes.
func maxMemory(p *os.ProcessState) int64 {
	if usage, ok := p.SysUsage().(*syscall.Rusage); ok {
		return usage.Maxrss << 10
	}
	return 0
}
