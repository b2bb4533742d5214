package runner_test

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// TestFilesOfRunsAtOnce checks that each of two runs that use a workspace at the same time lists its own files, and a run alone all
// that changed.
func TestFilesOfRunsAtOnce(t *testing.T) {
	r, err := runner.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	start := func(name string, written *sync.WaitGroup, wrote ...string) *runner.Result {
		backend := &fakeBackend{guest: func(g *guest) sandbox.Exit {
			g.begin()
			if err := os.MkdirAll(filepath.Join(g.spec.Workspace, name), 0o755); err != nil {
				t.Error(err)
			}
			for _, file := range []string{name + ".txt", name + "/moved.txt"} {
				if err := os.WriteFile(filepath.Join(g.spec.Workspace, file), []byte(name), 0o600); err != nil {
					t.Error(err)
				}
			}
			written.Done()
			written.Wait()
			g.done(object{"wrote": wrote})
			return sandbox.Exit{}
		}}
		res, err := r.Run(t.Context(), runner.Script{Name: "s.py", Code: "1", Language: sandbox.LangPython, Backend: backend, Workspace: dir})
		if err != nil {
			t.Error(err)
			return &runner.Result{}
		}
		return res
	}
	var both, runs sync.WaitGroup
	both.Add(2)
	for name, want := range map[string][]string{"a": {"a.txt", "a/moved.txt"}, "b": {"b.txt", "b/moved.txt"}} {
		runs.Go(func() {
			if res := start(name, &both, name+".txt", name, "../none"); !slices.Equal(res.Files, want) {
				t.Errorf("run %s: files %q, want %q", name, res.Files, want)
			}
		})
	}
	runs.Wait()
	var one sync.WaitGroup
	one.Add(1)
	if res := start("c", &one); !slices.Equal(res.Files, []string{"c.txt", "c/moved.txt"}) {
		t.Errorf("alone: files %q", res.Files)
	}
}
