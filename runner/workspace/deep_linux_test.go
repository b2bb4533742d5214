package workspace

import (
	"syscall"
	"testing"
	"time"
)

// deepen makes folders within folders, as a script can that goes into each, with a file of so many bytes at the end.
func deepen(t *testing.T, dir string, levels, size int) {
	t.Helper()
	at, err := syscall.Open(dir, syscall.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range levels {
		if err := syscall.Mkdirat(at, "aaa", 0o755); err != nil {
			t.Fatal(err)
		}
		next, err := syscall.Openat(at, "aaa", syscall.O_DIRECTORY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_ = syscall.Close(at)
		at = next
	}
	defer syscall.Close(at)
	file, err := syscall.Openat(at, "file", syscall.O_CREAT|syscall.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(file)
	if n, err := syscall.Write(file, make([]byte, size)); n != size {
		t.Fatal(n, err)
	}
}

// TestDeepState: to measure a state takes no time by the square of its depth.
func TestDeepState(t *testing.T) {
	const levels, size = 4000, 1 << 20
	r, _ := openTest(t, 0)
	c := customer(t, r, "acme")
	deepen(t, c.Files(), levels, size)
	t.Cleanup(func() {
		if dir, err := c.open(); err == nil {
			defer dir.Close()
			_ = removeAll(dir, stateDir)
		}
	})
	began := time.Now()
	u, err := c.Usage()
	if err != nil || u.Files != levels+1 || u.State < size {
		t.Errorf("%+v %v", u, err)
	}
	if took := time.Since(began); took > 8*time.Second { // it was 17 s
		t.Errorf("to measure it took %v", took)
	}
}

// TestRemoveDeepState: a state is removed for which there are not as many descriptors as it has levels.
func TestRemoveDeepState(t *testing.T) {
	const levels, descriptors = 1000, 400
	r, _ := openTest(t, 0)
	c := customer(t, r, "acme")
	deepen(t, c.Files(), levels, 1)
	dir, err := c.open()
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := dir.Rename(stateDir, stateOld); err != nil { // as a restore that died
		t.Fatal(err)
	}
	if err := dir.Mkdir(stateDir, 0o700); err != nil {
		t.Fatal(err)
	}
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: descriptors, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	lease, err := c.Begin(t.Context(), 0)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.Close(); err != nil {
		t.Error(err)
	}
	if _, err := dir.Lstat(stateOld); err == nil {
		t.Error("it is there still")
	}
}
