package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Start calls start, which starts a process with attr; that process is in the group from its first moment. The calling
// goroutine must be locked to its thread, and the thread is outside of the group again when Start returns without an error.
// It must not be the process's first thread: memory is counted where that one is, whichever thread takes it.
func (g *Group) Start(attr *syscall.SysProcAttr, start func() error) error {
	if g == nil {
		return start()
	}
	if g.v2 != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(g.v2.Fd())
	}
	entered, err := g.enter()
	if err != nil {
		err = fmt.Errorf("enter the control group: %w", err)
	} else {
		err = start()
	}
	for _, c := range entered {
		if leave := moveThread(g.back[c]); leave != nil && err == nil {
			err = fmt.Errorf("leave the control group: %w", leave)
		}
	}
	return err
}

// enter moves the calling thread into a group of version 1, and returns the controllers where that was done.
func (g *Group) enter() (entered []string, err error) {
	for c := range g.back {
		if err := moveThread(g.dirs[c]); err != nil {
			return entered, err
		}
		entered = append(entered, c)
	}
	return entered, nil
}

// moveThread moves the calling thread. Named 0, it does not wait for the whole system, as a move of anything else does
// for up to some tens of milliseconds: the kernel knows that it neither forks nor ends meanwhile.
func moveThread(dir string) error {
	return os.WriteFile(filepath.Join(dir, "tasks"), []byte("0"), 0o644)
}
