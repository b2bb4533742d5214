//go:build unix

package remote

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var roomy = Limits{Bytes: 1 << 20, Files: 1000, Largest: 1 << 20, Skip: []string{"servers"}}

// archive holds what an engine returns.
type archive struct {
	t   testing.TB
	buf bytes.Buffer
	tar *tar.Writer
}

func newArchive(t testing.TB) *archive {
	a := &archive{t: t}
	a.tar = tar.NewWriter(&a.buf)
	return a
}

func (a *archive) add(kind byte, name, link, text string, mode int64) {
	a.t.Helper()
	h := &tar.Header{Typeflag: kind, Name: "./" + name, Linkname: link, Size: int64(len(text)), Mode: mode, ModTime: time.Unix(1000, 0), Format: tar.FormatPAX}
	if err := a.tar.WriteHeader(h); err != nil {
		a.t.Fatal(err)
	}
	if _, err := a.tar.Write([]byte(text)); err != nil {
		a.t.Fatal(err)
	}
}

func (a *archive) file(name, text string)      { a.add(tar.TypeReg, name, "", text, 0o644) }
func (a *archive) dir(name string, m int64)    { a.add(tar.TypeDir, name+"/", "", "", m) }
func (a *archive) link(name, target string)    { a.add(tar.TypeSymlink, name, target, "", 0o777) }
func (a *archive) hardLink(name, first string) { a.add(tar.TypeLink, name, "./"+first, "", 0o644) }

func (a *archive) bytes() []byte {
	if err := a.tar.Close(); err != nil {
		a.t.Fatal(err)
	}
	return a.buf.Bytes()
}

// changed packs the workspace in dir, and applies back to it.
func changed(t testing.TB, dir string, lim Limits, back []byte) (Result, error) {
	t.Helper()
	w, err := OpenWorkspace(dir, lim)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Pack(t.Context(), 65534, io.Discard); err != nil {
		t.Fatal(err)
	}
	if err := w.Receive(bytes.NewReader(back)); err != nil {
		return Result{}, err
	}
	return w.Apply()
}

func write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestChangesAreMade(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	for name, text := range map[string]string{"gone/deep/file": "x", "kept": "kept", "changed": "old and longer", "becomes-folder": "x", "becomes-file/x": "x"} {
		write(t, at(name), text)
	}
	before := time.Unix(500, 0)
	if err := os.Chtimes(at("kept"), before, before); err != nil {
		t.Fatal(err)
	}
	a := newArchive(t)
	a.dir("", 0o777)
	a.dir("becomes-folder", 0o755)
	a.link("becomes-folder/up", "../kept")
	a.file("becomes-file", "file")
	a.file("changed", "new")
	a.hardLink("twin", "changed")
	a.file("kept", "kept")
	a.dir("locked", 0o500)
	a.file("locked/in", "inside")
	a.link("link", "becomes-folder/../kept")
	a.add(tar.TypeFifo, "pipe", "", "", 0o644)
	res, err := changed(t, dir, roomy, a.bytes())
	if err != nil {
		t.Fatal(err)
	}
	if res.Left != 2 || res.Example != "link" {
		t.Errorf("Apply() = %+v, want two left: the link that steps up behind a name, and the pipe", res)
	}
	if _, err := os.Lstat(at("gone")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the removed folder: got %v, want none", err)
	}
	for name, want := range map[string]string{
		"kept": "kept", "changed": "new", "twin": "new", "becomes-file": "file", "locked/in": "inside", "becomes-folder/up": "kept",
	} {
		if got := read(t, at(name)); got != want {
			t.Errorf("%s holds %q, want %q", name, got, want)
		}
	}
	if st, err := os.Stat(at("locked")); err != nil || st.Mode().Perm() != 0o500 {
		t.Errorf("locked: got %v, %v, want mode 500", st, err)
	}
	if st, err := os.Stat(at("changed")); err != nil || !st.ModTime().Equal(time.Unix(1000, 0)) {
		t.Errorf("changed: got %v, %v, want the archive's time", st, err)
	}
	if err := os.Chmod(at("locked"), 0o700); err != nil {
		t.Fatal(err)
	}
}

// TestUnchangedFilesStay changes a file and a folder on the host while the script is running.
func TestUnchangedFilesStay(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), "before")
	write(t, filepath.Join(dir, "removed", "known"), "x")
	w, err := OpenWorkspace(dir, roomy)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var packed bytes.Buffer
	if err := w.Pack(t.Context(), 65534, &packed); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "file"), "meanwhile")
	write(t, filepath.Join(dir, "removed", "unknown"), "mine")
	a := newArchive(t)
	for r := tar.NewReader(&packed); ; {
		h, err := r.Next()
		if err != nil {
			break
		}
		if !strings.HasPrefix(h.Name, "removed") {
			h.Name = "./" + h.Name
			text, _ := io.ReadAll(r)
			if err := a.tar.WriteHeader(h); err != nil {
				t.Fatal(err)
			}
			a.tar.Write(text)
		}
	}
	if err := w.Receive(bytes.NewReader(a.bytes())); err != nil {
		t.Fatal(err)
	}
	res, err := w.Apply()
	if err != nil || res.Left != 1 || res.Example != "removed" {
		t.Errorf("Apply() = %+v, %v, want the folder left", res, err)
	}
	if got := read(t, filepath.Join(dir, "file")); got != "meanwhile" {
		t.Errorf("the file holds %q, want what it was given meanwhile", got)
	}
	if got := read(t, filepath.Join(dir, "removed", "unknown")); got != "mine" {
		t.Errorf(`the unknown file holds %q, want "mine"`, got)
	}
}

// What a container returns must not reach outside the workspace, whatever it contains.
func TestNothingReachesOutside(t *testing.T) {
	for _, target := range []string{"/etc/passwd", "..", "../x", "../../x", "a/../../x", "a/..", "./..", ".//../x", "", "a\x00b", strings.Repeat("a/", 3000)} {
		if inside("link", target) {
			t.Errorf("inside(link, %.50q) = true, want false", target)
		}
	}
	for _, target := range []string{"a", "a/b", "./a", ".", "a/"} {
		if !inside("link", target) {
			t.Errorf("inside(link, %q) = false, want true", target)
		}
	}
	if !inside("a/b/link", "../../c") || inside("a/b/link", "../../../c") {
		t.Error("inside() does not count steps upwards")
	}

	outside, dir := t.TempDir(), t.TempDir()
	write(t, filepath.Join(outside, "victim"), "untouched")
	for name, target := range map[string]string{"folder": outside, "file": filepath.Join(outside, "victim")} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(outside, "victim"), filepath.Join(dir, "hard")); err != nil {
		t.Fatal(err)
	}
	a := newArchive(t)
	a.link("folder", outside)
	a.file("folder/victim", "overwritten")
	a.file("folder/new", "made")
	a.file("file", "in place of the link")
	a.file("hard", "in place of the hard link")
	a.file("../up", "x")
	a.file("a/../../up", "x")
	a.add(tar.TypeReg, strings.Repeat("d/", maxDepth)+"x", "", "x", 0o644)
	a.file("servers/x", "x")
	res, err := changed(t, dir, roomy, a.bytes())
	if err != nil {
		t.Fatal(err)
	}
	if res.Left != 5 {
		t.Errorf("Apply() = %+v, want 5 left", res)
	}
	if got := read(t, filepath.Join(outside, "victim")); got != "untouched" {
		t.Errorf("the file outside holds %q, want untouched", got)
	}
	for _, name := range []string{filepath.Join(outside, "new"), filepath.Join(filepath.Dir(dir), "up"), filepath.Join(dir, "servers")} {
		if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: got %v, want none", name, err)
		}
	}
	if file, hard := read(t, filepath.Join(dir, "file")), read(t, filepath.Join(dir, "hard")); file != "in place of the link" || hard != "in place of the hard link" {
		t.Errorf(`inside are %q and %q, want "in place of the link" and "in place of the hard link"`, file, hard)
	}
}

// An archive that is incomplete, or exceeds any limit, changes nothing at all.
func TestDamagedArchivesChangeNothing(t *testing.T) {
	whole := func(f func(a *archive)) []byte {
		a := newArchive(t)
		a.file("second", "new")
		f(a)
		return a.bytes()
	}
	plain := whole(func(*archive) {})
	for name, back := range map[string][]byte{
		"nothing":       nil,
		"no end":        plain[:len(plain)-1024],
		"cut in a file": plain[:len(plain)-1200],
		"half an end":   plain[:len(plain)-512],
		"not a tar":     bytes.Repeat([]byte("x"), 4096),
		"large file":    whole(func(a *archive) { a.file("large", strings.Repeat("x", int(roomy.Largest)+1)) }),
		"many files": whole(func(a *archive) {
			for range roomy.Files + FileSlack {
				a.dir("d", 0o755)
			}
		}),
		"many names of one file": whole(func(a *archive) {
			a.file("big", strings.Repeat("x", int(roomy.Largest)))
			for range 70 {
				a.hardLink("name", "big")
			}
		}),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "first"), "old")
			_, err := changed(t, dir, roomy, back)
			if _, damaged := errors.AsType[*DamagedError](err); !damaged && !IsTooMuch(err) {
				t.Errorf("Apply() = %v, want that it is damaged or too much", err)
			}
			entries, _ := os.ReadDir(dir)
			if len(entries) != 1 || read(t, filepath.Join(dir, "first")) != "old" {
				t.Errorf("the workspace has changed: %v", entries)
			}
		})
	}
}

func TestPack(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "sub", "a b\nc"), "text")
	write(t, filepath.Join(dir, "servers", "tool.py"), "not copied")
	if err := errors.Join(os.Chmod(filepath.Join(dir, "sub", "a b\nc"), 0o600), os.Symlink("/etc/passwd", filepath.Join(dir, "link")),
		os.Symlink("../b", filepath.Join(dir, "sub", "near")), os.Symlink("../../out", filepath.Join(dir, "sub", "out"))); err != nil {
		t.Fatal(err)
	}
	w, err := OpenWorkspace(dir, roomy)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var b bytes.Buffer
	if err := w.Pack(context.Background(), 65534, &b); err != nil {
		t.Fatal(err)
	}
	var got []string
	for r := tar.NewReader(&b); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(r)
		if h.Uid != 65534 {
			t.Errorf("%s belongs to %d, want 65534", h.Name, h.Uid)
		}
		got = append(got, h.Name+" "+fs.FileMode(h.Mode).String()+" "+h.Linkname+string(text))
	}
	if want := []string{"link ---------- /etc/passwd", "sub -rwxr-xr-x ", "sub/a b\nc -rw------- text", "sub/near ---------- ../b"}; !slices.Equal(got, want) {
		t.Errorf("Pack() wrote %q, want %q", got, want)
	}
	if w.Left() != 1 {
		t.Errorf("Left() = %d, want 1, the link that leads out", w.Left())
	}
	for what, lim := range map[string]Limits{"bytes": {Bytes: page, Files: 100}, "files": {Bytes: 1 << 20, Files: 3}} {
		if _, err := OpenWorkspace(dir, lim); err == nil {
			t.Errorf("OpenWorkspace() with too many %s: got no error", what)
		}
	}
}

// A container may return anything.
func FuzzApply(f *testing.F) {
	a := newArchive(f)
	a.file("a", "new")
	a.dir("d", 0o755)
	a.file("d/f", "text")
	a.link("l", "d/f")
	a.hardLink("h", "d/f")
	f.Add(a.bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		base := t.TempDir()
		dir := filepath.Join(base, "workspace")
		write(t, filepath.Join(base, "outside"), "untouched")
		write(t, filepath.Join(dir, "a"), "old")
		if err := os.Symlink("..", filepath.Join(dir, "up")); err != nil {
			t.Fatal(err)
		}
		_, err := changed(t, dir, Limits{Bytes: 1 << 16, Files: 50, Largest: 1 << 16, Skip: []string{"servers"}}, append(b, make([]byte, 1024)...))
		_ = err // most are refused; this test checks what must stay untouched
		entries, readErr := os.ReadDir(base)
		if readErr != nil || len(entries) != 2 || read(t, filepath.Join(base, "outside")) != "untouched" {
			t.Errorf("something outside has changed: %v, %v", entries, readErr)
		}
	})
}
