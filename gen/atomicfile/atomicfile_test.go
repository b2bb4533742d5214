package atomicfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/mcpgen/mcpgen/gen/atomicfile"
)

func TestWrite(t *testing.T) {
	for _, c := range []struct {
		name      string
		old, perm fs.FileMode // no old file if old is 0
		want      fs.FileMode
	}{
		{"new", 0, 0o644, 0o644},
		{"new and private", 0, 0o600, 0o600},
		{"an executable script stays one", 0o755, 0o644, 0o755},
		{"a private file stays private", 0o600, 0o644, 0o600},
		{"secrets become private", 0o644, 0o600, 0o600},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "file")
			if c.old != 0 {
				put(t, path, c.old)
			}
			if err := atomicfile.Write(path, []byte("new"), c.perm); err != nil {
				t.Fatal(err)
			}
			want(t, path, "new", c.want)
			alone(t, dir, "file")
		})
	}
}

func TestWriteFollowsLinks(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	put(t, filepath.Join(elsewhere, "real"), 0o640)
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(elsewhere, "real"), link); err != nil {
		t.Skip(err)
	}
	if err := atomicfile.Write(link, []byte("new"), 0o644); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != fs.ModeSymlink {
		t.Errorf("the link is %v, %v; want a link", info.Mode(), err)
	}
	want(t, filepath.Join(elsewhere, "real"), "new", 0o640)
}

func TestWriteIn(t *testing.T) {
	dir, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "real")
	put(t, elsewhere, 0o600)
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := root.Mkdir("sub", 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "sub", "file"), 0o600)
	if err := atomicfile.WriteIn(root, "sub/file", []byte("new"), 0o644); err != nil {
		t.Fatal(err)
	}
	want(t, filepath.Join(dir, "sub", "file"), "new", 0o644)
	if err := os.Symlink(elsewhere, filepath.Join(dir, "sub", "link")); err != nil {
		t.Skip(err)
	}
	if err := atomicfile.WriteIn(root, "sub/link", []byte("new"), 0o644); err != nil {
		t.Fatal(err)
	}
	want(t, filepath.Join(dir, "sub", "link"), "new", 0o644)
	want(t, elsewhere, "old", 0o600)
	alone(t, filepath.Join(dir, "sub"), "file", "link")
}

// TestErrors checks that an error names the file that was to be written, and that nothing is left of the attempt.
func TestErrors(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := root.Mkdir("folder", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		err        error
		path, says string
	}{
		"no folder":      {atomicfile.Write(filepath.Join(dir, "none", "x"), nil, 0o600), filepath.Join(dir, "none", "x"), "there is no folder " + filepath.Join(dir, "none")},
		"a folder":       {atomicfile.Write(filepath.Join(dir, "folder"), nil, 0o600), filepath.Join(dir, "folder"), "it is a folder"},
		"a folder below": {atomicfile.WriteIn(root, "folder", nil, 0o600), "folder", "it is a folder"},
		"outside":        {atomicfile.WriteIn(root, "../x", nil, 0o600), "../x", "path escapes from parent"},
	} {
		var e *fs.PathError
		if !errors.As(c.err, &e) || e.Op != "write" || e.Path != c.path || e.Err.Error() != c.says {
			t.Errorf("%s: got %v, want write %s: %s", name, c.err, c.path, c.says)
		}
	}
	alone(t, dir, "folder")
}

// TestReadersSeeWholeFiles checks that no reader sees a part, or two writers mixed.
func TestReadersSeeWholeFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	texts := map[string]bool{}
	var writers sync.WaitGroup
	for _, letter := range []string{"a", "b"} {
		text := strings.Repeat(letter, 100_000)
		texts[text] = true
		if err := atomicfile.Write(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		writers.Go(func() {
			for range 20 {
				if err := atomicfile.Write(path, []byte(text), 0o600); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		if got, err := os.ReadFile(path); err != nil || !texts[string(got)] {
			t.Fatalf("read %d bytes, %v; want one of the texts whole", len(got), err)
		}
	}
	alone(t, dir, "file")
}

func put(t *testing.T, path string, mode fs.FileMode) {
	t.Helper()
	if err := errors.Join(os.WriteFile(path, []byte("old"), 0o600), os.Chmod(path, mode)); err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != text {
		t.Errorf("%s holds %q, %v; want %q", path, got, err, text)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != mode {
		t.Errorf("%s has mode %v, %v; want %v", path, info.Mode(), err, mode)
	}
}

// alone checks that a folder holds these entries only.
func alone(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != len(names) {
		t.Errorf("%s holds %v, %v; want %v", dir, entries, err, names)
	}
}
