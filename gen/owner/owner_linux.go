package owner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// Self returns the name of this process.
func Self() (Owner, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return Owner{}, fmt.Errorf("name this process: %w", err)
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return Owner{}, fmt.Errorf("name this process: %w", err)
	}
	start, err := started(os.Getpid())
	if err != nil {
		return Owner{}, fmt.Errorf("name this process: %w", err)
	}
	return Owner{
		Boot: strings.TrimSpace(string(boot)), Space: strings.Trim(space, "pid:[]"),
		UID: os.Geteuid(), PID: os.Getpid(), Start: start,
	}, nil
}

// started returns when a process started, in ticks since the boot. The process name before that field may contain any character. A zombie
// counts as not existing.
func started(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	text := string(stat)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	const startTime = 22 - 3 // number of the field in proc(5), counted from the field after the name
	if len(fields) <= startTime {
		return "", fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	if fields[0] == "Z" || fields[0] == "X" {
		return "", fs.ErrNotExist
	}
	return fields[startTime], nil
}

// isGone reports whether err means that the process does not exist.
func isGone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
}
