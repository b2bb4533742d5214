package hostile

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpgen/mcpgen/gen"
)

// TestOrdinaryServersPass checks that no check is too strict for ordinary servers: the golden ones and, if recorded lists
// are beside the repository, real ones.
func TestOrdinaryServersPass(t *testing.T) {
	dir := os.Getenv("MCPGEN_TEST_CORPUS")
	if dir == "" {
		dir = "../../../../../shared/corpus"
	}
	golden, err := filepath.Glob("../../../../testdata/golden/*.json")
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	servers, tools := map[string]*gen.Listing{}, 0
	for _, path := range append(golden, recorded...) {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var file struct {
			ID, Instructions string
			ServerInfo       struct{ Title string }
			Tools            []json.RawMessage
		}
		if err := json.Unmarshal(raw, &file); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		servers[file.ID] = &gen.Listing{Title: file.ServerInfo.Title, Instructions: file.Instructions, Tools: file.Tools}
		tools += len(file.Tools)
	}
	p := newProject(t, servers)
	r := p.sync(t)
	for _, w := range r.Warnings {
		if w.Dropped {
			t.Errorf("%s: %s", w.Place, w.Message)
		}
	}
	t.Logf("%d tools of %d servers", r.Tools(), len(servers))
	if r.Tools() != tools || tools == 0 {
		t.Errorf("got %d tools, want %d, more than none", r.Tools(), tools)
	}
}
