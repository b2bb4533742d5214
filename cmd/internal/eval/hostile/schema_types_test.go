package hostile

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/verify"
)

// TestTypesOfSchemas checks that gen/verify accepts the output of "mcpgen types".
func TestTypesOfSchemas(t *testing.T) {
	paths, err := filepath.Glob("../../../../testdata/schemas/*.json")
	if err != nil {
		t.Fatal(err)
	}
	schemas := 0
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var cases []struct {
			Name   string
			Schema json.RawMessage
		}
		if json.Unmarshal(raw, &cases) != nil {
			continue // another form
		}
		for _, c := range cases {
			schemas++
			for language, read := range map[string]func([]byte) error{"typescript": verify.TypeScript, "python": verify.Python} {
				made, err := gen.Types(c.Schema, gen.TypesOptions{Language: language, Name: "Thing"})
				if err != nil {
					t.Errorf("%s, %q: %v", path, c.Name, err)
					continue
				}
				if err := read(made.Source); err != nil {
					t.Errorf("%s, %q: %v\n%s", path, c.Name, err, made.Source)
				}
			}
		}
	}
	if schemas < 100 {
		t.Errorf("got %d schemas, want at least 100", schemas)
	}
}
