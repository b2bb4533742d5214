//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
)

// maxMemory is the largest resident set of a process that has ended, in MiB.
func maxMemory(p *os.ProcessState) float64 {
	usage, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return float64(usage.Maxrss) / (1 << 20) // bytes there, KiB elsewhere
	}
	return float64(usage.Maxrss) / (1 << 10)
}
