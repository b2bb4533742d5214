//go:build linux && (amd64 || arm64)

package jail

import (
	"bytes"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Functions run without namespaces where there are none; the same entries as in the other tests.

func TestWithoutNamespaces(t *testing.T) {
	var out bytes.Buffer
	c, err := start(t.Context(), Config{ID: "bare", Entry: "surface", Stdout: &out}, false)
	if err != nil {
		t.Fatal(err)
	}
	if exit, err := c.Wait(); err != nil || exit.Code != 0 || out.String() != "end\n" {
		t.Errorf("%+v %v\n%s", exit, err, out.String())
	}
}

func TestWithoutNamespacesNoFiles(t *testing.T) {
	var out bytes.Buffer
	c, err := start(t.Context(), Config{ID: "bare", Entry: "func", Stdout: &out}, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Wait(); err != nil || out.String() != "no /etc\nstart: false true\nenvironment: 0\n" {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestWithoutNamespacesOnlyItsMounts(t *testing.T) {
	dir, err := os.MkdirTemp("", "jail") // not TempDir, whose parent nobody else may enter
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	c, err := start(t.Context(), Config{ID: "bare", Entry: "paths", Args: []string{"/in"}, Stdout: &out,
		Mounts: []Mount{{Source: dir, Target: "/in", Writable: true}}}, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Wait(); err != nil || out.String() != "false\n" {
		t.Errorf("%v\n%s", err, out.String())
	}
	if _, err := os.Stat(dir + "/made"); err != nil {
		t.Error(err)
	}
}

func TestQueuesCount(t *testing.T) {
	me := []int{os.Getpid()}
	const many = 200
	for range many / 2 {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fds[0])
		defer unix.Close(fds[1])
	}
	if got := queuedMemory(me, 1<<40, false); got < many*queueSize || got > 2*many*queueSize {
		t.Errorf("%d sockets count %d", many, got)
	}
	sockets := queuedMemory(me, 1<<40, false)
	for range many {
		var ends [2]int
		if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		defer unix.Close(ends[0])
		defer unix.Close(ends[1])
	}
	if got := queuedMemory(me, 1<<40, false) - sockets; got < many*pipeSize || got > 2*many*pipeSize {
		t.Errorf("%d pipes count %d", many, got)
	}
	before := queuedMemory(me, 1<<40, false)
	for range 10 {
		events, err := unix.InotifyInit1(unix.IN_CLOEXEC)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(events)
	}
	if got := queuedMemory(me, 1<<40, false) - before; got < 10*eventsSize || got > 11*eventsSize {
		t.Errorf("10 queues of events count %d", got)
	}
	if got := queuedMemory(me, 10*queueSize, false); got < 10*queueSize || got > 12*queueSize {
		t.Errorf("looked on after enough: %d", got)
	}
}

func TestMeasureSeesThisProcess(t *testing.T) {
	block := bytes.Repeat([]byte{1}, 50<<20)
	busy := time.Now()
	for time.Since(busy) < 30*time.Millisecond {
		block[0]++
	}
	got := measure(os.Getpid(), true, 1000)
	if got.memory < 50<<20 || got.tasks < 2 || got.cpu == 0 {
		t.Errorf("got %+v", got)
	}
}
