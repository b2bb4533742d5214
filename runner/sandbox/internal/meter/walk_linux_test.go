package meter

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// deepen creates nested folders, each beside another, with a file at the end, and removes them after the test.
func deepen(t testing.TB, dir, name string, levels int) {
	t.Helper()
	at, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range levels {
		for _, n := range []string{name, name[1:] + "y"} {
			if err := unix.Mkdirat(at, n, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		next, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		if err != nil {
			t.Fatal(err)
		}
		unix.Close(at)
		at = next
	}
	fd, err := unix.Openat(at, "end", unix.O_CREAT|unix.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Write(fd, make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	unix.Close(fd)
	unix.Close(at)
	t.Cleanup(func() { os.RemoveAll(dir) })
}

func TestDeepFoldersAreMeasured(t *testing.T) {
	for name, levels := range map[string]int{"xx": 5000, strings.Repeat("x", 255): 1000} {
		dir, err := os.MkdirTemp("", "meter")
		if err != nil {
			t.Fatal(err)
		}
		deepen(t, dir, name, levels)
		began := time.Now()
		got := measure(dir, unbounded)
		if got.files != 2*levels+1 || got.largest != 1<<20 || got.tooDeep {
			t.Errorf("names of %d bytes: %+v", len(name), got)
		}
		t.Logf("%v", time.Since(began))
	}
}

func TestLockedFoldersAreMeasured(t *testing.T) {
	for _, mode := range []os.FileMode{0, 0o400, 0o100, 0o200} {
		dir := t.TempDir()
		locked := filepath.Join(dir, "a", "b")
		if err := os.MkdirAll(locked, 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(locked, "file"), 1<<20)
		for _, d := range []string{locked, filepath.Dir(locked), dir} {
			if err := os.Chmod(d, mode); err != nil {
				t.Fatal(err)
			}
		}
		if got := measure(dir, unbounded); got.files != 3 || got.largest != 1<<20 {
			t.Errorf("mode %v: %+v, want files 3 and largest %v", mode, got, 1<<20)
		}
		for _, d := range []string{dir, filepath.Dir(locked), locked} {
			if err := os.Chmod(d, 0o755); err != nil {
				t.Error(err)
			}
		}
	}
	if os.Geteuid() != 0 {
		return
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestLockedFoldersAreMeasured$") // permissions do not stop root
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("without root: %v\n%s", err, out)
	}
}

func TestNamelessFilesAreFound(t *testing.T) {
	dir := t.TempDir()
	me := []int{os.Getpid()}
	before := nameless(dir, me)
	f, err := os.Create(filepath.Join(dir, "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(make([]byte, 4<<20)); err != nil {
		t.Fatal(err)
	}
	if got := nameless(dir, me); got != before {
		t.Errorf("a file with a name counts %d, want %v", got-before, before)
	}
	if err := os.Remove(f.Name()); err != nil {
		t.Fatal(err)
	}
	if got := nameless(dir, me) - before; got < 4<<20 || got > 5<<20 {
		t.Errorf("an open file without a name counts %d, want at least %d and at most %d", got, 4<<20, 5<<20)
	}
	m, err := unix.Mmap(int(f.Fd()), 0, 2<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(m) }()
	if got := nameless(dir, me) - before; got < 4<<20 || got > 5<<20 {
		t.Errorf("open and mapped it counts %d, want at least %d and at most %d", got, 4<<20, 5<<20)
	}
	f.Close()
	if got := nameless(dir, me) - before; got != 2<<20 {
		t.Errorf("mapped only it counts %d, want %d", got, 2<<20)
	}
	shared, err := unix.Mmap(-1, 0, 2<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(shared) }()
	if got := nameless(dir, me) - before; got != 2<<20 {
		t.Errorf("with shared memory it counts %d, want %d", got, 2<<20)
	}
}
