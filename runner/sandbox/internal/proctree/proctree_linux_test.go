package proctree

import (
	"bufio"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The usage of a process and its descendants is visible from outside.
func TestMeasure(t *testing.T) {
	cmd := exec.Command("python3", "-c", `
import os, sys, time
held = bytearray(b"x") * (64 << 20)
end = time.process_time() + 0.3
while time.process_time() < end: pass
if os.fork() == 0: time.sleep(60)
print("up", flush=True)
time.sleep(60)`)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var child int
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
		if child > 0 {
			exec.Command("kill", "-9", strconv.Itoa(child)).Run()
		}
	}()
	if !bufio.NewScanner(out).Scan() {
		t.Fatal("it does not come up")
	}
	tree := &Tree{Root: cmd.Process.Pid, MaxTasks: 100, MaxMemory: 1 << 20}
	r := tree.Measure()
	for _, pid := range r.PIDs {
		if pid != cmd.Process.Pid {
			child = pid
		}
	}
	// Pages that both share count once.
	if r.Tasks != 2 || !slices.Contains(r.PIDs, cmd.Process.Pid) || r.Memory < 64<<20 || r.Memory > 120<<20 || r.CPU < 250*time.Millisecond {
		t.Errorf("Measure() = %+v, want 2 tasks, 64 to 120 MiB and 250 ms at least", r)
	}
	tree.MaxTasks = 0
	if r := tree.Measure(); r.Tasks == 0 {
		t.Errorf("Measure() = %+v, want the tasks of the first process", r)
	}
}

func TestFewWatches(t *testing.T) {
	e, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(e)
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(ends[0])
	defer unix.Close(ends[1])
	watch := func(from, to int) {
		t.Helper()
		for n := from; n < to; n++ {
			if err := unix.Dup3(ends[0], n, unix.O_CLOEXEC); err != nil {
				t.Fatal(err)
			}
			if err := unix.EpollCtl(e, unix.EPOLL_CTL_ADD, n, &unix.EpollEvent{Events: unix.EPOLLIN}); err != nil {
				t.Fatal(err)
			}
			unix.Close(n)
		}
	}
	var most unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &most); err != nil || most.Cur < 1000 {
		t.Fatal(most, err)
	}
	me := []int{os.Getpid()}
	watch(500, 900)
	if ManyWatches(me) {
		t.Error("400 are called many")
	}
	if ManyWatches([]int{1 << 30}) {
		t.Error("a process that is not there has many")
	}
}
