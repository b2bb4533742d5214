package hostile

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/config"
)

// project is a folder with a configuration, and servers that exist only in memory.
type project struct {
	dir     string
	servers map[string]*gen.Listing
}

func newProject(t testing.TB, servers map[string]*gen.Listing) *project {
	t.Helper()
	entries := map[string]any{}
	for key := range servers {
		entries[key] = map[string]string{"command": "none"}
	}
	b, err := json.Marshal(map[string]any{"mcpServers": entries})
	if err != nil {
		t.Fatal(err)
	}
	p := &project{dir: t.TempDir(), servers: servers}
	if err := os.WriteFile(filepath.Join(p.dir, ".mcp.json"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *project) options() gen.Options {
	return gen.Options{Dir: p.dir, Lister: func(_ context.Context, s config.Server) (*gen.Listing, error) { return p.servers[s.Key], nil }}
}

func (p *project) sync(t testing.TB) *gen.Report {
	t.Helper()
	r, err := gen.Sync(t.Context(), p.options())
	if err != nil {
		t.Fatal(err)
	}
	if !r.Written {
		t.Fatal("nothing was written")
	}
	return r
}

// files returns the files of the tree, by path below it.
func (p *project) files(t testing.TB) map[string]string {
	t.Helper()
	files := map[string]string{}
	root := filepath.Join(p.dir, "servers")
	err := filepath.WalkDir(root, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		rel, _ := filepath.Rel(root, name)
		files[filepath.ToSlash(rel)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func listing(definitions ...string) *gen.Listing {
	l := &gen.Listing{}
	for _, d := range definitions {
		l.Tools = append(l.Tools, json.RawMessage(d))
	}
	return l
}

// plainTool returns a harmless tool.
func plainTool(name string) string {
	return `{"name":` + quoted(name) + `,"description":"Reads a thing.","inputSchema":{"type":"object","properties":{"id":{"type":"string","description":"The thing's id."}},"required":["id"]}}`
}

func quoted(s string) string { return numbered(0, 1).quoted(s) }

// about returns the warnings whose place begins with place.
func about(r *gen.Report, place string) []gen.Warning {
	var out []gen.Warning
	for _, w := range r.Warnings {
		if strings.HasPrefix(w.Place, place) {
			out = append(out, w)
		}
	}
	return out
}
