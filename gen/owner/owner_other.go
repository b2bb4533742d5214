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

// processStart stands for the start of this process, whose own start these systems tell in ways of their own: two
// processes that have one number, one after the other, differ by it.
var processStart = strconv.FormatInt(time.Now().UnixNano(), 36)

// Self is this process.
func Self() (Owner, error) {
	return Owner{UID: os.Geteuid(), PID: os.Getpid(), Start: processStart}, nil
}

var errGone = errors.New("no such process")

// started can tell only whether there is such a process. One that is not this one is taken for whoever had the number
// before: better to leave something behind than to take it from somebody.
func started(pid int) (string, error) {
	if pid == os.Getpid() {
		return processStart, nil
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return "", errGone
	}
	defer p.Release()
	if runtime.GOOS != "windows" { // FindProcess says it there
		if err := p.Signal(syscall.Signal(0)); errors.Is(err, os.ErrProcessDone) || errors.Is(err, syscall.ESRCH) {
			return "", errGone
		}
	}
	return "", errors.New("the system does not tell when a process started")
}

func isGone(err error) bool { return errors.Is(err, errGone) }
