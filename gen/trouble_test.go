package gen

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/tree"
)

func TestDeadServerKeepsItsOutput(t *testing.T) {
	p := newProject(t, map[string][]string{"a": {tool("one", "One.")}, "b": {tool("one", "Other.")}})
	p.mustSync(nil)
	before := p.files()
	delete(p.tools, "b")
	p.tools["a"] = append(p.tools["a"], tool("two", "Two."))
	r := p.mustSync(nil)
	failed := r.Failures()
	if len(failed) != 1 || failed[0].Key != "b" || !errors.Is(failed[0].Err, errDown) || failed[0].Tools != 1 || !r.Written {
		t.Errorf("%+v", r.Servers)
	}
	after := p.files()
	for name, content := range before {
		if (strings.Contains(name, "/b/") || strings.HasSuffix(name, "/b.json")) && after[name] != content {
			t.Errorf("%s changed", name)
		}
	}
	if _, ok := after["servers/a/two.ts"]; !ok {
		t.Error("the other server's new tool is missing")
	}
	if _, lock, err := catalog.LoadTree(filepath.Join(p.dir, "servers")); err != nil || len(lock.Servers) != 2 {
		t.Errorf("the tree is not whole: %v, want len(lock.Servers) 2 and no error", err)
	}
}

func TestDeadServerWithoutHistory(t *testing.T) {
	p := newProject(t, map[string][]string{"a": {tool("one", "One.")}, "b": nil})
	delete(p.tools, "b")
	r := p.mustSync(nil)
	if !r.Written || len(r.Failures()) != 1 {
		t.Errorf("%+v", r)
	}
	delete(p.tools, "a")
	if err := os.RemoveAll(filepath.Join(p.dir, "servers")); err != nil {
		t.Fatal(err)
	}
	r = p.mustSync(nil)
	if r.Written || len(p.files()) > 0 {
		t.Errorf("a tree of nothing: %+v", r.Files)
	}
}

// TestNobodyAnswersAndOneIsGone: if nothing is removed, a server that is no longer configured is not reported as removed.
func TestNobodyAnswersAndOneIsGone(t *testing.T) {
	p := newProject(t, map[string][]string{"a": {tool("one", "One.")}})
	p.mustSync(nil)
	before := p.files()
	p.configure("b")
	r := p.mustSync(nil)
	if len(r.Changes) > 0 || r.Outcome() != NotAsked || r.ExitCode() != 3 {
		t.Errorf("%s, exit code %d, %+v", r.Outcome(), r.ExitCode(), r.Changes)
	}
	if diff := cmp.Diff(before, p.files()); diff != "" {
		t.Errorf("something was written:\n%s", diff)
	}
}

// A server's folder does not depend on whether one with a similar name can be reached.
func TestFoldersDontDependOnOthersHealth(t *testing.T) {
	p := newProject(t, map[string][]string{"a-b": {tool("one", "One.")}, "a_b": {tool("one", "One.")}})
	p.mustSync(nil)
	delete(p.tools, "a_b")
	p.write("servers/.mcpgen/keep", "") // keeps the stored lists; only the server is gone
	r := p.mustSync(nil)
	if r.Drift() {
		t.Errorf("%v", r.Files)
	}
}

func TestLostServerIsNotPruned(t *testing.T) {
	p := newProject(t, map[string][]string{"a": {tool("one", "One.")}, "b": {tool("one", "Other.")}})
	p.mustSync(nil)
	delete(p.tools, "b")
	p.write("servers/.mcpgen/b.json", "<<<<<<< HEAD")
	before := p.files()
	var lost *Error
	if _, err := p.sync(nil); !errors.As(err, &lost) || !strings.Contains(lost.Message, `server "b"`) || lost.ExitCode() != 3 {
		t.Errorf("%v", err)
	}
	if diff := cmp.Diff(before, p.files()); diff != "" {
		t.Errorf("something was written:\n%s", diff)
	}
	p.tools["b"] = []string{tool("one", "Other.")}
	if r := p.mustSync(nil); !r.Written || len(r.Warnings) != 1 {
		t.Errorf("%+v", r)
	}
}

func TestForeignFileStopsTheSync(t *testing.T) {
	p := newProject(t, map[string][]string{"a": {tool("one", "One.")}})
	p.write("servers/a/one.ts", "export const mine = 1;\n")
	before := p.files()
	var foreign *tree.ForeignError
	if _, err := p.sync(nil); !errors.As(err, &foreign) || !slices.Equal(foreign.Paths, []string{"a/one.ts"}) {
		t.Errorf("%v", err)
	}
	if diff := cmp.Diff(before, p.files()); diff != "" {
		t.Errorf("something was written:\n%s", diff)
	}
}

func TestLostLockIsRepaired(t *testing.T) {
	for _, damage := range []string{"", "<<<<<<< HEAD\n{}\n=======\n"} {
		p := newProject(t, map[string][]string{"a": {tool("one", "One.")}})
		p.mustSync(nil)
		if damage == "" {
			if err := os.Remove(filepath.Join(p.dir, "servers/.mcpgen/lock.json")); err != nil {
				t.Fatal(err)
			}
		} else {
			p.write("servers/.mcpgen/lock.json", damage)
		}
		p.tools["a"] = []string{tool("two", "Two.")}
		p.mustSync(nil)
		for name := range p.files() {
			if strings.Contains(name, "one") {
				t.Errorf(`%s stays, want no "one" in it`, name)
			}
		}
		if r := p.mustSync(check); r.Drift() {
			t.Errorf("%v", r.Files)
		}
	}
}

func TestCancelledWritesNothing(t *testing.T) {
	p := newProject(t, map[string][]string{"a": {tool("one", "One.")}, "b": nil})
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := errors.New("stop")
	_, err := Sync(ctx, Options{Dir: p.dir, Lister: func(ctx context.Context, s config.Server) (*Listing, error) {
		cancel(stop)
		return p.list(ctx, s)
	}})
	if !errors.Is(err, stop) || len(p.files()) > 0 {
		t.Errorf("%v", err)
	}
}
