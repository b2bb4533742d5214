package thread

import (
	"errors"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestSpare makes many calls at once while no thread but the first one is free, so that some goroutine gets the first thread.
func TestSpare(t *testing.T) {
	want := errors.New("said by f")
	var mu sync.Mutex
	var used []int
	var all sync.WaitGroup
	for range 500 {
		all.Go(func() {
			err := Spare(func() error {
				mu.Lock()
				used = append(used, unix.Gettid())
				mu.Unlock()
				return errors.Join(want, unix.Unshare(unix.CLONE_FS))
			})
			if err == nil || err.Error() != want.Error() {
				t.Errorf("error %v", err)
			}
		})
	}
	all.Wait()
	for _, tid := range used {
		if tid == os.Getpid() {
			t.Fatal("it was the first thread")
		}
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		left := 0
		for _, tid := range used {
			if _, err := os.Stat("/proc/self/task/" + strconv.Itoa(tid)); err == nil {
				left++
			}
		}
		if left == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d threads are still there", left)
		}
	}
}

// TestGo makes many calls at once while the first thread is free for some of them, as it is in a program whose main function waits.
func TestGo(t *testing.T) {
	var mu sync.Mutex
	used := make(map[int]int)
	var all, together sync.WaitGroup
	together.Add(100)
	for range 100 {
		all.Add(1)
		Go(func() {
			defer all.Done()
			tid := unix.Gettid()
			together.Done()
			together.Wait() // all hold their threads at the same time
			mu.Lock()
			defer mu.Unlock()
			if unix.Gettid() != tid {
				t.Error("the goroutine has changed threads")
			}
			used[tid]++
		})
	}
	all.Wait()
	if used[os.Getpid()] != 0 {
		t.Error("it was the first thread")
	}
	if len(used) != 100 {
		t.Errorf("%d threads for 100 at once, want 100", len(used))
	}
}
