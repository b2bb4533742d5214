package schema

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/ir/irtest"
)

// TestRealSchemas converts the schemas of a golden tool list and, where they lie beside the repository, of recorded ones:
// values that schemas accept are values of the types.
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
		v, err := Compile(raw)
		if err != nil {
			t.Errorf("%s\n%.300s", err, raw)
			continue
		}
		root, err := parse(raw, size{})
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			value := sample(root, random, 4).appendJSON(nil)
			if v.Validate(value) != nil {
				continue
			}
			values++
			if held, err := irtest.Accepts(&s, value); err != nil || !held {
				t.Errorf("the type refuses %s (%v)\n%.500s\n%.500s", value, err, raw, ir.Key(s.Root))
			}
		}
	}
	t.Logf("%d schemas, %d fields, %d of any value, %d notes; %s each, %s at most; %d values", len(schemas), fields, unknown, notes,
		total/time.Duration(len(schemas)), widest, values)
}

// sample makes a value that a schema may accept.
func sample(s *value, r *rand.Rand, depth int) *value {
	if c := s.get("const"); c != nil {
		return c
	}
	for _, keyword := range []string{"enum", "examples"} {
		if list := s.get(keyword); list != nil && len(list.items) > 0 {
			return list.items[r.IntN(len(list.items))]
		}
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if list := s.get(keyword); list != nil && len(list.items) > 0 && s.get("properties") == nil {
			return sample(list.items[r.IntN(len(list.items))], r, depth)
		}
	}
	typ := s.str("type")
	if list := s.get("type"); list != nil && len(list.items) > 0 {
		typ = list.items[r.IntN(len(list.items))].text
	}
	switch typ {
	case "object":
		out := &value{kind: kindObject}
		if depth > 0 && s.get("properties") != nil {
			for _, m := range s.get("properties").members {
				if r.IntN(3) > 0 {
					out.members = append(out.members, member{key: m.key, value: sample(m.value, r, depth-1)})
				}
			}
		}
		return out
	case "array":
		out := &value{kind: kindArray}
		for range r.IntN(3) {
			if items := s.get("items"); items != nil && depth > 0 {
				out.items = append(out.items, sample(items, r, depth-1))
			}
		}
		return out
	case "integer", "number":
		return &value{kind: kindNumber, text: itoa(r.IntN(20))}
	case "boolean":
		return &value{kind: kindBool, bool: r.IntN(2) == 0}
	case "null":
		return &value{kind: kindNull}
	}
	return &value{kind: kindString, text: "some text"}
}
