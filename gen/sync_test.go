package gen

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpgen/mcpgen/gen/config"
)

// project is a folder with a configuration and servers that exist only in the test.
type project struct {
	t     *testing.T
	dir   string
	tools map[string][]string // server → definitions; a missing server is down
	// lister answers for the servers. Nil: list does.
	lister Lister
	prune  bool
}

func newProject(t *testing.T, tools map[string][]string) *project {
	p := &project{t: t, dir: t.TempDir(), tools: tools}
	var keys []string
	for key := range tools {
		keys = append(keys, key)
	}
	p.configure(keys...)
	return p
}

func (p *project) configure(keys ...string) {
	servers := map[string]any{}
	for _, key := range keys {
		servers[key] = map[string]string{"command": "none"}
	}
	b, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		p.t.Fatal(err)
	}
	p.write(".mcp.json", string(b))
}

func (p *project) write(name, content string) {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
		p.t.Fatal(err)
	}
}

var errDown = errors.New("connection refused")

func (p *project) list(_ context.Context, s config.Server) (*Listing, error) {
	tools, ok := p.tools[s.Key]
	if !ok {
		return nil, errDown
	}
	l := &Listing{Title: s.Key + "'s title"}
	for _, tool := range tools {
		l.Tools = append(l.Tools, json.RawMessage(tool))
	}
	return l, nil
}

func (p *project) sync(change func(*Options)) (*Report, error) {
	opts := Options{Dir: p.dir, Lister: p.list, Prune: func(context.Context, *PruneError) (bool, error) { return p.prune, nil }}
	if p.lister != nil {
		opts.Lister = p.lister
	}
	if change != nil {
		change(&opts)
	}
	return Sync(context.Background(), opts)
}

func (p *project) mustSync(change func(*Options)) *Report {
	p.t.Helper()
	r, err := p.sync(change)
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

// files returns path → content and modification time of everything in the tree.
func (p *project) files() map[string]string {
	p.t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(filepath.Join(p.dir, "servers"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		rel, _ := filepath.Rel(p.dir, path)
		files[filepath.ToSlash(rel)] = fmt.Sprintf("%d\n%s", info.ModTime().UnixNano(), b)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.t.Fatal(err)
	}
	return files
}

func tool(name, description string) string {
	return fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"}},"required":["z"]}}`, name, description)
}

func kinds(r *Report) []string {
	var out []string
	for _, c := range r.Changes {
		out = append(out, strings.TrimSuffix(c.Server+"/"+c.Tool, "/")+" "+string(c.Kind))
	}
	return out
}

func check(o *Options) { o.Check = true }

func TestSyncTwice(t *testing.T) {
	p := newProject(t, map[string][]string{"a": {tool("one", "One."), tool("two", "Two.")}, "b": {tool("one", "Other.")}})
	r := p.mustSync(nil)
	if !r.Written || r.Tools() != 3 || r.Unchanged != 0 {
		t.Errorf("%+v", r)
	}
	before := p.files()
	for _, name := range []string{"servers/.mcpgen/lock.json", "servers/.mcpgen/a.json", "servers/a/one.ts", "servers/b/one.py", "servers/client.ts"} {
		if _, ok := before[name]; !ok {
			t.Errorf("no %s", name)
		}
	}
	slices.Reverse(p.tools["a"]) // servers may list tools in any order
	r = p.mustSync(nil)
	if r.Drift() || len(r.Changes) > 0 || r.Unchanged != len(before) {
		t.Errorf("drift %v, changes %v", r.Files, kinds(r))
	}
	if diff := cmp.Diff(before, p.files()); diff != "" {
		t.Errorf("files (-first +second):\n%s", diff)
	}
}

// A tree does not depend on where or when it is generated.
func TestSameTreeElsewhere(t *testing.T) {
	tools := map[string][]string{"a": {tool("one", "One.")}}
	p, q := newProject(t, tools), newProject(t, tools)
	p.mustSync(nil)
	q.mustSync(nil)
	for name := range p.files() {
		x, _ := os.ReadFile(filepath.Join(p.dir, name))
		y, _ := os.ReadFile(filepath.Join(q.dir, name))
		if string(x) != string(y) || strings.Contains(string(x), p.dir) {
			t.Errorf("%s differs, or names its place, want string(x) %v and no %q in it", name, string(y), p.dir)
		}
	}
}

func TestCheckSaysWhatChanged(t *testing.T) {
	tests := []struct {
		name   string
		change func(p *project)
		want   []string
	}{
		{"description", func(p *project) { p.tools["a"][0] = tool("one", "Changed.") }, []string{"a/one description"}},
		{"added", func(p *project) { p.tools["a"] = append(p.tools["a"], tool("two", "Two.")) }, []string{"a/two tool-added"}},
		{"removed", func(p *project) { p.tools["a"] = nil }, []string{"a/one tool-removed"}},
		{"input", func(p *project) { p.tools["a"][0] = strings.Replace(p.tools["a"][0], "integer", "number", 1) }, []string{"a/one input"}},
		{"output", func(p *project) {
			p.tools["a"][0] = strings.Replace(p.tools["a"][0], `{"name"`, `{"outputSchema":{"type":"object"},"name"`, 1)
		}, []string{"a/one output"}},
		{"hints", func(p *project) {
			p.tools["a"][0] = strings.Replace(p.tools["a"][0], `{"name"`, `{"annotations":{"readOnlyHint":true},"name"`, 1)
		}, []string{"a/one hints"}},
		{"meta", func(p *project) {
			p.tools["a"][0] = strings.Replace(p.tools["a"][0], `{"name"`, `{"_meta":{"x":1},"name"`, 1)
		}, []string{"a/one definition"}},
		{"server removed", func(p *project) { p.configure("b"); p.prune = true }, []string{"a server-removed"}},
		{"server added", func(p *project) { p.tools["c"] = nil; p.configure("a", "b", "c") }, []string{"c server-added"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newProject(t, map[string][]string{"a": {tool("one", "One.")}, "b": {tool("one", "Other.")}})
			p.mustSync(nil)
			if r := p.mustSync(check); r.Drift() {
				t.Fatalf("drift before anything changed: %v", r.Files)
			}
			before := p.files()
			tt.change(p)
			r := p.mustSync(func(o *Options) { o.Check, o.Diff = true, true })
			if !r.Drift() || r.Written || len(r.Diff) == 0 {
				t.Errorf("drift %v, written %v, diff %d bytes", r.Drift(), r.Written, len(r.Diff))
			}
			if diff := cmp.Diff(tt.want, kinds(r)); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, p.files()); diff != "" {
				t.Errorf("a check wrote:\n%s", diff)
			}
			p.mustSync(nil)
			if r := p.mustSync(check); r.Drift() || len(r.Changes) > 0 {
				t.Errorf("drift after a sync: %v %v", r.Files, kinds(r))
			}
		})
	}
}

func TestKeysInAnotherOrderAreNoDrift(t *testing.T) {
	p := newProject(t, map[string][]string{"a": {tool("one", "One.")}})
	p.mustSync(nil)
	p.tools["a"][0] = `{"inputSchema":{"required":["z"],"properties":{"a":{"type":"integer"},"z":{"type":"string"}},"type":"object"},"description":"One.","name":"one"}`
	if r := p.mustSync(check); r.Drift() {
		t.Errorf("%s", mustDiff(p))
	}
}

func mustDiff(p *project) []byte {
	return p.mustSync(func(o *Options) { o.Check, o.Diff = true, true }).Diff
}

func TestPruneRemovedServer(t *testing.T) {
	p := newProject(t, map[string][]string{"a": {tool("one", "One.")}, "b": {tool("one", "Other.")}})
	p.mustSync(nil)
	p.write("servers/b/notes.md", "mine")
	p.configure("a")
	before := p.files()
	for _, change := range []func(*Options){
		nil, func(o *Options) { o.Prune = nil }, func(o *Options) { o.Offline = true }, func(o *Options) { o.Servers = []string{"a"} },
	} {
		var gone *PruneError
		if _, err := p.sync(change); !errors.As(err, &gone) || !slices.Equal(gone.Servers, []string{"b"}) || gone.ExitCode() != 2 {
			t.Errorf("Sync() = %v, want a PruneError of b", err)
		}
	}
	if diff := cmp.Diff(before, p.files()); diff != "" {
		t.Errorf("a refused sync wrote:\n%s", diff)
	}
	if r := p.mustSync(check); !r.Drift() || !slices.Equal(r.Gone, []string{"b"}) {
		t.Errorf("Sync(Check) has drift %v, gone %q; want drift and b", r.Drift(), r.Gone)
	}
	p.prune = true
	p.mustSync(nil)
	for name := range p.files() {
		if strings.Contains(name, "/b/") && name != "servers/b/notes.md" || strings.HasSuffix(name, "b.json") {
			t.Errorf("%s stays", name)
		}
	}
	if _, ok := p.files()["servers/b/notes.md"]; !ok {
		t.Error("a foreign file is gone")
	}
}

func TestPruneQuestion(t *testing.T) {
	for want, servers := range map[string][]string{
		".mcp.json no longer configures calc. Remove its wrappers from servers?":          {"calc"},
		".mcp.json no longer configures calc, drive. Remove their wrappers from servers?": {"calc", "drive"},
	} {
		if got := (&PruneError{Servers: servers, Config: ".mcp.json", Out: "servers"}).Question(); got != want {
			t.Errorf("Question() = %q, want %q", got, want)
		}
	}
}

func TestOfflineMakesTheSameTree(t *testing.T) {
	exact := `{"name":"one","description":"x","inputSchema":{"type":"object","properties":{"n":{"type":"integer","maximum":9007199254740993}}}}`
	p := newProject(t, map[string][]string{"a": {exact, `{"name":"two","inputSchema":null}`}})
	offline := func(o *Options) { o.Offline, o.Lister = true, nil }
	r := p.mustSync(offline)
	if len(r.Failures()) != 1 || r.Written {
		t.Errorf("%+v", r)
	}
	p.mustSync(nil)
	before := p.files()
	if r := p.mustSync(offline); r.Drift() || len(r.Failures()) > 0 || r.Servers[0].Status != Stored {
		t.Errorf("%+v", r)
	}
	if err := os.Remove(filepath.Join(p.dir, "servers/a/one.ts")); err != nil {
		t.Fatal(err)
	}
	p.write("servers/a/two.py", "# Code generated by mcpgen. DO NOT EDIT.\nedited")
	r = p.mustSync(offline)
	if len(r.Files) != 2 || len(r.Changes) != 0 {
		t.Errorf("%+v, want len(r.Files) 2 and len(r.Changes) 0", r.Files)
	}
	if diff := cmp.Diff(contents(before), contents(p.files())); diff != "" {
		t.Errorf("%s", diff)
	}
}

func contents(files map[string]string) map[string]string {
	out := map[string]string{}
	for name, s := range files {
		_, out[name], _ = strings.Cut(s, "\n") // the time and what follows it differ
	}
	return out
}

func TestOneServerOnly(t *testing.T) {
	p := newProject(t, map[string][]string{"a": {tool("one", "One.")}, "b": {tool("one", "Other.")}})
	p.mustSync(nil)
	p.tools["a"][0], p.tools["b"][0] = tool("one", "New."), tool("one", "New.")
	r := p.mustSync(func(o *Options) { o.Servers = []string{"b"} })
	if diff := cmp.Diff([]string{"b/one description"}, kinds(r)); diff != "" {
		t.Errorf("%s", diff)
	}
	var unknown *UnknownServerError
	if _, err := p.sync(func(o *Options) { o.Servers = []string{"c"} }); !errors.As(err, &unknown) {
		t.Errorf("%v", err)
	}
}

func TestStrict(t *testing.T) {
	p := newProject(t, map[string][]string{"a": {tool("one", "One."), tool("one", "Again.")}})
	r := p.mustSync(func(o *Options) { o.Strict = true })
	if !r.Dropped() || r.Written || len(p.files()) > 0 {
		t.Errorf("%+v", r)
	}
	if r = p.mustSync(nil); !r.Written || r.Tools() != 1 {
		t.Errorf("%+v", r)
	}
}

func TestSettings(t *testing.T) {
	p := newProject(t, map[string][]string{"a": {tool("get_x", ""), tool("put_x", "")}})
	p.write("mcpgen.yaml", "version: 1\nlanguages: [python]\nout: lib/tools\nservers:\n  a:\n    exclude: [\"put_*\"]\n")
	r := p.mustSync(nil)
	if r.Out != filepath.Join(p.dir, "lib/tools") || r.Tools() != 1 {
		t.Errorf("%+v", r)
	}
	for _, f := range r.Files {
		if strings.HasSuffix(f.Path, ".ts") && f.Path != "client.ts" || strings.Contains(f.Path, "put") {
			t.Errorf("%s", f.Path)
		}
	}
}

func TestServersAreAskedAtTheSameTime(t *testing.T) {
	tools := map[string][]string{}
	for i := range 20 {
		tools[fmt.Sprintf("s%d", i)] = nil
	}
	p := newProject(t, tools)
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err := Sync(t.Context(), Options{Dir: p.dir, Check: true, Lister: func(ctx context.Context, s config.Server) (*Listing, error) {
			time.Sleep(time.Minute)
			return p.list(ctx, s)
		}})
		if took := time.Since(start); err != nil || took != time.Minute {
			t.Errorf("took %s, %v, want %s and no error", took, err, time.Minute)
		}
	})
}

func TestFind(t *testing.T) {
	p := newProject(t, map[string][]string{"My Drive": {tool("getDocument", "Reads."), tool("list", "")}, "crm": {tool("list", "")}})
	p.mustSync(nil)
	tr, err := Open(Options{Dir: p.dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"my_drive__get_document", "My Drive/getDocument", "my_drive/getDocument", "getDocument", "get_document",
		"my_drive/getDocument.ts", "servers/my_drive/get_document.py", "./servers/my_drive/getDocument.ts", "my_drive__getDocument", "My Drive__getDocument", "my_drive.getDocument", "My Drive.get_document", "my_drive.get_document"} {
		d, err := tr.Find(name)
		if err != nil || d.Tool.ID != "my_drive__get_document" || len(d.Wrappers) != 2 {
			t.Errorf(`Find(%q): %v, want Tool.ID "my_drive__get_document", len(d.Wrappers) 2 and no error`, name, err)
			continue
		}
		for _, w := range d.Wrappers {
			if !strings.Contains(w.Signature, w.Function+"(") || !strings.Contains(w.Source, w.Signature) {
				t.Errorf("%s: signature %q", w.Language, w.Signature)
			}
		}
	}
	for name, want := range map[string][]string{
		"list":         {"crm__list", "my_drive__list"},
		"getdocumnet":  {"my_drive__get_document"},
		"crm_list":     {"crm__list"},
		"document":     {"my_drive__get_document"},
		"xyzzy-plough": {},
	} {
		var unknown *UnknownToolError
		if _, err := tr.Find(name); !errors.As(err, &unknown) || !slices.Equal(unknown.Near, want) || unknown.Hint() == "" {
			t.Errorf("Find(%q): %+v", name, unknown)
		}
	}
}

func BenchmarkGenerate(b *testing.B) {
	var tools []string
	for i := range 1000 {
		tools = append(tools, tool(fmt.Sprintf("tool_%d", i), strings.Repeat("Some words. ", 20)))
	}
	p := &project{tools: map[string][]string{"a": tools}, dir: b.TempDir()}
	if err := os.WriteFile(filepath.Join(p.dir, ".mcp.json"), []byte(`{"mcpServers":{"a":{"command":"none"}}}`), 0o644); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Sync(context.Background(), Options{Dir: p.dir, Lister: p.list, Check: true}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "µs/tool")
}
