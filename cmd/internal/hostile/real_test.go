package hostile

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpgen/mcpgen/gen"
)

// No tool of an ordinary server is left out by a check that is too strict: those of the golden servers and, where
// recorded lists lie beside the repository, of real ones.
func TestOrdinaryServersPass(t *testing.T) {
	dir := os.Getenv("MCPGEN_TEST_CORPUS")
	if dir == "" {
		dir = "../../../../shared/corpus"
	}
	golden, err := filepath.Glob("../../../testdata/golden/*.json")
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
		t.Errorf("%d tools of %d", r.Tools(), tools)
	}
}
