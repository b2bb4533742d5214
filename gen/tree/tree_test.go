package tree

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpgen/mcpgen/gen/atomicfile"
)

const header = "// Code generated. DO NOT EDIT.\n"

func options(written Tree) Options {
	o := Options{
		Written:   map[string]string{},
		Generated: func(_ string, head []byte) bool { return bytes.HasPrefix(head, []byte(header)) },
		Commit:    ".meta/lock",
	}
	for p, content := range written {
		sum := sha256.Sum256(content)
		o.Written[p] = "sha256:" + hex.EncodeToString(sum[:])
	}
	return o
}

func apply(t *testing.T, dir string, want Tree, o Options) *Plan {
	t.Helper()
	p, err := MakePlan(dir, want, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

// read returns every file below dir.
func read(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		if d.Type()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(path)
			files[filepath.ToSlash(rel)] = "-> " + target
			return err
		}
		b, err := os.ReadFile(path)
		files[filepath.ToSlash(rel)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func steps(p *Plan) map[string]Action {
	m := map[string]Action{}
	for _, s := range p.Steps {
		m[s.Path] = s.Action
	}
	return m
}

var first = Tree{
	".meta/lock": []byte("1"),
	"README.md":  []byte("read me\n"),
	"a/one.ts":   []byte(header + "one\n"),
	"a/two.ts":   []byte(header + "two\n"),
	"b/three.ts": []byte(header + "three\n"),
}

var second = Tree{
	".meta/lock": []byte("2"),
	"README.md":  []byte("read me\n"),
	"a/one.ts":   []byte(header + "one, changed\n"),
	"a/two.ts":   []byte(header + "two\n"),
	"c/four.ts":  []byte(header + "four\n"),
}

func TestApply(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "tree")
	apply(t, dir, first, options(nil))
	old := time.Now().Add(-time.Hour).Truncate(time.Second)
	for name := range first {
		if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	write(t, dir, "b/mine.md", "my own\n")

	p := apply(t, dir, second, options(first))
	want := map[string]Action{".meta/lock": Update, "a/one.ts": Update, "b/three.ts": Delete, "c/four.ts": Create}
	if diff := cmp.Diff(want, steps(p)); diff != "" || p.Unchanged != 2 {
		t.Errorf("unchanged %d, steps (-want +got):\n%s", p.Unchanged, diff)
	}
	files := map[string]string{"b/mine.md": "my own\n"}
	for name, content := range second {
		files[name] = string(content)
	}
	if diff := cmp.Diff(files, read(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	for _, name := range []string{"README.md", "a/two.ts"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || !info.ModTime().Equal(old) {
			t.Errorf("%s was touched: %v %v", name, info.ModTime(), err)
		}
	}
	if p := apply(t, dir, second, options(second)); !p.Empty() {
		t.Errorf("a second time: %v", steps(p))
	}
	delete(files, "b/mine.md")
	if err := os.Remove(filepath.Join(dir, "b/mine.md")); err != nil {
		t.Fatal(err)
	}
	apply(t, dir, first, options(second))
	if _, err := os.Stat(filepath.Join(dir, "c")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty folder of ours stays: %v, want %v", err, fs.ErrNotExist)
	}
}

func TestForeignFiles(t *testing.T) {
	outside := t.TempDir()
	write(t, outside, "one.ts", "outside\n")
	tests := []struct {
		name  string
		make  func(t *testing.T, dir string)
		paths []string
	}{
		{"a file", func(t *testing.T, dir string) { write(t, dir, "a/one.ts", "mine\n") }, []string{"a/one.ts"}},
		{"several", func(t *testing.T, dir string) {
			write(t, dir, "a/one.ts", "mine\n")
			write(t, dir, "README.md", "mine\n")
		}, []string{"README.md", "a/one.ts"}},
		{"a file where a folder goes", func(t *testing.T, dir string) { write(t, dir, "a", "mine\n") }, []string{"a"}},
		{"a folder where a file goes", func(t *testing.T, dir string) { write(t, dir, "README.md/x", "mine\n") }, []string{"README.md"}},
		{"a link out", func(t *testing.T, dir string) { link(t, outside, filepath.Join(dir, "a")) }, []string{"a"}},
		{"a link to a file out", func(t *testing.T, dir string) {
			write(t, dir, "a/x", "mine\n")
			link(t, filepath.Join(outside, "one.ts"), filepath.Join(dir, "a/one.ts"))
		}, []string{"a/one.ts"}},
		{"a link inside", func(t *testing.T, dir string) {
			write(t, dir, "x/y", "mine\n")
			link(t, "x", filepath.Join(dir, "a"))
		}, []string{"a"}},
		{"a dangling link", func(t *testing.T, dir string) { link(t, "nowhere", filepath.Join(dir, "README.md")) }, []string{"README.md"}},
		{"our folder is a link", func(t *testing.T, dir string) { link(t, outside, filepath.Join(dir, ".meta")) }, []string{".meta"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			tt.make(t, dir)
			before := read(t, dir)
			_, err := MakePlan(dir, first, options(nil))
			var foreign *ForeignError
			if !errors.As(err, &foreign) || foreign.Hint() == "" {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff(tt.paths, foreign.Paths); diff != "" {
				t.Errorf("paths (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, read(t, dir)); diff != "" {
				t.Errorf("something was written:\n%s", diff)
			}
		})
	}
}

func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}

func TestOwnership(t *testing.T) {
	dir := t.TempDir()
	apply(t, dir, first, options(nil))
	// It is marked as generated, but was edited by hand.
	write(t, dir, "a/two.ts", header+"edited\n")
	// No longer wanted, and edited so much that nothing marks it as ours.
	write(t, dir, "b/three.ts", "rewritten by hand\n")
	// Not in the lock, but marked as generated, which happens if the lock is lost.
	write(t, dir, "z/lost.ts", header)
	// The same in folders of other trees and programs.
	write(t, dir, "nested/.meta/lock", "")
	write(t, dir, "nested/x.ts", header)
	write(t, dir, "node_modules/x.ts", header)
	p := apply(t, dir, second, options(first))
	want := map[string]Action{".meta/lock": Update, "a/two.ts": Update, "a/one.ts": Update, "c/four.ts": Create, "z/lost.ts": Delete}
	if diff := cmp.Diff(want, steps(p)); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"b/three.ts"}, p.Kept); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	files := read(t, dir)
	if files["b/three.ts"] != "rewritten by hand\n" || files["nested/x.ts"] != header || files["node_modules/x.ts"] != header {
		t.Errorf("files %v, want %q, %v and %v", files, "rewritten by hand\n", header, header)
	}
}

// A stale path in the lock that is a link, or leads outside, is not followed.
func TestStaleLinksStay(t *testing.T) {
	outside := t.TempDir()
	write(t, outside, "old.ts", header)
	dir := t.TempDir()
	link(t, outside, filepath.Join(dir, "gone"))
	link(t, filepath.Join(outside, "old.ts"), filepath.Join(dir, "old.ts"))
	o := options(Tree{"gone/old.ts": []byte(header), "old.ts": []byte(header), "../x": nil})
	apply(t, dir, first, o)
	if got := read(t, outside); got["old.ts"] != header {
		t.Errorf("outside: %v, want %v", got, header)
	}
}

func TestCheckRefusesPaths(t *testing.T) {
	for _, tt := range []struct {
		tree Tree
		want string
	}{
		{Tree{"../x": nil}, "not a path inside"},
		{Tree{"/x": nil}, "not a path inside"},
		{Tree{"a//b": nil}, "not a path inside"},
		{Tree{`a\b`: nil}, "not a path inside"},
		{Tree{"C:x": nil}, "not a path inside"},
		{Tree{".": nil}, "not a path inside"},
		{Tree{"a\nb": nil}, "control character"},
		{Tree{"a/B.ts": nil, "a/b.ts": nil}, "ignores case"},
		{Tree{"A/x.ts": nil, "a/y.ts": nil}, "ignores case"},
		{Tree{"a": nil, "a/b": nil}, "a file and a folder"},
	} {
		_, err := MakePlan(t.TempDir(), tt.tree, Options{})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: %v, want %q", tt.tree, err, tt.want)
		}
	}
}

// If a sync is killed at any point, the next one repairs the tree. It recognises its own files, and leaves nothing behind.
func TestKilledAtAnyPoint(t *testing.T) {
	for n := 0; ; n++ {
		dir := t.TempDir()
		apply(t, dir, first, options(nil))
		p, err := MakePlan(dir, second, options(first))
		if err != nil {
			t.Fatal(err)
		}
		completed := applyKilled(t, p, n)
		third := Tree{}
		for name, content := range second {
			third[name] = append(bytes.Clone(content), '3')
		}
		delete(third, "README.md")

		// As the caller would read it from the lock.
		o := options(first)
		if b, err := os.ReadFile(filepath.Join(dir, ".meta/lock")); err == nil && string(b) == "2" {
			o = options(second)
		}
		apply(t, dir, third, o)
		want := map[string]string{}
		for name, content := range third {
			want[name] = string(content)
		}
		if diff := cmp.Diff(want, read(t, dir)); diff != "" {
			t.Fatalf("killed after %d steps (-want +got):\n%s", n, diff)
		}
		if completed {
			if n < 5 {
				t.Fatalf("only %d steps, want at least 5", n)
			}
			return
		}
	}
}

// applyKilled makes the first n changes of Apply, in the order that Apply promises.
func applyKilled(t *testing.T, p *Plan, n int) (completed bool) {
	t.Helper()
	todo := []func() error{}
	at := func(name string) string { return filepath.Join(p.root, filepath.FromSlash(name)) }
	put := func(name string, content []byte) {
		temp := at(".meta/" + atomicfile.TempPrefix + strings.ReplaceAll(name, "/", "_"))
		todo = append(todo,
			func() error { return os.WriteFile(temp, content[:len(content)/2], 0o644) },
			func() error { return os.WriteFile(temp, content, 0o644) },
			func() error {
				return errors.Join(os.MkdirAll(filepath.Dir(at(name)), 0o755), os.Rename(temp, at(name)))
			})
	}
	var commit []byte
	for _, s := range p.Steps {
		if s.Path == p.opts.Commit {
			commit = s.New
		}
	}
	for _, s := range p.Steps {
		if s.Action != Delete && s.Path != p.opts.Commit {
			put(s.Path, s.New)
		}
	}
	for _, s := range p.Steps {
		if s.Action == Delete {
			todo = append(todo, func() error { return os.Remove(at(s.Path)) })
		}
	}
	put(p.opts.Commit, commit)
	for _, f := range todo[:min(n, len(todo))] {
		if err := f(); err != nil {
			t.Fatal(err)
		}
	}
	return n >= len(todo)
}

func TestTwoAtOnce(t *testing.T) {
	dir := t.TempDir()
	apply(t, dir, first, options(nil))
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	unlock, err := lockDir(root, ".meta")
	if err != nil {
		t.Fatal(err)
	}
	p, err := MakePlan(dir, second, options(first))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Apply(t.Context()); err == nil || !strings.Contains(err.Error(), "another sync") {
		t.Errorf(`the second one: %v, want an error and "another sync" in it`, err)
	}
	unlock()
	if err := p.Apply(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestDiff(t *testing.T) {
	dir := t.TempDir()
	apply(t, dir, Tree{"a": []byte("1\n2\n"), "b": []byte("x\n")}, Options{})
	p, err := MakePlan(dir, Tree{"a": []byte("1\n3\n"), "c": []byte("new\n"), "d": nil}, Options{Written: map[string]string{"a": options(Tree{"a": []byte("1\n2\n")}).Written["a"], "b": options(Tree{"b": []byte("x\n")}).Written["b"]}})
	if err != nil {
		t.Fatal(err)
	}
	want := `--- a/a
+++ b/a
@@ -1,2 +1,2 @@
 1
-2
+3
--- a/b
+++ /dev/null
@@ -1,1 +0,0 @@
-x
--- /dev/null
+++ b/c
@@ -0,0 +1,1 @@
+new
--- /dev/null
+++ b/d
`
	if diff := cmp.Diff(want, string(p.Diff())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// countdown is a context that ends after its error was requested a number of times.
type countdown struct {
	context.Context
	left int
}

var errInterrupted = errors.New("interrupted")

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return errInterrupted
	}
	return nil
}

func (c *countdown) Done() <-chan struct{} { return nil }

// A sync that is interrupted while it writes its temporary files changes nothing and leaves nothing.
func TestInterruptedApplyChangesNothing(t *testing.T) {
	for _, left := range []int{0, 1, 300, 2000} {
		dir := t.TempDir()
		apply(t, dir, large("old"), options(nil))
		before := read(t, dir)
		p, err := MakePlan(dir, large("new"), options(large("old")))
		if err != nil {
			t.Fatal(err)
		}
		err = p.Apply(&countdown{Context: context.Background(), left: left})
		if completes := left == 2000; completes != (err == nil) { // there are 601 files
			t.Fatalf("Apply() interrupted at its check %d = %v", left, err)
		}
		if diff := cmp.Diff(before, read(t, dir)); (diff == "") != (err != nil) {
			t.Errorf("interrupted at its check %d (-before +after):\n%s", left, diff)
		}
	}
}

// A file at a generated path belongs to a person if it differs from what the last sync wrote and is not marked as generated.
func TestReplacedFileIsForeign(t *testing.T) {
	dir := t.TempDir()
	apply(t, dir, first, options(nil))
	write(t, dir, "README.md", "my own\n")
	write(t, dir, "a/one.ts", "my own\n")
	want := Tree{}
	for name := range first {
		want[name] = []byte(header + "new")
	}
	_, err := MakePlan(dir, want, options(first))
	var foreign *ForeignError
	if !errors.As(err, &foreign) {
		t.Fatalf("MakePlan() = %v, want a ForeignError", err)
	}
	if diff := cmp.Diff([]string{"README.md", "a/one.ts"}, foreign.Paths); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
}

func BenchmarkApply(b *testing.B) {
	want := Tree{}
	for i := range 2000 {
		want["s/f"+strings.Repeat("x", i%9)+string(rune('a'+i%26))+time.Duration(i).String()+".ts"] = bytes.Repeat([]byte("line of a wrapper\n"), 100)
	}
	for b.Loop() {
		p, err := MakePlan(b.TempDir(), want, options(nil))
		if err == nil {
			err = p.Apply(b.Context())
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
