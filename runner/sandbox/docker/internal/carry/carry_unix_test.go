//go:build unix

package carry

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// stream writes records as a container would, or would not.
func stream(t testing.TB, f func(r *recorder)) *bytes.Reader {
	t.Helper()
	var b bytes.Buffer
	r := &recorder{w: bufio.NewWriter(&b)}
	f(r)
	if err := r.w.Flush(); err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(b.Bytes())
}

func (r *recorder) removed(name string) { r.kind(kindRemoved); r.path(name) }
func (r *recorder) end()                { r.kind(kindEnd) }

func (r *recorder) dir(name string, mode uint16) {
	r.kind(kindDir)
	r.uint16(mode)
	r.path(name)
}

func (r *recorder) link(name, target string) {
	r.kind(kindLink)
	r.path(name)
	r.path(target)
}

func (r *recorder) plain(name, text string) { r.holed(name, 0o644, 0, text, int64(len(text))) }

func (r *recorder) holed(name string, mode uint16, at int64, text string, size int64) {
	r.kind(kindFile)
	r.uint16(mode)
	r.uint64(uint64(time.Unix(1000, 0).UnixNano()))
	r.path(name)
	r.uint64(uint64(at))
	r.uint32(uint32(len(text)))
	if text != "" {
		r.bytes([]byte(text))
		r.uint64(uint64(size))
		r.uint32(0)
	}
}

var roomy = Limits{Bytes: 1 << 20, Files: 1000, Largest: 1 << 20, Skip: []string{"servers"}}

func open(t testing.TB, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
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

func missing(t testing.TB, name string) {
	t.Helper()
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is there: %v", name, err)
	}
}

// A folder that is gone is not taken for the link that is there now, nor is its mode set any more.
func TestNothingIsLeftOfARemovedFolder(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	write(t, at("gone/file"), "x")
	write(t, at("other/file"), "other")
	write(t, at("locked/file"), "x")
	if err := os.Chmod(at("locked"), 0o500); err != nil { // for users who are not root
		t.Fatal(err)
	}
	res, err := Apply(open(t, dir), stream(t, func(r *recorder) {
		r.removed("gone/file")
		r.removed("gone")
		r.removed("locked/file")
		r.removed("locked")
		r.link("gone", "other")
		r.plain("gone/file", "through the link")
		r.plain("locked", "a file now")
		r.end()
	}), roomy)
	if err != nil || res.Left != 1 || res.Example != "gone/file" {
		t.Errorf("%+v, %v", res, err)
	}
	if got := read(t, at("other/file")); got != "other" {
		t.Errorf("the other file holds %q", got)
	}
	if st, err := os.Stat(at("locked")); err != nil || st.Mode() != 0o644 {
		t.Errorf("what was locked is %v, %v", st.Mode(), err)
	}
}

func TestChangesAreMade(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	write(t, at("gone/deep/file"), "x")
	write(t, at("kept"), "kept")
	write(t, at("changed"), "old and longer")
	write(t, at("becomes-folder"), "x")
	write(t, at("becomes-file/x"), "x")
	res, err := Apply(open(t, dir), stream(t, func(r *recorder) {
		r.removed("gone/deep/file")
		r.removed("becomes-file/x")
		r.removed("gone/deep")
		r.removed("gone")
		r.removed("becomes-file")
		r.removed("becomes-folder")
		r.removed("never/was")
		r.dir("becomes-folder", 0o755)
		r.dir("locked", 0o500)
		r.plain("locked/in", "inside")
		r.plain("becomes-file", "file")
		r.plain("changed", "new")
		r.holed("holed", 0o600, 4096, "data", 100_000)
		r.link("link", "becomes-folder/../kept")
		r.link("becomes-folder/up", "../kept")
		r.end()
	}), roomy)
	if err != nil {
		t.Fatal(err)
	}
	if res.Left != 1 || res.Example != "link" {
		t.Errorf("left %+v, want the link that steps up behind a name", res)
	}
	missing(t, at("gone"))
	for name, want := range map[string]string{
		"kept": "kept", "changed": "new", "becomes-file": "file", "locked/in": "inside", "becomes-folder/up": "kept",
		"holed": strings.Repeat("\x00", 4096) + "data" + strings.Repeat("\x00", 100_000-4100),
	} {
		if got := read(t, at(name)); got != want {
			t.Errorf("%s holds %.100q", name, got)
		}
	}
	if st, err := os.Stat(at("locked")); err != nil || st.Mode().Perm() != 0o500 {
		t.Errorf("locked: %v, %v", st, err)
	}
	if st, err := os.Stat(at("changed")); err != nil || !st.ModTime().Equal(time.Unix(1000, 0)) {
		t.Errorf("changed: %v, %v", st, err)
	}
	if err := os.Chmod(at("locked"), 0o700); err != nil {
		t.Fatal(err)
	}
}

// What a container sends must not reach out of the workspace, whatever is in it.
func TestNothingReachesOutside(t *testing.T) {
	for _, target := range []string{"/etc/passwd", "..", "../x", "../../x", "a/../../x", "a/..", "./..", ".//../x", "", "a\x00b", strings.Repeat("a/", 3000)} {
		if inside("link", target) {
			t.Errorf("a link to %.50q is taken for one that stays inside", target)
		}
	}
	for _, target := range []string{"a", "a/b", "./a", ".", "a/"} {
		if !inside("link", target) {
			t.Errorf("a link to %q is taken for one that leads out", target)
		}
	}
	if !inside("a/b/link", "../../c") || inside("a/b/link", "../../../c") {
		t.Error("steps upwards are not counted")
	}

	outside := t.TempDir()
	write(t, filepath.Join(outside, "victim"), "untouched")
	dir := t.TempDir()
	for name, target := range map[string]string{"folder": outside, "file": filepath.Join(outside, "victim")} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(outside, "victim"), filepath.Join(dir, "hard")); err != nil {
		t.Fatal(err)
	}
	res, err := Apply(open(t, dir), stream(t, func(r *recorder) {
		r.removed("folder/victim")
		r.plain("folder/victim", "overwritten")
		r.plain("folder/new", "made")
		r.plain("file", "in place of the link")
		r.plain("hard", "in place of the hard link")
		r.end()
	}), roomy)
	if err != nil {
		t.Fatal(err)
	}
	if res.Left != 2 {
		t.Errorf("left %+v, want the two files behind the link", res)
	}
	if got := read(t, filepath.Join(outside, "victim")); got != "untouched" {
		t.Errorf("the file outside holds %q", got)
	}
	missing(t, filepath.Join(outside, "new"))
	if read(t, filepath.Join(dir, "file")) != "in place of the link" || read(t, filepath.Join(dir, "hard")) != "in place of the hard link" {
		t.Error("the files inside were not made")
	}
}

// A stream that is not whole, or breaks a rule anywhere, changes nothing at all.
func TestDamagedStreamsChangeNothing(t *testing.T) {
	deep := strings.Repeat("d/", maxDepth) + "x"
	for name, f := range map[string]func(r *recorder){
		"no end":           func(r *recorder) {},
		"cut in a file":    func(r *recorder) { r.holed("x", 0o644, 0, "", 0); r.uint32(7) },
		"something behind": func(r *recorder) { r.end(); r.end() },
		"unknown kind":     func(r *recorder) { r.kind('c'); r.end() },
		"climbs":           func(r *recorder) { r.plain("../x", "x"); r.end() },
		"climbs inside":    func(r *recorder) { r.plain("a/../../x", "x"); r.end() },
		"absolute":         func(r *recorder) { r.plain("/etc/x", "x"); r.end() },
		"empty":            func(r *recorder) { r.plain("", "x"); r.end() },
		"dot":              func(r *recorder) { r.dir(".", 0o755); r.end() },
		"double slash":     func(r *recorder) { r.plain("a//b", "x"); r.end() },
		"NUL":              func(r *recorder) { r.plain("a\x00b", "x"); r.end() },
		"too deep":         func(r *recorder) { r.plain(deep, "x"); r.end() },
		"too long":         func(r *recorder) { r.plain(strings.Repeat("x", maxPath+1), "x"); r.end() },
		"the tree":         func(r *recorder) { r.plain("servers/x", "x"); r.end() },
		"the tree itself":  func(r *recorder) { r.removed("servers"); r.end() },
		"late removal":     func(r *recorder) { r.plain("a", "x"); r.removed("first"); r.end() },
		"pieces that meet": func(r *recorder) { r.holed("a", 0o644, 10, "abc", 0); r.end() },
		"size below data":  func(r *recorder) { r.holed("a", 0o644, 10, "abc", 12); r.end() },
		"negative offset":  func(r *recorder) { r.holed("a", 0o644, -1, "abc", 12); r.end() },
		"large offset":     func(r *recorder) { r.holed("a", 0o644, 1<<62, "abc", 1<<62+3); r.end() },
		"large file":       func(r *recorder) { r.holed("a", 0o644, 0, "abc", roomy.Largest+1); r.end() },
		"much data": func(r *recorder) {
			for range 300 {
				r.plain("a", strings.Repeat("x", 4096))
			}
			r.end()
		},
		"many records": func(r *recorder) {
			for range roomy.Files + 1 {
				r.dir("a", 0o755)
			}
			r.end()
		},
		"a piece too large": func(r *recorder) { r.holed("a", 0o644, 0, strings.Repeat("x", maxPiece+1), maxPiece+1); r.end() },
		"nothing at all":    nil,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "first"), "old")
			in := bytes.NewReader(nil)
			if f != nil {
				in = stream(t, func(r *recorder) {
					r.removed("first")
					r.plain("second", "new")
					f(r)
				})
			}
			if name == "late removal" {
				in = stream(t, f)
			}
			_, err := Apply(open(t, dir), in, roomy)
			var damagedErr *DamagedError
			var much *TooMuchError
			if !errors.As(err, &damagedErr) && !errors.As(err, &much) {
				t.Errorf("error %v", err)
			}
			if read(t, filepath.Join(dir, "first")) != "old" {
				t.Error("a file was changed")
			}
			missing(t, filepath.Join(dir, "second"))
		})
	}
}

// Whatever lies in a folder that was never carried stays: it is not the container's to remove.
func TestUnknownFilesStay(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "folder", "unknown"), "mine")
	res, err := Apply(open(t, dir), stream(t, func(r *recorder) {
		r.removed("folder")
		r.plain("folder", "in its place")
		r.end()
	}), roomy)
	if err != nil || res.Left != 2 {
		t.Errorf("%+v, %v", res, err)
	}
	if read(t, filepath.Join(dir, "folder", "unknown")) != "mine" {
		t.Error("it is gone")
	}
}

// lines turns a stream into something that can be compared.
type lines struct {
	nobody
	out []string
}

func (l *lines) dir(name string, mode fs.FileMode) error {
	l.out = append(l.out, "d "+name+" "+mode.String())
	return nil
}

func (l *lines) file(name string, mode fs.FileMode, mtime time.Time) error {
	l.out = append(l.out, "f "+name+" "+mode.String()+" "+mtime.UTC().Format(time.RFC3339Nano))
	return nil
}

func (l *lines) data(at int64, b []byte) error {
	l.out = append(l.out, string(b))
	return nil
}

func (l *lines) link(name, target string) error {
	l.out = append(l.out, "l "+name+" "+target)
	return nil
}

func TestPackIsReadBack(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "sub", "a b\nc"), "text")
	write(t, filepath.Join(dir, "servers", "tool.py"), "not carried")
	write(t, filepath.Join(dir, "zeros"), strings.Repeat("\x00", 3*len(zeros)))
	for name, mode := range map[string]fs.FileMode{"sub": 0o755, "sub/a b\nc": 0o600, "zeros": 0o644} {
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	when := time.Unix(12345, 678)
	for _, name := range []string{"sub/a b\nc", "zeros"} {
		if err := os.Chtimes(filepath.Join(dir, name), when, when); err != nil {
			t.Fatal(err)
		}
	}
	root := open(t, dir)
	load, err := Weigh(root, []string{"servers"}, 1<<20, 100)
	if want := (Load{Bytes: page + int64(3*len(zeros)), Files: 4, Largest: int64(3 * len(zeros))}); err != nil || load != want {
		t.Errorf("it weighs %+v, want %+v, %v", load, want, err)
	}
	var b bytes.Buffer
	if err := Pack(context.Background(), root, []string{"servers"}, &b); err != nil {
		t.Fatal(err)
	}
	if b.Len() > 1000 {
		t.Errorf("zeros were carried: %d bytes", b.Len())
	}
	var l lines
	if err := parse(&b, Limits{Bytes: 1 << 20, Files: 100, Largest: 1 << 20}, &l); err != nil {
		t.Fatal(err)
	}
	stamp := when.UTC().Format(time.RFC3339Nano)
	want := []string{"l link /etc/passwd", "d sub -rwxr-xr-x", "f sub/a b\nc -rw------- " + stamp, "text", "f zeros -rw-r--r-- " + stamp}
	if strings.Join(l.out, "|") != strings.Join(want, "|") {
		t.Errorf("got %q\nwant %q", l.out, want)
	}
	for what, err := range map[string]error{
		"bytes": func() error { _, err := Weigh(root, nil, page, 100); return err }(),
		"files": func() error { _, err := Weigh(root, nil, 1<<20, 3); return err }(),
	} {
		if !errors.Is(err, ErrTooMuch) {
			t.Errorf("too many %s: %v", what, err)
		}
	}
}

// A container may send anything.
func FuzzApply(f *testing.F) {
	for _, seed := range []func(r *recorder){
		func(r *recorder) {
			r.removed("a")
			r.dir("d", 0o755)
			r.plain("d/f", "text")
			r.link("l", "d/f")
			r.end()
		},
		func(r *recorder) { r.holed("a", 0o777, 100, "x", 1000); r.end() },
	} {
		in := stream(f, seed)
		b := make([]byte, in.Len())
		in.Read(b)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		base := t.TempDir()
		dir := filepath.Join(base, "workspace")
		write(t, filepath.Join(base, "outside"), "untouched")
		write(t, filepath.Join(dir, "a"), "old")
		if err := os.Symlink("..", filepath.Join(dir, "up")); err != nil {
			t.Fatal(err)
		}
		_, err := Apply(open(t, dir), bytes.NewReader(b), Limits{Bytes: 1 << 16, Files: 50, Largest: 1 << 16, Skip: []string{"servers"}})
		_ = err // most are refused; what counts is what is left alone
		entries, readErr := os.ReadDir(base)
		if readErr != nil || len(entries) != 2 || read(t, filepath.Join(base, "outside")) != "untouched" {
			t.Errorf("something outside has changed: %v, %v", entries, readErr)
		}
	})
}
