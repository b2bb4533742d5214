package schema

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/ir/irtest"
	"github.com/mcpgen/mcpgen/gen/jsonschema"
)

// TestOfficialSuite holds the types of every schema of the official JSON Schema test suite against its values. Each
// value that fits must be one of the type. How many schemas have a type that refuses all that do not fit is counted,
// and must not become fewer: what remains says what no type says, as bounds, patterns and counts do.
func TestOfficialSuite(t *testing.T) {
	for _, suite := range []struct {
		draft   string
		dialect jsonschema.Draft
		exact   int
	}{
		{"draft2020-12", jsonschema.Draft202012, 239},
		{"draft2019-09", jsonschema.Draft201909, 0},
		{"draft7", jsonschema.Draft07, 190},
		{"draft6", jsonschema.Draft06, 0},
		{"draft4", jsonschema.Draft04, 0},
	} {
		t.Run(suite.draft, func(t *testing.T) {
			paths, err := filepath.Glob(filepath.Join("..", "..", "testdata", "jsonschema", suite.draft, "*.json"))
			if err != nil || len(paths) == 0 {
				t.Fatalf("no suite of %s: %v", suite.draft, err)
			}
			groups, exact := 0, 0
			for _, path := range paths {
				n, e := checkGroups(t, path, suite.dialect)
				groups += n
				exact += e
			}
			t.Logf("%d schemas, %d exact", groups, exact)
			if exact < suite.exact {
				t.Errorf("%d schemas have an exact type; there were %d", exact, suite.exact)
			}
		})
	}
}

func checkGroups(t *testing.T, path string, dialect jsonschema.Draft) (groups, exact int) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file []struct {
		Description string
		Schema      json.RawMessage
		Tests       []struct {
			Description string
			Data        json.RawMessage
			Valid       bool
		}
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for _, group := range file {
		source := inDialect(t, group.Schema, dialect)
		s, notes := Convert(source)
		wide := false
		for _, test := range group.Tests {
			held, err := irtest.Accepts(&s, test.Data)
			if err != nil {
				t.Fatal(err)
			}
			if test.Valid && !held {
				t.Errorf("%s: %s: %s: the type refuses %s\nschema %s\ntype %s%s\nnotes %v", filepath.Base(path), group.Description,
					test.Description, test.Data, source, ir.Key(s.Root), defsText(s), notes)
			}
			if !test.Valid && held {
				wide = true
				t.Logf("wide: %s: %s: %s", filepath.Base(path), group.Description, test.Description)
			}
		}
		groups++
		if !wide {
			exact++
		}
	}
	return groups, exact
}

// inDialect says which dialect a schema is of, where it does not.
func inDialect(t *testing.T, raw json.RawMessage, dialect jsonschema.Draft) json.RawMessage {
	t.Helper()
	v, err := jsonschema.Parse(raw, jsonschema.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if v.Get("$schema") != nil {
		return raw
	}
	return jsonschema.WithDraft(v, dialect).AppendJSON(nil)
}
