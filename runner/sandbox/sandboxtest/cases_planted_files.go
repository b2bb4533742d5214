package sandboxtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/workspace"
)

// hostFolders returns the folders in which the host stores files, below its own folder in the workspace.
func hostFolders() []string { return []string{"results", "output", "images"} }

// hostModule returns the name of a module beside a script in the workspace.
func hostModule(lang sandbox.Language) string {
	return "planted" + lang.Extensions()[0]
}

// plantedCases plant each kind of file wherever the host reads or writes in a workspace, and then make the host do so. A script that cannot
// create a kind moves one that the test created, as the owner of the workspace could have done.
func plantedCases() []testCase {
	well := &testCase{code: both(`console.log("well")`, `print("well")`), check: prints("well\n"), mayRefuse: true}
	var list []testCase
	for _, kind := range []string{"pipe", "socket", "device", "link to a pipe", "link to a device", "link to the root", "link to memory", "hard link", "folder", "file"} {
		list = append(list, testCase{name: "a " + kind + " where the host reads", args: []string{kind}, code: programs("planted-for-the-host"),
			setup: func(t *testing.T, w *world) {
				for i := range 8 {
					given(t, kind, filepath.Join(w.workspace, fmt.Sprintf("given-%d", i)))
				}
			},
			check: func(t *recorder, w *world, r *result) { nothing(t, w, r); hostReads(t, w) }, then: well})
	}
	return list
}

// hostReads does what the host does in a workspace during and after a run.
func hostReads(t *recorder, w *world) {
	for _, dir := range hostFolders() {
		store := func() error {
			s := workspace.NewStore(w.workspace, 1<<20)
			s.Relieve(1 << 20)
			at, err := s.Put(dir, "of-the-host", []byte("x"))
			return errors.Join(inside(w, at, err), s.Close())
		}
		ends(t, "put a file into "+dir, store)
	}
	for _, lang := range []sandbox.Language{sandbox.LangTypeScript, sandbox.LangPython} {
		ends(t, "import "+hostModule(lang), func() error { return w.imports(lang) })
	}
	ends(t, "look at the workspace", func() error { _, err := workspace.Take(w.workspace); return err })
	// The folder itself is the last place.
	at := func(name string) string { return filepath.Join(w.workspace, name) }
	if _, err := os.Lstat(at("instead")); err != nil {
		t.Logf("the planted files are not in the workspace: %v", err)
		return
	}
	if err := errors.Join(os.Rename(at(workspace.StoreDir), at("aside")), os.Rename(at("instead"), at(workspace.StoreDir))); err != nil {
		t.Errorf("move the planted files: %v", err)
		return
	}
	ends(t, "put a file into the folder", func() error {
		s := workspace.NewStore(w.workspace, 1<<20)
		at, err := s.Put("results", "of-the-host", []byte("x"))
		return errors.Join(inside(w, at, err), s.Close())
	})
	if text, err := os.ReadFile(at("own")); err == nil && string(text) != "own" {
		t.Errorf("the host wrote through a link: %.100q", text)
	}
}

// inside returns an error if a file was stored that is not a regular file of the workspace. An error of the store is fine.
func inside(w *world, at string, stored error) error {
	if stored != nil {
		return nil
	}
	real, err := filepath.EvalSymlinks(filepath.Join(w.workspace, filepath.FromSlash(at)))
	if err != nil {
		return err
	}
	info, err := os.Lstat(real)
	if base, _ := filepath.EvalSymlinks(w.workspace); err != nil || !info.Mode().IsRegular() || !strings.HasPrefix(real, base+string(filepath.Separator)) {
		return fmt.Errorf("%s is %v, %w", at, real, err)
	}
	return nil
}

// imports prepares a script of the workspace that imports a planted file. An error of the bundler is fine.
func (w *world) imports(lang sandbox.Language) error {
	src := script.Source{Name: "main.py", Language: lang, Dir: w.workspace, Code: "import planted"}
	if lang == sandbox.LangTypeScript {
		src.Name, src.Code = "main.ts", `import "./planted.ts";`
	}
	p, err := script.Read(context.Background(), src, script.Options{})
	if err == nil && strings.Contains(fmt.Sprint(p.Job.Code, p.Job.Modules), w.secret) {
		return errors.New("the canary was read")
	}
	return nil
}

// ends checks that f returns soon, without an error other than one of permissions.
func ends(t *recorder, what string, f func() error) {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		if err != nil && !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: %v", what, err)
		}
	case <-time.After(20 * time.Second):
		t.Errorf("%s: the host waits for a planted file", what)
	}
}
