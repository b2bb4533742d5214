package policy

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/jsonschema"
	"github.com/mcpgen/mcpgen/gen/schema/validate"
)

// absent stands for an omitted argument.
type absent struct{}

const (
	// maxSchemaDepth bounds how deep a schema is followed to build a value.
	maxSchemaDepth = 6
	// maxLength bounds lists and texts that are built because a condition reads their length.
	maxLength = 2000
)

// sampler builds arguments that fit a schema.
type sampler struct {
	root  *jsonschema.Value   // nil: nothing is known
	valid *validate.Validator // nil: anything fits
}

func newSampler(schema json.RawMessage) *sampler {
	s := &sampler{}
	s.root, _ = jsonschema.Parse(schema, jsonschema.Unlimited)
	s.valid, _ = validate.Compile(schema) // a schema that does not compile checks nothing, as in calls
	return s
}

// fits reports whether arguments fit the schema.
func (s *sampler) fits(args json.RawMessage) bool {
	return s.valid == nil || s.valid.ValidateAs("the arguments", args) == nil
}

// follow resolves a reference within the schema, and picks the first alternative.
func (s *sampler) follow(schema *jsonschema.Value) *jsonschema.Value {
	for range maxSchemaDepth {
		if target := s.root.Local(schema.Str("$ref")); target != nil {
			schema = target
			continue
		}
		first := schema
		for _, key := range []string{"allOf", "oneOf", "anyOf"} {
			if list := schema.Get(key).Elements(); len(list) > 0 && !schema.Has("type", "properties") {
				first = list[0]
			}
		}
		if first == schema {
			break
		}
		schema = first
	}
	return schema
}

// at returns the schema at a path.
func (s *sampler) at(path []string) *jsonschema.Value {
	schema := s.follow(s.root)
	for _, name := range path {
		if name == element {
			schema = s.follow(schema.Get("items"))
		} else {
			schema = s.follow(schema.Get("properties").Get(name))
		}
	}
	return schema
}

// kind returns the first type of a schema that is not null, or "" if there is none.
func kind(schema *jsonschema.Value) string {
	if types := schema.Get("type"); types != nil {
		for _, t := range list(types) {
			if t.Text != "null" {
				return t.Text
			}
		}
	}
	if schema.Has("properties") {
		return "object"
	}
	return ""
}

// value returns a value that fits a schema. It gives up on schemas that are hard to satisfy.
func (s *sampler) value(schema *jsonschema.Value, depth int) any {
	schema = s.follow(schema)
	for _, key := range []string{"const", "default", "enum", "examples"} {
		v := schema.Get(key)
		if key == "enum" || key == "examples" {
			v = v.Child("0")
		}
		if v != nil {
			return v.Plain()
		}
	}
	limit := func(key string, otherwise float64) float64 {
		if n, ok := schema.Get(key).Rat(); ok {
			f, _ := n.Float64()
			return f
		}
		return otherwise
	}
	switch kind(schema) {
	case "boolean":
		return false
	case "integer", "number":
		return max(math.Min(1, limit("maximum", 1)), limit("minimum", math.Inf(-1)), limit("exclusiveMinimum", math.Inf(-1))+1)
	case "string":
		return text(schema, int(min(limit("minLength", 1), maxLength)))
	case "array":
		list := []any{}
		for range int(min(limit("minItems", 0), 10)) {
			list = append(list, s.value(schema.Get("items"), depth+1))
		}
		return list
	case "object":
		out := map[string]any{} // with the required properties
		for _, name := range jsonschema.RequiredNames(schema) {
			if depth < maxSchemaDepth {
				out[name] = s.value(schema.Get("properties").Get(name), depth+1)
			}
		}
		return out
	}
	return "x"
}

func text(schema *jsonschema.Value, length int) string {
	if schema.Has("pattern") {
		return matching(schema.Str("pattern"))
	}
	switch schema.Str("format") {
	case "date":
		return "2026-01-31"
	case "date-time":
		return "2026-01-31T12:00:00Z"
	case "email":
		return "a@example.com"
	case "uri":
		return "https://example.com/"
	case "uuid":
		return "00000000-0000-4000-8000-000000000000"
	}
	return strings.Repeat("x", max(1, length))
}

// values returns values of an argument for which conditions may decide differently.
func (s *sampler) values(path []string, p *probes) []any {
	schema := s.at(path)
	out := []any{absent{}}
	if enum := schema.Get("enum"); enum != nil && enum.Kind == jsonschema.KindArray {
		for _, v := range enum.Items {
			out = append(out, v.Plain())
		}
		return out
	}
	own := kind(schema)
	if own != "" {
		out = append(out, s.value(schema, 0))
	}
	is := func(name string) bool { return own == "" || own == name }
	if is("boolean") {
		out = append(out, true, false)
	}
	if is("number") || own == "integer" {
		for _, n := range p.sortedNumbers() {
			out = append(out, n)
			if own != "integer" {
				out = append(out, n+0.5)
			}
		}
	}
	if is("string") {
		for _, t := range p.sortedTexts() {
			out = append(out, t)
		}
		if p.uses["size"] {
			out = append(out, lengths(p, func(n int) any { return strings.Repeat("x", n) })...)
		}
	}
	if own == "array" {
		out = append(out, lengths(p, func(n int) any { return slices.Repeat([]any{s.value(schema.Get("items"), 0)}, n) })...)
		for _, t := range p.sortedTexts() {
			out = append(out, []any{t})
		}
	}
	return out
}

// lengths builds values of the lengths that conditions may compare with.
func lengths(p *probes, of func(n int) any) []any {
	var out []any
	for _, n := range p.sortedNumbers() {
		if n >= 0 && n <= maxLength && n == math.Trunc(n) {
			out = append(out, of(int(n)))
		}
	}
	return out
}

// set returns a copy of a value with the value at path replaced.
func set(on any, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	if path[0] == element {
		return []any{set(nil, path[1:], value)}
	}
	old, _ := on.(map[string]any)
	out := map[string]any{}
	for k, v := range old {
		out[k] = v
	}
	if _, none := value.(absent); none && len(path) == 1 {
		delete(out, path[0])
		return out
	}
	out[path[0]] = set(out[path[0]], path[1:], value)
	return out
}
