package gen

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func frozen(o *Options)  { o.Frozen = true }
func offline(o *Options) { o.Offline, o.Lister = true, nil }

// edit changes a file in the tree.
func (p *project) edit(name, old, new string) {
	p.t.Helper()
	b, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		p.t.Fatal(err)
	}
	changed := strings.ReplaceAll(string(b), old, new)
	if changed == string(b) {
		p.t.Fatalf("%s does not hold %q", name, old)
	}
	p.write(name, changed)
}

func (p *project) remove(name string) {
	p.t.Helper()
	if err := os.Remove(filepath.Join(p.dir, name)); err != nil {
		p.t.Fatal(err)
	}
}

func TestFrozenAcceptsOnlyWhatTheLockPins(t *testing.T) {
	tests := []struct {
		name   string
		change func(p *project)
		want   []string // changes; nil if the edit is accepted
	}{
		{"nothing", func(*project) {}, nil},
		{"another order of keys", func(p *project) {
			p.tools["a"][0] = `{"inputSchema":{"required":["z"],"properties":{"a":{"type":"integer"},"z":{"type":"string"}},"type":"object"},"description":"One.","name":"one"}`
		}, nil},
		{"a wrapper is gone", func(p *project) { p.remove("servers/a/one.ts") }, nil},
		{"a wrapper was edited", func(p *project) { p.edit("servers/a/one.ts", "One", "Two") }, nil},
		{"a server is down", func(p *project) { delete(p.tools, "b") }, nil},
		{"changed", func(p *project) { p.tools["a"][0] = tool("one", "Changed.") }, []string{"a/one description"}},
		{"added", func(p *project) { p.tools["a"] = append(p.tools["a"], tool("two", "Two.")) }, []string{"a/two tool-added"}},
		{"removed", func(p *project) { p.tools["a"] = nil }, []string{"a/one tool-removed"}},
		{"a new server", func(p *project) { p.tools["c"] = nil; p.configure("a", "b", "c") }, []string{"c server-added"}},
		{"a server less", func(p *project) { p.configure("a") }, []string{"b server-removed"}},
		{"stored beforehand", func(p *project) {
			p.tools["a"][0] = tool("one", "Changed.")
			p.edit("servers/.mcpgen/a.json", "One.", "Changed.")
		}, []string{"a/one definition"}},
		{"the lock pins another", func(p *project) { p.edit("servers/.mcpgen/lock.json", `"digest": "sha256:`, `"digest": "sha256:0`) }, []string{"a/one definition", "b/one definition"}},
		{"its stored list is gone", func(p *project) { p.remove("servers/.mcpgen/a.json") }, nil},
		{"its stored list is broken", func(p *project) { p.write("servers/.mcpgen/a.json", "<<<<<<< HEAD\n") }, nil},
		{"its stored list is gone, and it changed", func(p *project) {
			p.remove("servers/.mcpgen/a.json")
			p.tools["a"][0] = tool("one", "Changed.")
		}, []string{"a server-text", "a/one definition"}},
		{"its stored list is gone, and it has others", func(p *project) {
			p.remove("servers/.mcpgen/a.json")
			p.tools["a"][0] = tool("two", "Two.")
		}, []string{"a server-text", "a/one tool-removed", "a/two tool-added"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newProject(t, map[string][]string{"a": {tool("one", "One.")}, "b": {tool("one", "Other.")}})
			p.mustSync(nil)
			want := contents(p.files())
			tt.change(p)
			before := p.files()
			r := p.mustSync(frozen)
			if diff := cmp.Diff(tt.want, kinds(r)); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			if tt.want != nil {
				want = contents(before)
			}
			if diff := cmp.Diff(want, contents(p.files())); diff != "" || r.Written == (tt.want != nil) {
				t.Errorf("written %v: files (-want +got):\n%s", r.Written, diff)
			}
		})
	}
}

func TestFrozenNeedsALock(t *testing.T) {
	p := newProject(t, map[string][]string{"a": {tool("one", "One.")}})
	var none *Error
	if _, err := p.sync(frozen); !errors.As(err, &none) || none.ExitCode() != 2 || none.Hint() == "" {
		t.Errorf("no tree: %v", err)
	}
	p.mustSync(nil)
	p.write("servers/.mcpgen/lock.json", "<<<<<<< HEAD\n{}\n=======\n")
	if _, err := p.sync(frozen); !errors.As(err, &none) {
		t.Errorf("a conflict: %v", err)
	}
}

// Stored definitions become wrappers only if the lock was made from the same ones.
func TestAlteredStoredList(t *testing.T) {
	offlineCheck := func(o *Options) { offline(o); o.Check = true }
	tests := []struct {
		name    string
		alter   func(p *project)
		refused bool
	}{
		{"a description", func(p *project) { p.edit("servers/.mcpgen/a.json", "One.", "Evil.") }, true},
		{"the instructions", func(p *project) { p.edit("servers/.mcpgen/a.json", "a's title", "evil title") }, true},
		{"a list that the lock does not know", func(p *project) { p.edit("servers/.mcpgen/lock.json", ".mcpgen/a.json", ".mcpgen/x.json") }, true},
		{"the lock of the other side of a merge", func(p *project) {
			p.edit("servers/.mcpgen/lock.json", `.mcpgen/a.json": "sha256:`, `.mcpgen/a.json": "sha256:00`)
		}, true},
		{"white space", func(p *project) { p.edit("servers/.mcpgen/a.json", "  ", "\t") }, false},
		{"no lock", func(p *project) { p.remove("servers/.mcpgen/lock.json") }, false},
		{"a lock with the marks of a merge", func(p *project) { p.write("servers/.mcpgen/lock.json", "<<<<<<< HEAD\n{}\n=======\n") }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newProject(t, map[string][]string{"a": {tool("one", "One.")}})
			p.mustSync(nil)
			whole := contents(p.files())
			tt.alter(p)
			before := p.files()
			for name, how := range map[string]func(*Options){"offline": offline, "check": offlineCheck} {
				var altered *Error
				_, err := p.sync(func(o *Options) { how(o); o.Check = true })
				if errors.As(err, &altered) != tt.refused || !tt.refused && err != nil {
					t.Errorf("%s: %v", name, err)
				}
				if tt.refused && (altered.ExitCode() != 2 || !strings.Contains(altered.Hint(), "version control") || !strings.Contains(altered.Message, `server "a"`)) {
					t.Errorf("%+v", altered)
				}
			}
			if tt.refused {
				if _, err := p.sync(offline); err == nil {
					t.Error("an altered list was used: got no error, want an error")
				}
				if diff := cmp.Diff(before, p.files()); diff != "" {
					t.Errorf("something was written:\n%s", diff)
				}
				p.mustSync(nil) // a server that is asked needs no stored list
			} else {
				p.mustSync(offline)
			}
			if diff := cmp.Diff(whole, contents(p.files())); diff != "" {
				t.Errorf("after a sync:\n%s", diff)
			}
		})
	}
}

// If a server is down, its altered list does not get into the tree either.
func TestAlteredListOfADeadServer(t *testing.T) {
	p := newProject(t, map[string][]string{"a": {tool("one", "One.")}, "b": {tool("one", "Other.")}})
	p.mustSync(nil)
	p.edit("servers/.mcpgen/b.json", "Other.", "Evil.")
	delete(p.tools, "b")
	var altered *Error
	if _, err := p.sync(nil); !errors.As(err, &altered) || !errors.Is(err, errDown) {
		t.Errorf("%v", err)
	}
	if _, err := p.sync(func(o *Options) { o.Servers = []string{"a"} }); !errors.As(err, &altered) {
		t.Errorf("%v", err)
	}
	p.tools["b"] = []string{tool("one", "Other.")}
	r := p.mustSync(nil)
	if len(r.Warnings) != 1 || r.Warnings[0].Code != "altered" || r.Warnings[0].Place != ".mcpgen/b.json" {
		t.Errorf(`%+v, want len(r.Warnings) 1, r.Warnings[0].Code "altered" and r.Warnings[0].Place ".mcpgen/b.json"`, r.Warnings)
	}
}
