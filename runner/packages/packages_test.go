package packages

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/go-cmp/cmp"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// wheelOf returns a wheel: a zip archive with some files and what says so. A text that begins with -> is a link.
func wheelOf(t testing.TB, name, version string, files map[string]string) []byte {
	t.Helper()
	info := name + "-" + version + ".dist-info/"
	all := map[string]string{
		info + "METADATA": "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\n",
		info + "WHEEL":    "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
	}
	record := info + "RECORD,,\n"
	for file, text := range files {
		all[file] = text
	}
	for file := range all {
		record += file + ",,\n"
	}
	all[info+"RECORD"] = record
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for file, text := range all {
		header := &zip.FileHeader{Name: file, Method: zip.Deflate}
		if target, ok := strings.CutPrefix(text, "->"); ok {
			header.SetMode(fs.ModeSymlink | 0o777)
			text = target
		}
		f, err := w.CreateHeader(header)
		if err == nil {
			_, err = f.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// index serves wheels as an index of Python packages does, by the names of their files.
func index(t testing.TB, wheels map[string][]byte) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, file, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/simple/"), "/")
		if content, ok := wheels[file]; ok {
			_, _ = w.Write(content)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		for file := range wheels {
			if distribution, _, _ := strings.Cut(file, "-"); sameName(distribution, name) {
				fmt.Fprintf(w, "<a href=%q>%s</a>\n", file, file)
			}
		}
	}))
	t.Cleanup(s.Close)
	return s.URL + "/simple/"
}

// cacheDir returns a cache folder, which is removed at the end although sets are read-only.
func cacheDir(t testing.TB) string {
	dir := t.TempDir()
	t.Cleanup(func() {
		if err := removeAll(Folder(dir)); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// options are those of this machine, with more variables.
func options(t testing.TB, variables ...string) InstallOptions {
	o := InstallOptions{LookPath: exec.LookPath, Say: func(line string) { t.Log(line) }, Environment: variables}
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); Passes(name) {
			o.Environment = append(o.Environment, v)
		}
	}
	return o
}

func write(t testing.TB, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// numbers is a package with another name than its module, and greetings one that needs it.
func wheels(t testing.TB) map[string][]byte {
	return map[string][]byte{
		"Numbers_Py-1.0-py3-none-any.whl": wheelOf(t, "Numbers_Py", "1.0", map[string]string{"numbers_mod/__init__.py": "answer = 42\n", "numbers_mod/_fast.so": "x", "evil.pth": "import os; os._exit(9)\n"}),
		"greetings-2.1-py3-none-any.whl":  wheelOf(t, "greetings", "2.1", map[string]string{"greetings.py": "import numbers_mod\n", "_private.py": ""}),
	}
}

func wantWheels() []Package {
	return []Package{
		{Language: sandbox.LangPython, Name: "greetings", Version: "2.1", Imports: []string{"greetings"}},
		{Language: sandbox.LangPython, Name: "Numbers_Py", Version: "1.0", Imports: []string{"numbers_mod"}, Native: true},
	}
}

func TestInstallFromIndex(t *testing.T) {
	cache, dir, served := cacheDir(t), t.TempDir(), wheels(t)
	text := ""
	for file, content := range served {
		m := wheelName.FindStringSubmatch(file)
		text += m[1] + "==" + m[2] + " \\\n    --hash=sha256:" + hashOf([]byte("another wheel")) + " \\\n    --hash=sha256:" + hashOf(content) + "\n    # via me\n"
	}
	spec := Spec{Python: write(t, filepath.Join(dir, "requirements.txt"), text), Preload: []string{"greetings"}}
	if _, err := Open(cache, spec); err == nil || !strings.Contains(err.Error(), "not installed") {
		t.Fatalf("Open() before = %v, want that it is not installed", err)
	}
	set, err := Install(t.Context(), cache, spec, options(t, "PIP_INDEX_URL="+index(t, served)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantWheels(), set.Packages); diff != "" || !slices.Equal(set.Preload, spec.Preload) || set.JavaScript() != "" {
		t.Errorf("Install() = %+v (-want +got):\n%s", set, diff)
	}
	folder := set.Python(set.Pythons[0])
	out, err := exec.CommandContext(t.Context(), "python3", "-I", "-c", "import sys; sys.path.append(sys.argv[1]); import greetings; print(greetings.numbers_mod.answer)", folder).CombinedOutput()
	if string(out) != "42\n" || err != nil {
		t.Errorf("the program prints %q, %v", out, err)
	}
	if st, err := os.Stat(filepath.Join(folder, "greetings.py")); err != nil || st.Mode().Perm() != 0o444 {
		t.Errorf("a file has mode %v, %v", st.Mode(), err)
	}
	again, err := Install(t.Context(), cache, spec, options(t)) // without an index
	if err != nil || again.Digest != set.Digest {
		t.Errorf("Install() again = %v, %v", again, err)
	}
	write(t, spec.Python, text+"# a comment\n")
	if _, err := Open(cache, spec); err != nil {
		t.Errorf("Open() with one more comment = %v", err)
	}
	write(t, spec.Python, strings.Replace(text, "2.1", "2.2", 1))
	if _, err := Open(cache, spec); err == nil || !strings.Contains(err.Error(), "requirements.txt: the packages that it names are not installed, or it has changed since") {
		t.Errorf("Open() with another version = %v", err)
	}
}

// TestAnotherHash: an index that sends another file than the one that is pinned.
func TestAnotherHash(t *testing.T) {
	cache, served := cacheDir(t), wheels(t)
	spec := Spec{Python: write(t, filepath.Join(t.TempDir(), "r.txt"), "greetings==2.1 --hash=sha256:"+strings.Repeat("0", 64))}
	_, err := Install(t.Context(), cache, spec, options(t, "PIP_INDEX_URL="+index(t, served)))
	hint, ok := errors.AsType[interface {
		error
		Hint() string
	}](err)
	if !ok || !strings.Contains(err.Error(), "DO NOT MATCH") || !strings.Contains(hint.Hint(), "find out why") {
		t.Errorf("Install() = %v", err)
	}
	if left, _ := os.ReadDir(Folder(cache)); len(left) != 1 || left[0].Name() != ".lock" {
		t.Errorf("left in the cache: %v", left)
	}
}

func TestInstallWheels(t *testing.T) {
	cache, dir := cacheDir(t), filepath.Join(t.TempDir(), "wheels")
	for file, content := range wheels(t) {
		write(t, filepath.Join(dir, file), string(content))
	}
	write(t, filepath.Join(dir, "README"), "notes")
	set, err := Install(t.Context(), cache, Spec{Python: dir}, options(t))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantWheels(), set.Packages); diff != "" {
		t.Errorf("Install() (-want +got):\n%s", diff)
	}
	file := "greetings-2.1-py3-none-any.whl"
	write(t, filepath.Join(dir, file), string(wheelOf(t, "greetings", "2.1", map[string]string{"greetings.py": "changed = 1"})))
	if _, err := Open(cache, Spec{Python: dir}); err == nil || !strings.Contains(err.Error(), "not installed") {
		t.Errorf("Open() with another wheel = %v", err)
	}
	write(t, filepath.Join(dir, "x-1.0.tar.gz"), "")
	if _, err := Install(t.Context(), cache, Spec{Python: dir}, options(t)); err == nil || !strings.Contains(err.Error(), "x-1.0.tar.gz: it is not a wheel") {
		t.Errorf("Install() with a source archive = %v", err)
	}
}

// TestChanges changes an installed set in each way, and repairs it.
func TestChanges(t *testing.T) {
	cache, dir := cacheDir(t), t.TempDir()
	for file, content := range wheels(t) {
		write(t, filepath.Join(dir, file), string(content))
	}
	spec := Spec{Python: dir}
	for _, c := range []struct {
		name   string
		change func(folder string) error
		want   string // a regular expression; empty: it is accepted
	}{
		{"a file's content", func(f string) error { return overwrite(filepath.Join(f, "greetings.py"), "import numbers_bad\n") }, `greetings\.py: it was changed`},
		{"a file's size", func(f string) error { return overwrite(filepath.Join(f, "greetings.py"), "x") }, `greetings\.py: it was changed`},
		{"one file less", func(f string) error {
			return errors.Join(os.Chmod(f, 0o755), os.Remove(filepath.Join(f, "greetings.py")))
		}, `greetings\.py: it was removed`},
		{"one file more", func(f string) error {
			return errors.Join(os.Chmod(filepath.Join(f, "numbers_mod"), 0o755), os.WriteFile(filepath.Join(f, "numbers_mod", "more.py"), nil, 0o600))
		}, `numbers_mod.more\.py: it was added`},
		{"a link", func(f string) error {
			file := filepath.Join(f, "greetings.py")
			return errors.Join(os.Chmod(f, 0o755), os.Rename(file, file+"x"), os.Symlink("greetings.pyx", file), os.Rename(file+"x", filepath.Join(f, "..", "x")))
		}, `greetings\.py: it was (replaced|added)`},
		{"the list of files", func(f string) error { return overwrite(filepath.Join(filepath.Dir(f), listFile), "x\n") }, "is damaged"},
		{"a time alone", func(f string) error { return os.Chtimes(filepath.Join(f, "greetings.py"), time.Now(), time.Now()) }, ""},
		{"rights alone", func(f string) error { return os.Chmod(f, 0o755) }, ""},
	} {
		set, err := Install(t.Context(), cache, spec, options(t))
		if err != nil {
			t.Fatalf("%s: Install() before = %v", c.name, err)
		}
		for range 2 { // from the second time on, this process watches the set
			if _, err := Open(cache, spec); err != nil {
				t.Fatalf("%s: Open() before = %v", c.name, err)
			}
		}
		if err := c.change(set.Python(set.Pythons[0])); err != nil {
			t.Fatal(err)
		}
		for range 2 { // what was noticed once is noticed again
			_, err = Open(cache, spec)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !regexp.MustCompile(c.want).MatchString(err.Error())) {
				t.Errorf("%s: Open() = %v, want %q", c.name, err, c.want)
			}
		}
	}
}

// overwrite changes a read-only file in place.
func overwrite(path, text string) error {
	return errors.Join(os.Chmod(path, 0o644), os.WriteFile(path, []byte(text), 0o600))
}

// TestWaits: an installation says that it waits for another one.
func TestWaits(t *testing.T) {
	cache := cacheDir(t)
	if err := os.MkdirAll(Folder(cache), 0o700); err != nil {
		t.Fatal(err)
	}
	other := flock.New(filepath.Join(Folder(cache), ".lock"))
	if err := other.Lock(); err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	ctx, cancel := context.WithCancel(t.Context())
	o := options(t)
	said := ""
	o.Say = func(line string) { said += line; cancel() }
	if _, err := Install(ctx, cache, Spec{Python: "requirements.txt"}, o); !errors.Is(err, context.Canceled) || said != "waiting for another installation of packages to end" {
		t.Errorf("Install() during another one = %v, and it says %q, want that it waits", err, said)
	}
}

// TestOutsideOfTheProject: files that are not in the project's folder are not read, however they are named.
func TestOutsideOfTheProject(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "project")
	secret := write(t, filepath.Join(top, "secret"), "token")
	write(t, filepath.Join(dir, "inside", "r.txt"), "token")
	for link, to := range map[string]string{"link": secret, "above": top, "again": "inside"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		secret:                             "it is outside of the project's folder",
		filepath.Join(dir, "link"):         "it is outside of the project's folder",
		filepath.Join(dir, "above/secret"): "it is outside of the project's folder",
		filepath.Join(dir, "absent"):       "it cannot be read",
		filepath.Join(dir, "again/r.txt"):  "token",
	} {
		for _, spec := range []Spec{{Python: path, Dir: dir}, {JavaScript: path, Dir: dir}} {
			want := want
			if spec.JavaScript != "" && want == "token" {
				want = "it is not a package-lock.json"
			}
			if _, err := Open(t.TempDir(), spec); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Open(%+v) = %v, want %q", spec, err, want)
			}
		}
	}
}
