package meter

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

func write(t testing.TB, file string, size int) {
	t.Helper()
	if err := os.WriteFile(file, bytes.Repeat([]byte("x"), size), 0o644); err != nil {
		t.Fatal(err)
	}
}

var unbounded = usage{bytes: -1, files: -1}

func TestMeasure(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), 100_000)
	if err := os.MkdirAll(filepath.Join(dir, "x/y/z"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "x/y/z/b"), 50_000)
	outside := t.TempDir()
	write(t, filepath.Join(outside, "big"), 10<<20)
	if err := os.Symlink(outside, filepath.Join(dir, "x/link")); err != nil {
		t.Fatal(err)
	}
	got := measure(dir, unbounded)
	if got.files != 6 || got.bytes < 150_000 || got.bytes > 1<<20 || got.largest != 100_000 {
		t.Errorf("measure() = %+v, want 6 files of 150,000 bytes, the largest of 100,000", got)
	}
	if got := measure(dir, usage{bytes: -1, files: 2}); got.files != 3 {
		t.Errorf("measure() = %+v, want it to stop after 3 files", got)
	}
	if got := measure(filepath.Join(dir, "none"), unbounded); got != (usage{}) {
		t.Errorf("measure() of nothing = %+v", got)
	}
}

// fill writes n files of one megabyte.
func fill(t testing.TB, dir string, n int) {
	for i := range n {
		write(t, filepath.Join(dir, fmt.Sprint("f", i)), 1<<20)
	}
}

// watched returns a watcher that reports through over.
func watched(dir string, l sandbox.Limits) (*Disk, <-chan struct{}) {
	over := make(chan struct{}, 2)
	return WatchDisk(dir, l, func() { over <- struct{}{} }), over
}

func TestDiskLimits(t *testing.T) {
	for name, c := range map[string]struct {
		limits sandbox.Limits
		before int
		do     func(dir string)
		hit    bool
	}{
		"bytes":                   {sandbox.Limits{Disk: 3 << 20}, 0, func(dir string) { fill(t, dir, 5) }, true},
		"fewer bytes":             {sandbox.Limits{Disk: 9 << 20}, 0, func(dir string) { fill(t, dir, 5) }, false},
		"files":                   {sandbox.Limits{DiskFiles: 10}, 0, func(dir string) { many(t, dir, 12) }, true},
		"fewer files":             {sandbox.Limits{DiskFiles: 20}, 0, func(dir string) { many(t, dir, 12) }, false},
		"as much as before":       {sandbox.Limits{Disk: 1 << 20}, 4, func(dir string) { fill(t, dir, 4) }, false},
		"more than before":        {sandbox.Limits{Disk: 1 << 20}, 4, func(dir string) { fill(t, dir, 6) }, true},
		"holes take no space":     {sandbox.Limits{Disk: 1 << 20}, 0, func(dir string) { sparse(t, dir) }, false},
		"nothing was written":     {sandbox.Limits{Disk: 1 << 20}, 0, func(string) {}, false},
		"removed before the scan": {sandbox.Limits{Disk: 64 << 20}, 0, func(dir string) { fill(t, dir, 2); _ = os.Remove(filepath.Join(dir, "f1")) }, false},
	} {
		dir := t.TempDir()
		fill(t, dir, c.before)
		d, over := watched(dir, c.limits)
		c.do(dir)
		if hit := d.Stop(); hit != c.hit {
			t.Errorf("%s: hit %v, want %v", name, hit, c.hit)
		}
		if (len(over) == 1) != c.hit {
			t.Errorf("%s: over was called %d times", name, len(over))
		}
	}
}

func many(t testing.TB, dir string, n int) {
	for i := range n {
		write(t, filepath.Join(dir, fmt.Sprint("m", i)), 0)
	}
}

func sparse(t testing.TB, dir string) {
	f, err := os.Create(filepath.Join(dir, "sparse"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(100 << 20); err != nil {
		t.Fatal(err)
	}
}

// TestDiskIsSeenWhileItFills writes until the watcher reports the limit, and logs how much was written.
func TestDiskIsSeenWhileItFills(t *testing.T) {
	dir := t.TempDir()
	var stop atomic.Bool
	d := WatchDisk(dir, sandbox.Limits{Disk: 8 << 20}, func() { stop.Store(true) })
	deadline := time.Now().Add(time.Minute)
	written := 0
	for ; !stop.Load() && time.Now().Before(deadline); written++ {
		write(t, filepath.Join(dir, fmt.Sprint(written)), 1<<20)
	}
	if !d.Stop() {
		t.Error("not seen")
	}
	t.Logf("%d MiB of 8 were written", written)
}

func TestDiskIsNotFooledByMoves(t *testing.T) {
	dir := t.TempDir()
	var stop atomic.Bool
	d := WatchDisk(dir, sandbox.Limits{Disk: 4 << 20}, func() { stop.Store(true) })
	deadline := time.Now().Add(time.Minute)
	from, to := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	if err := os.Mkdir(from, 0o755); err != nil {
		t.Fatal(err)
	}
	fill(t, from, 10)
	for !stop.Load() && time.Now().Before(deadline) {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
		from, to = to, from
	}
	if !d.Stop() || !stop.Load() {
		t.Error("moving a folder to and fro hid what is in it")
	}
}

func TestFileSizeIsNoticed(t *testing.T) {
	const limit = 1 << 20
	for name, c := range map[string]struct {
		before int // size of an existing file; 0 if there is none
		do     func(t *testing.T, file string)
		hit    bool
	}{
		"a file":                       {0, func(t *testing.T, file string) { write(t, file, limit) }, true},
		"a smaller file":               {0, func(t *testing.T, file string) { write(t, file, limit-1) }, false},
		"another such file":            {limit, func(t *testing.T, file string) { write(t, file+"2", limit) }, true},
		"the same file again":          {limit, func(t *testing.T, file string) { write(t, file, limit) }, true},
		"nothing":                      {limit, func(*testing.T, string) {}, false},
		"nothing, and a larger file":   {limit + 1, func(*testing.T, string) {}, false},
		"writing within a larger file": {limit + 1, func(t *testing.T, file string) { overwrite(t, file) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "file")
			if c.before > 0 {
				write(t, file, c.before)
				old := time.Now().Add(-time.Hour)
				if err := os.Chtimes(file, old, old); err != nil {
					t.Fatal(err)
				}
			}
			d, _ := watched(dir, sandbox.Limits{FileSize: limit})
			c.do(t, file)
			if d.Stop(); d.HitFileSize() != c.hit {
				t.Errorf("hit: %v, want %v", d.HitFileSize(), c.hit)
			}
		})
	}
}

// overwrite changes the beginning of a file.
func overwrite(t *testing.T, file string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("y"); err != nil {
		t.Fatal(err)
	}
}

func TestNoFolderIsNotWatched(t *testing.T) {
	d, _ := watched("", sandbox.Limits{})
	if d.Stop() {
		t.Error("hit")
	}
}

func TestOutput(t *testing.T) {
	var out, err bytes.Buffer
	calls := 0
	o := NewOutput(10, func() { calls++ })
	stdout, stderr, none := o.Writer(&out), o.Writer(&err), o.Writer(nil)
	for _, w := range []struct {
		to   interface{ Write([]byte) (int, error) }
		text string
	}{{stdout, "1234"}, {stderr, "56"}, {none, "78"}} {
		if n, err := w.to.Write([]byte(w.text)); n != len(w.text) || err != nil {
			t.Errorf("%d %v, want %d and no error", n, err, len(w.text))
		}
	}
	if o.Hit() || calls != 0 {
		t.Error("hit too early")
	}
	for range 3 {
		if n, err := stdout.Write([]byte("abcdef")); n != 6 || err != nil {
			t.Errorf("%d %v, want 6 and no error", n, err)
		}
	}
	if out.String() != "1234ab" || err.String() != "56" || calls != 1 || !o.Hit() {
		t.Errorf("%q %q %d", &out, &err, calls)
	}
}

// failing fails after the first write.
type failing struct{ got strings.Builder }

func (f *failing) Write(p []byte) (int, error) {
	if f.got.Len() > 0 {
		return 0, errors.New("gone")
	}
	return f.got.Write(p)
}

func TestOutputGoesOnWithoutItsReader(t *testing.T) {
	f := new(failing)
	w := NewOutput(100, func() { t.Error("hit") }).Writer(f)
	for range 3 {
		if n, err := w.Write([]byte("abc")); n != 3 || err != nil {
			t.Errorf("%d %v, want 3 and no error", n, err)
		}
	}
	if f.got.String() != "abc" {
		t.Errorf("%q", f.got.String())
	}
}

func BenchmarkMeasure(b *testing.B) {
	dir := b.TempDir()
	for i := range 100 {
		sub := filepath.Join(dir, fmt.Sprint("d", i))
		if err := os.Mkdir(sub, 0o755); err != nil {
			b.Fatal(err)
		}
		many(b, sub, 100)
	}
	for b.Loop() {
		if got := measure(dir, unbounded); got.files != 10_100 {
			b.Fatal(got)
		}
	}
}
