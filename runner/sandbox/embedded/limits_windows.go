package embedded

import (
	"fmt"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

const (
	// codeQuota is the exit code of a process that used up its processor time (ERROR_NOT_ENOUGH_QUOTA).
	codeQuota = 1816
	// codeNoMemory is the exit code of a guest whose engine reached its memory limit. Scripts cannot exit with codes above 255.
	codeNoMemory = 0x20000017
)

// guard enforces the child's limits with a job object: memory, processor time, and a single process. The child is killed when
// the host ends, because only the host has the job open. The returned function closes the job and returns the peak memory in
// bytes.
func guard(child *os.Process, limits sandbox.Limits) (stop func() int64, err error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, fmt.Errorf("create a job object: %w", err)
	}
	defer func() {
		if err != nil {
			windows.CloseHandle(job)
		}
	}()
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{ProcessMemoryLimit: uintptr(limits.Memory)}
	basic := &info.BasicLimitInformation
	basic.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | windows.JOB_OBJECT_LIMIT_PROCESS_MEMORY | windows.JOB_OBJECT_LIMIT_ACTIVE_PROCESS
	basic.ActiveProcessLimit = 1
	if limits.CPU > 0 {
		basic.LimitFlags |= windows.JOB_OBJECT_LIMIT_PROCESS_TIME
		basic.PerProcessUserTimeLimit = int64(limits.CPU / (100 * time.Nanosecond))
	}
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))); err != nil {
		return nil, fmt.Errorf("limit a job object: %w", err)
	}
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(child.Pid))
	if err != nil {
		return nil, fmt.Errorf("open the engine's process: %w", err)
	}
	defer windows.CloseHandle(process)
	if err := windows.AssignProcessToJobObject(job, process); err != nil {
		return nil, fmt.Errorf("put the engine's process into a job object: %w", err)
	}
	return func() int64 {
		defer windows.CloseHandle(job)
		if windows.QueryInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil) != nil {
			return 0
		}
		return int64(info.PeakProcessMemoryUsed)
	}, nil
}

// endedBy returns the name of the limit for which the system killed the child, or "".
func endedBy(s *os.ProcessState, limits sandbox.Limits, most int64) string {
	switch {
	case s.ExitCode() == codeNoMemory:
		return sandbox.LimitMemory
	case s.ExitCode() == codeQuota && limits.CPU > 0:
		return sandbox.LimitCPU
	case s.ExitCode() != 0 && most > limits.Memory-limits.Memory/16: // an allocation failed
		return sandbox.LimitMemory
	}
	return ""
}
