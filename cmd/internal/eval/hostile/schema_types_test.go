package hostile

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/render"
	"github.com/mcpgen/mcpgen/gen/render/python"
	"github.com/mcpgen/mcpgen/gen/schema"
	"github.com/mcpgen/mcpgen/gen/verify"
)

// verifyTypes checks the types of a schema with gen/verify. For TypeScript it checks the module source itself. A Python module
// has blocks for several type checkers, which gen/verify refuses and wrappers do not need, so for Python it creates and checks a
// wrapper with these types.
func verifyTypes(language string, source []byte, converted ir.Schema) error {
	if language == "typescript" {
		return verify.TypeScript(source)
	}
	l := python.Language()
	server := render.Server{Key: "s", Dir: "s", Tools: []render.Tool{{ID: "s__thing", Name: "thing", Input: converted, Output: &converted}}}
	rendered, err := render.Render([]render.Server{server}, []*render.Language{l})
	if err != nil {
		return err
	}
	names := rendered.Names[l.Name]["s__thing"]
	return verify.Wrapper{ID: "s__thing", Function: names.Function}.Python(rendered.Tree[names.File])
}

// TestTypesOfSchemas checks the types that "mcpgen types" prints with gen/verify.
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
			continue // the schema has another form
		}
		for _, c := range cases {
			schemas++
			for _, language := range []string{"typescript", "python"} {
				made, err := gen.Types(c.Schema, gen.TypesOptions{Language: language, Name: "Thing"})
				if err != nil {
					t.Errorf("%s, %q: %v", path, c.Name, err)
					continue
				}
				converted, _ := schema.Convert(c.Schema)
				if err := verifyTypes(language, made.Source, converted); err != nil {
					t.Errorf("%s, %q: %v\n%s", path, c.Name, err, made.Source)
				}
			}
		}
	}
	if schemas < 100 {
		t.Errorf("got %d schemas, want at least 100", schemas)
	}
}
