//go:build !linux

package owner

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// processStart replaces the start time of this process, which each of these systems reports in a different way. It distinguishes successive
// processes with the same number.
var processStart = strconv.FormatInt(time.Now().UnixNano(), 36)

// Self returns the name of this process.
func Self() (Owner, error) {
	return Owner{UID: os.Geteuid(), PID: os.Getpid(), Start: processStart}, nil
}

var errGone = errors.New("no such process")

// started finds out only whether the process exists. If it exists and is not this process, it may be the owner. Leaving something behind is
// better than removing something in use.
func started(pid int) (string, error) {
	if pid == os.Getpid() {
		return processStart, nil
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return "", errGone
	}
	defer p.Release()
	if runtime.GOOS != "windows" { // there, FindProcess has already reported it
		if err := p.Signal(syscall.Signal(0)); errors.Is(err, os.ErrProcessDone) || errors.Is(err, syscall.ESRCH) {
			return "", errGone
		}
	}
	return "", errors.New("this system does not report when a process started")
}

func isGone(err error) bool { return errors.Is(err, errGone) }
