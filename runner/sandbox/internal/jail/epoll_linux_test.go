//go:build linux && (amd64 || arm64)

package jail_test

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/jail"
)

// TestManyWatches: what epoll looks at is bounded for a user, so one run may not take all of it. A descriptor that was
// closed since is looked at for as long as another one has the same file.
func TestManyWatches(t *testing.T) {
	cfg := shell("")
	cfg.Program, cfg.Args = "/usr/bin/python3", []string{"-c", `
import os, select, time
held = [select.epoll() for _ in range(4)]
files = [os.pipe()[0] for _ in range(20)]
try:
    for e in held:
        for f in files:
            for n in range(200, 1000):
                os.dup2(f, n)
                e.register(n, select.EPOLLIN)
                os.close(n)
except OSError as error: print(error)
time.sleep(15)
`}
	if got := run(t, cfg); got.Killed != sandbox.LimitFiles {
		t.Errorf("%+v %q %.300s", got.Exit, got.stdout, got.stderr)
	}
	withoutRoot(t)
}

// TestManyLocks has no bound but this where no control group counts the kernel's memory.
func TestManyLocks(t *testing.T) {
	cfg := shell("")
	cfg.Program, cfg.Args = "/usr/bin/python3", []string{"-c", `
import fcntl, os, struct, time
files = [open(f"/tmp/{i}", "wb+") for i in range(200)]
try: fcntl.fcntl(files[0], 37, struct.pack("hhqqi", fcntl.F_WRLCK, 0, 0, 1, 0))
except OSError as error: print(error.strerror, flush=True)
else: print("locked", flush=True)
for n in range(2, 2000, 2): # each file's are searched one by one
    for f in files: fcntl.lockf(f, fcntl.LOCK_EX, 1, n)
time.sleep(15)
`}
	if os.Geteuid() == 0 {
		withoutRoot(t) // the group ends it later
		return
	}
	if got := run(t, cfg); got.Killed != sandbox.LimitFiles || got.stdout != "Invalid argument\n" {
		t.Errorf("%+v %q %.300s", got.Exit, got.stdout, got.stderr)
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
	if jail.ManyWatches(me, false) {
		t.Error("400 are called many")
	}
	if jail.ManyWatches([]int{1 << 30}, true) {
		t.Error("a process that is not there has many")
	}
}
