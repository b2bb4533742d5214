package cgroup

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// unguarded leaves groups behind if the test is killed.
func unguarded(...string) (release func(), err error) { return func() {}, nil }

// group creates a group that is removed after the test. On most machines only root can do this.
func group(t *testing.T, id string, limits Limits) *Group {
	t.Helper()
	g, missing := New("test-"+id, limits, unguarded)
	if g == nil && os.Getenv("CI") == "" {
		t.Skip(missing)
	}
	if g == nil || len(missing) > 0 {
		t.Fatal(missing)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// start starts a program in g and returns its process ID. The program is killed after the test.
func start(t *testing.T, g *Group, name string, args ...string) (pid int, ended <-chan struct{}) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	errc, done := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		errc <- g.Start(cmd.SysProcAttr, cmd.Start)
		_ = cmd.Wait() // the thread must live as long as its child
		close(done)
	}()
	if err := <-errc; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd.Process.Pid, done
}

// TestWithoutGroup checks that a nil Group can be used.
func TestWithoutGroup(t *testing.T) {
	var g *Group
	ran := false
	if err := g.Start(&syscall.SysProcAttr{}, func() error { ran = true; return nil }); err != nil || !ran {
		t.Error(err, ran)
	}
	g.Kill()
	if _, ok := g.CPU(); ok || g.BoundsMemory() || g.SetLimits(Limits{Memory: 1}) != nil || g.Close() != nil {
		t.Error("a nil group has figures")
	}
}

// TestEnteredByHalves checks that nothing is started, and the thread is in no group, if one controller's group cannot be entered.
func TestEnteredByHalves(t *testing.T) {
	g := group(t, "halves", Limits{Memory: 64 << 20, Tasks: 16})
	if g.unified {
		t.Log("there is one group for all controllers")
		return
	}
	if err := os.Remove(g.dirs[pids]); err != nil {
		t.Fatal(err)
	}
	for range 10 { // the order of the controllers differs
		runtime.LockOSThread()
		ran := false
		err := g.Start(&syscall.SysProcAttr{}, func() error { ran = true; return nil })
		mine, readErr := os.ReadFile("/proc/thread-self/cgroup")
		runtime.UnlockOSThread()
		if err == nil || ran || readErr != nil || strings.Contains(string(mine), "-test-") {
			t.Fatalf("%v, started: %v; the thread is in %s", err, ran, mine)
		}
	}
}

func TestProcessesAreBornInTheirGroup(t *testing.T) {
	g := group(t, "born", Limits{Memory: 64 << 20, Tasks: 16})
	pid, _ := start(t, g, "sh", "-c", "sleep 60 & sleep 60")
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	if err != nil || strings.Count(string(text), "-test-") == 0 {
		t.Errorf("the process is elsewhere: %v\n%s", err, text)
	}
	mine, err := os.ReadFile("/proc/self/cgroup")
	if err != nil || strings.Contains(string(mine), "-test-") {
		t.Errorf("this process is in it: %v, want no \"-test-\" in it and no error\n%s", err, mine)
	}
	began := time.Now()
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if time.Since(began) > removeTime {
		t.Errorf("removed after %v, want at most %v", time.Since(began), removeTime)
	}
	for _, dir := range g.folders() {
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s is left: got no error, want an error", dir)
		}
	}
}

func TestLimitsHoldAndAreNoticed(t *testing.T) {
	g := group(t, "limits", Limits{Memory: 256 << 20, Tasks: 8})
	if err := g.SetLimits(Limits{Memory: 32 << 20}); err != nil {
		t.Error(err)
	}
	if u, _ := g.Use(); u.OutOfMemory+u.OutOfTasks != 0 {
		t.Errorf("limits were reported as reached before anything ran: %+v, want u.OutOfMemory+u.OutOfTasks 0", u)
	}
	start(t, g, "tail", "/dev/zero") // it looks for the end of a line, and keeps what it has read
	start(t, g, "sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 60 & done; wait")
	u, _ := g.Use()
	for end := time.Now().Add(20 * time.Second); u.OutOfMemory == 0 || u.OutOfTasks == 0; u, _ = g.Use() {
		if time.Now().After(end) {
			t.Fatalf("not reported as reached: %+v", u)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if u.Memory < 16<<20 || u.Memory > 32<<20 {
		t.Errorf("Use().Memory = %d, want 16 to 32 MiB", u.Memory)
	}
	if used, ok := g.CPU(); !ok || used <= 0 {
		t.Errorf("processor time %v, %v", used, ok)
	}
}

// A group is found again through one of its processes, with its figures.
func TestGroupOfAProcess(t *testing.T) {
	g := group(t, "found", Limits{Memory: 64 << 20, Tasks: 8})
	pid, ended := start(t, g, "sh", "-c", "while :; do :; done")
	if _, err := Of(pid, "another"); err == nil {
		t.Error("found under another name: got no error, want an error")
	}
	found, err := Of(pid, "found")
	if err != nil {
		t.Fatal(err)
	}
	all, err := found.PIDs()
	if err != nil || len(all) != 1 || all[0] != pid {
		t.Errorf("processes %v, %v, want %d", all, err, pid)
	}
	spent := func() time.Duration {
		u, ok := found.Use()
		if !ok || u.Memory == 0 || u.OutOfMemory+u.OutOfTasks != 0 {
			t.Errorf("use %+v, %v", u, ok)
		}
		return u.CPU
	}
	for spent() < 20*time.Millisecond {
		time.Sleep(5 * time.Millisecond)
	}
	before := spent()
	for spent() == before {
		time.Sleep(5 * time.Millisecond)
	}
	g.Kill()
	<-ended
	if _, whole := found.Use(); !whole {
		t.Error("the figures are incomplete although the group exists")
	}
	if err := Remove(found.dirs[pids]); err != nil {
		t.Fatal(err)
	}
	if u, whole := found.Use(); whole {
		t.Errorf("the figures are complete without a part of the group: %+v", u)
	}
}

// TestGroupsDoNotNest: /proc/self describes the first thread, which may be in a group to start something there while another thread creates
// a group of its own. If one were below the other, it would be removed with everything in it.
func TestGroupsDoNotNest(t *testing.T) {
	outer := group(t, "outer", Limits{})
	inside, leave := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	onFirst <- func() {
		done <- outer.Start(&syscall.SysProcAttr{}, func() error {
			close(inside)
			<-leave
			return nil
		})
	}
	<-inside
	inner, missing := New("test-inner", Limits{}, unguarded)
	close(leave)
	if err := <-done; err != nil || inner == nil {
		t.Fatal(err, missing)
	}
	defer inner.Close()
	for _, dir := range inner.folders() {
		if strings.Contains(filepath.Dir(dir), "-test-") {
			t.Errorf(`%s is below another group, want no "-test-" in it`, dir)
		}
	}
}

// TestOwnGroups looks up this process's groups while some of its threads are in others.
func TestOwnGroups(t *testing.T) {
	g := group(t, "entered", Limits{})
	want := ownGroups()
	stop := make(chan struct{})
	var entering, asking sync.WaitGroup
	for range 16 {
		entering.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				runtime.LockOSThread()
				if err := g.Start(&syscall.SysProcAttr{}, func() error { return nil }); err != nil {
					t.Error(err)
				}
				runtime.UnlockOSThread()
			}
		})
		asking.Go(func() {
			for range 500 {
				if got := ownGroups(); !maps.Equal(got, want) {
					t.Errorf("%v, want %v", got, want)
					return
				}
			}
		})
	}
	asking.Wait()
	close(stop)
	entering.Wait()
}

// onFirst calls functions on the process's first thread.
var onFirst = make(chan func())

// The main goroutine runs on the first thread, and stays there.
var _ = func() struct{} { runtime.LockOSThread(); return struct{}{} }()

func TestMain(m *testing.M) {
	code := make(chan int)
	go func() { code <- m.Run() }()
	for {
		select {
		case f := <-onFirst:
			f()
		case c := <-code:
			os.Exit(c)
		}
	}
}
