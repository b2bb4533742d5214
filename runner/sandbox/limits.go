package sandbox

import (
	"cmp"
	"time"
)

// Limits bound one run. The runner limits elapsed time by ending ctx.
type Limits struct {
	Memory    int64         // bytes of memory; zero: 500 MB
	CPU       time.Duration // processor time of all processes together; zero: no limit
	Processes int           // processes and threads; zero: 128
	Files     int           // open descriptors per process; zero: 1024
	FileSize  int64         // bytes of one file; zero: 256 MiB
	Tmp       int64         // bytes of /tmp; zero: 64 MiB
	Output    int64         // bytes of standard output and standard error together; once one of them exceeds it, up to 64 KiB of the other still pass; zero: 128 MiB
	Disk      int64         // bytes that the workspace's files may take; zero: 1 GiB
	DiskFiles int           // files and folders in the workspace; zero: 100,000
}

// The names of limits in Exit and in a run's result.
const (
	LimitMemory    = "memory"
	LimitCPU       = "cpu"
	LimitProcesses = "processes"
	LimitOutput    = "output"
	LimitDisk      = "disk"
	LimitFiles     = "files"
	LimitFileSize  = "file size"
)

// MinMemory is the smallest Limits.Memory, in bytes, with which an interpreter starts.
const MinMemory = 32_000_000

// WithDefaults fills the zero fields.
func (l Limits) WithDefaults() Limits {
	l.Memory = cmp.Or(l.Memory, 500_000_000)
	l.Processes = cmp.Or(l.Processes, 128)
	l.Files = cmp.Or(l.Files, 1024)
	l.FileSize = cmp.Or(l.FileSize, 256<<20)
	l.Tmp = cmp.Or(l.Tmp, 64<<20)
	l.Output = cmp.Or(l.Output, 128<<20)
	l.Disk = cmp.Or(l.Disk, 1<<30)
	l.DiskFiles = cmp.Or(l.DiskFiles, 100_000)
	return l
}

// LargestFile returns how many bytes one file may have, which is never more than the workspace.
func (l Limits) LargestFile() int64 { return min(l.FileSize, l.Disk) }
