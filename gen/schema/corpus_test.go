package schema

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/ir/irtest"
	"github.com/mcpgen/mcpgen/gen/jsonschema"
	"github.com/mcpgen/mcpgen/gen/schema/validate"
)

// TestRealSchemas converts the schemas of a golden tool list and, where they lie beside the repository, of recorded ones:
// values that schemas accept are values of the types, and accepted as arguments by what is listed.
func TestRealSchemas(t *testing.T) {
	dir := os.Getenv("MCPGEN_TEST_CORPUS")
	if dir == "" {
		dir = "../../../shared/corpus"
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	paths = append(paths, "../../testdata/golden/google-drive.json")
	var schemas []json.RawMessage
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var file struct {
			Tools []struct{ InputSchema, OutputSchema json.RawMessage }
		}
		if err := json.Unmarshal(raw, &file); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, tool := range file.Tools {
			for _, s := range []json.RawMessage{tool.InputSchema, tool.OutputSchema} {
				if len(s) > 0 && string(s) != "null" {
					schemas = append(schemas, s)
				}
			}
		}
	}
	fields, unknown, values, notes, widest := 0, 0, 0, 0, time.Duration(0)
	var total time.Duration
	random := rand.New(rand.NewPCG(1, 2))
	for _, raw := range schemas {
		start := time.Now()
		s, made := Convert(raw)
		took := time.Since(start)
		total += took
		widest = max(widest, took)
		notes += len(made)
		count := func(typ ir.Type) bool {
			if o, ok := typ.(ir.Object); ok {
				for _, f := range o.Fields {
					fields++
					if _, any := f.Type.(ir.Unknown); any {
						unknown++
					}
				}
			}
			return true
		}
		ir.Walk(s.Root, count)
		for _, def := range s.Defs {
			ir.Walk(def.Type, count)
		}
		v, err := validate.Compile(raw)
		if err != nil {
			t.Errorf("%s\n%.300s", err, raw)
			continue
		}
		root, err := jsonschema.Parse(raw, jsonschema.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		listed := compileListed(t, raw)
		for range 20 {
			value := sample(root, random, 4).AppendJSON(nil)
			if v.Validate(value) != nil {
				continue
			}
			values++
			if err := listed.Validate(value); err != nil && value[0] == '{' {
				t.Errorf("what is listed refuses %s: %v\n%.500s", value, err, raw)
			}
			if held, err := irtest.Accepts(&s, value); err != nil || !held {
				t.Errorf("the type refuses %s (%v)\n%.500s\n%.500s", value, err, raw, ir.Key(s.Root))
			}
		}
	}
	t.Logf("%d schemas, %d fields, %d of any value, %d notes; %s each, %s at most; %d values", len(schemas), fields, unknown, notes,
		total/time.Duration(len(schemas)), widest, values)
}

// sample makes a value that a schema may accept.
func sample(s *jsonschema.Value, r *rand.Rand, depth int) *jsonschema.Value {
	if c := s.Get("const"); c != nil {
		return c
	}
	for _, keyword := range []string{"enum", "examples"} {
		if list := s.Get(keyword); list != nil && len(list.Items) > 0 {
			return list.Items[r.IntN(len(list.Items))]
		}
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if list := s.Get(keyword); list != nil && len(list.Items) > 0 && s.Get("properties") == nil {
			return sample(list.Items[r.IntN(len(list.Items))], r, depth)
		}
	}
	typ := s.Str("type")
	if list := s.Get("type"); list != nil && len(list.Items) > 0 {
		typ = list.Items[r.IntN(len(list.Items))].Text
	}
	switch typ {
	case "object":
		out := &jsonschema.Value{Kind: jsonschema.KindObject}
		if depth > 0 && s.Get("properties") != nil {
			for _, m := range s.Get("properties").Members {
				if r.IntN(3) > 0 {
					out.Members = append(out.Members, jsonschema.Member{Key: m.Key, Value: sample(m.Value, r, depth-1)})
				}
			}
		}
		return out
	case "array":
		out := &jsonschema.Value{Kind: jsonschema.KindArray}
		for range r.IntN(3) {
			if items := s.Get("items"); items != nil && depth > 0 {
				out.Items = append(out.Items, sample(items, r, depth-1))
			}
		}
		return out
	case "integer", "number":
		return &jsonschema.Value{Kind: jsonschema.KindNumber, Text: strconv.Itoa(r.IntN(20))}
	case "boolean":
		return &jsonschema.Value{Kind: jsonschema.KindBool, Bool: r.IntN(2) == 0}
	case "null":
		return &jsonschema.Value{Kind: jsonschema.KindNull}
	}
	return &jsonschema.Value{Kind: jsonschema.KindString, Text: "some text"}
}
