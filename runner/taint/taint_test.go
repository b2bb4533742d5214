package taint

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// begin begins a run in a folder. It returns the run, and the servers whose data it begins with, sorted.
func begin(t *testing.T, s *Store, folder string, servers ...string) (*Run, string) {
	t.Helper()
	r, found, err := s.Begin(t.Context(), folder, nil, servers)
	if err != nil {
		t.Fatal(err)
	}
	return r, strings.Join(slices.Sorted(maps.Keys(found)), " ")
}

// with returns the servers whose data the next run begins with.
func with(t *testing.T, s *Store, folder string) string {
	t.Helper()
	r, got := begin(t, s, folder)
	end(t, r)
	return got
}

func end(t *testing.T, r *Run, files ...string) {
	t.Helper()
	if err := r.End(files); err != nil {
		t.Error(err)
	}
}

func write(t *testing.T, folder, file string) {
	t.Helper()
	path := filepath.Join(folder, file)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte("x"), 0o666)); err != nil {
		t.Fatal(err)
	}
}

// age makes a file an hour old, as far as the file's own times show.
func age(t *testing.T, folder, file string) {
	t.Helper()
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(folder, file), old, old); err != nil {
		t.Fatal(err)
	}
}

func TestLabels(t *testing.T) {
	for _, c := range []struct {
		name   string
		during func(t *testing.T, folder string)
		after  func(t *testing.T, folder string)
		wrote  []string // the files that the run is known to have written
		want   string   // the servers whose data the next run begins with
	}{
		{name: "nothing is left"},
		{name: "a file", during: func(t *testing.T, f string) { write(t, f, "a/b.txt") }, want: "crm web"},
		{name: "a file that is removed", during: func(t *testing.T, f string) { write(t, f, "b.txt") }, after: func(t *testing.T, f string) { os.Remove(f + "/b.txt") }},
		{name: "a file that is renamed", during: func(t *testing.T, f string) { write(t, f, "b.txt") }, after: func(t *testing.T, f string) { os.Rename(f+"/b.txt", f+"/c.txt") }, want: "crm web"},
		{name: "a file whose time is another one", during: func(t *testing.T, f string) { write(t, f, "b.txt") }, after: func(t *testing.T, f string) { age(t, f, "b.txt") }, wrote: []string{"b.txt"}, want: "crm web"},
		{name: "a file of whole seconds", during: func(t *testing.T, f string) { write(t, f, "b.txt") }, after: func(t *testing.T, f string) {
			whole := time.Now().Truncate(time.Second)
			time.Sleep(30 * time.Millisecond)
			os.Chtimes(f+"/b.txt", whole, whole)
		}, want: "crm web"},
		{name: "the name of a folder", during: func(t *testing.T, f string) { os.Mkdir(f+"/secret", 0o777) }, want: "crm web"},
		{name: "the target of a link", during: func(t *testing.T, f string) { os.Symlink("secret", f+"/link") }, want: "crm web"},
		{name: "a folder that is too deep", during: func(t *testing.T, f string) { write(t, f, strings.Repeat("d/", 70)+"b.txt") }, want: "crm web"},
		{name: "what mcprun writes to keep git out", during: func(t *testing.T, f string) { os.WriteFile(f+"/.gitignore", []byte("*\n"), 0o600) }},
		{name: "another .gitignore", during: func(t *testing.T, f string) { os.WriteFile(f+"/.gitignore", []byte("*\nx"), 0o600) }, want: "crm web"},
		{name: "where sandboxes mount", during: func(t *testing.T, f string) { os.Mkdir(f+"/servers", 0o777) }},
		{name: "a file that a person adds", after: func(t *testing.T, f string) { time.Sleep(30 * time.Millisecond); write(t, f, "mine.txt") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, folder := Open(filepath.Join(t.TempDir(), "taint")), t.TempDir()
			write(t, folder, "before.txt")
			age(t, folder, "before.txt")
			if runtime.GOOS != "windows" {
				time.Sleep(30 * time.Millisecond)
			}
			r, got := begin(t, s, folder, "crm")
			if got != "" {
				t.Fatalf(`the first run begins with %q, want ""`, got)
			}
			if err := r.Receive([]string{"web"}); err != nil {
				t.Fatal(err)
			}
			if c.during != nil {
				c.during(t, folder)
			}
			end(t, r, c.wrote...)
			if c.after != nil {
				c.after(t, folder)
			}
			for i := range 2 {
				if got := with(t, s, folder); got != c.want {
					t.Errorf("run %d begins with %q, want %q", i+2, got, c.want)
				}
			}
			if got := with(t, s, t.TempDir()); got != "" {
				t.Errorf(`a run in another workspace begins with %q, want ""`, got)
			}
		})
	}
}

// TestKilled kills the host of a run.
func TestKilled(t *testing.T) {
	const variable = "MCPGEN_TEST_TAINT"
	if dir := os.Getenv(variable); dir != "" {
		r, _ := begin(t, Open(dir), filepath.Join(dir, "workspace"))
		if err := r.Receive([]string{"web"}); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "workspace"), "b.txt")
		fmt.Println("written")
		os.Exit(0) // like kill -9, it ends nothing properly
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "workspace")
	write(t, folder, "old.txt")
	age(t, folder, "old.txt")
	cmd := exec.Command(os.Args[0], "-test.run", "^TestKilled$")
	cmd.Env = append(os.Environ(), variable+"="+dir)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "written") {
		t.Fatalf("%v, want \"written\" in it and no error\n%s", err, out)
	}
	if got := with(t, Open(dir), folder); got != "web" {
		t.Errorf("the next run begins with %q, want web", got)
	}
	if err := errors.Join(os.Remove(folder+"/b.txt"), os.Remove(folder+"/old.txt")); err != nil {
		t.Fatal(err)
	}
	time.Sleep(30 * time.Millisecond)
	write(t, folder, "new.txt")
	if got := with(t, Open(dir), folder); got != "" {
		t.Errorf(`a file written after the killed run was found makes the next run begin with %q, want ""`, got)
	}
	if left, _ := filepath.Glob(dir + "/*.run"); left != nil {
		t.Errorf("left: %v, want nil", left)
	}
}

// TestSideBySide lets a run read what another run writes at the same time.
func TestSideBySide(t *testing.T) {
	dir, folder := t.TempDir(), t.TempDir()
	clean, _ := begin(t, Open(dir), folder)
	if got, err := clean.Inherited(); err != nil || len(got) != 0 {
		t.Fatal(got, err)
	}
	other, _ := begin(t, Open(dir), folder, "web")
	if got, err := clean.Inherited(); err != nil || got["web"] == "" {
		t.Errorf("beside a run with data of web: %v, %v", got, err)
	}
	end(t, other)
	time.Sleep(30 * time.Millisecond)
	write(t, folder, "late.txt")
	end(t, clean)
	if got := with(t, Open(dir), folder); got != "web" {
		t.Errorf("after both, a run begins with %q, want web", got)
	}
	if err := os.Remove(folder + "/late.txt"); err != nil {
		t.Fatal(err)
	}
	third, got := begin(t, Open(dir), folder)
	if got != "" {
		t.Errorf(`without files, a run begins with %q, want ""`, got)
	}
	if err := Open(dir).Wrote(t.Context(), folder, "mail.txt", []string{"crm"}); err != nil {
		t.Fatal(err)
	}
	write(t, folder, "mail.txt")
	if got, err := third.Inherited(); err != nil || got["crm"] == "" {
		t.Errorf("after somebody wrote a file: %v, %v", got, err)
	}
	end(t, third)
}

func TestOf(t *testing.T) {
	s, folder := Open(t.TempDir()), t.TempDir()
	r, _ := begin(t, s, folder, "web")
	write(t, folder, "web.txt")
	end(t, r)
	time.Sleep(30 * time.Millisecond)
	write(t, folder, "mine.txt")
	if err := os.Symlink("web.txt", folder+"/link"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(30 * time.Millisecond)
	if err := s.Wrote(t.Context(), folder, "crm.txt", []string{"crm"}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(30 * time.Millisecond)
	write(t, folder, "crm.txt")
	for file, want := range map[string]string{"web.txt": "web", "mine.txt": "", "crm.txt": "crm", "link": "web", "none": ""} {
		got, err := s.Of(folder, file)
		if names := strings.Join(slices.Sorted(maps.Keys(got)), " "); err != nil || names != want {
			t.Errorf("%s holds data of %q, %v, want %q", file, names, err, want)
		}
	}
	if got, err := s.Of(folder, "mine.txt", "web.txt"); err != nil || got["web"] != `the file "web.txt" of the workspace` {
		t.Errorf("two files: %v, %v, want %q and no error", got, err, `the file "web.txt" of the workspace`)
	}
}

func TestManyRuns(t *testing.T) {
	s, folder := Open(t.TempDir()), t.TempDir()
	err := s.change(t.Context(), folder, func(r *record) (bool, error) {
		for i := range 3 * maxSpans {
			at := time.Now().Add(-time.Hour + time.Duration(i)*time.Millisecond)
			r.Spans = append(r.Spans, span{Run: fmt.Sprint(i), Began: at, Ended: at, Servers: []string{fmt.Sprint("s", i%3)}})
		}
		return true, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	with(t, s, folder)
	r, err := s.read(folder)
	if err != nil || len(r.Spans) != maxSpans || !slices.Equal(r.Spans[0].Servers, []string{"s0", "s1", "s2"}) || r.Spans[0].Ended.Before(r.Spans[0].Began) {
		t.Errorf("%d runs are kept, %v", len(r.Spans), err)
	}
}

func TestDamaged(t *testing.T) {
	s, folder := Open(t.TempDir()), t.TempDir()
	r, _ := begin(t, s, folder)
	if err := os.WriteFile(s.path(folder), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, began := s.Begin(t.Context(), folder, nil, nil)
	_, inherited := r.Inherited()
	_, of := s.Of(folder, "a")
	for _, err := range []error{began, inherited, of, r.Receive([]string{"web"}), s.Wrote(t.Context(), folder, "a", []string{"web"}), r.End(nil)} {
		if err == nil || !strings.Contains(err.Error(), s.path(folder)) || !strings.Contains(err.Error(), "remove it") {
			t.Errorf("with a damaged file: %v", err)
		}
	}
}

// Nested workspaces share the files of the inner one, and no others.
func TestNested(t *testing.T) {
	s, outer := Open(t.TempDir()), t.TempDir()
	inner := filepath.Join(outer, "a", "inner")
	write(t, inner, "old")
	time.Sleep(3 * tick)
	r, _ := begin(t, s, inner, "web")
	write(t, inner, "leads")
	end(t, r, "leads")
	if got := with(t, s, outer); got != "web" {
		t.Errorf("the outer workspace begins with %q, want web", got)
	}
	if got := with(t, s, filepath.Join(outer, "b")); got != "" {
		t.Errorf(`a workspace beside begins with %q, want ""`, got)
	}
	time.Sleep(3 * tick)
	if err := os.Remove(filepath.Join(inner, "leads")); err != nil {
		t.Fatal(err)
	}
	if got := with(t, s, outer) + with(t, s, inner); got != "" {
		t.Errorf(`without the file the workspaces begin with %q, want ""`, got)
	}
	time.Sleep(3 * tick)
	r, _ = begin(t, s, outer, "crm")
	write(t, outer, "beside")
	end(t, r, "beside")
	time.Sleep(3 * tick)
	if got := with(t, s, inner); got != "" {
		t.Errorf(`the inner workspace begins with %q, of a file that lies outside, want ""`, got)
	}
	r, _ = begin(t, s, outer, "mail")
	write(t, inner, "from outside")
	end(t, r, "a/inner/from outside")
	if got := with(t, s, inner); !strings.Contains(got, "mail") {
		t.Errorf("the inner workspace begins with %q, want mail in it", got)
	}
}
