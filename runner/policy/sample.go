package policy

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/catalog"
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
	root  map[string]any
	valid *validate.Validator // nil: anything fits
}

func newSampler(schema json.RawMessage) *sampler {
	s := &sampler{root: map[string]any{}}
	if v, err := catalog.Decode(schema); err == nil {
		s.root, _ = v.(map[string]any)
	}
	s.valid, _ = validate.Compile(schema) // a schema that does not compile checks nothing, as in calls
	return s
}

// fits reports whether arguments fit the schema.
func (s *sampler) fits(args json.RawMessage) bool {
	return s.valid == nil || s.valid.ValidateAs("the arguments", args) == nil
}

// follow resolves a reference within the schema, and picks the first alternative.
func (s *sampler) follow(schema map[string]any) map[string]any {
	for range maxSchemaDepth {
		if ref, ok := schema["$ref"].(string); ok && strings.HasPrefix(ref, "#/") {
			at := any(s.root)
			for _, key := range strings.Split(ref[2:], "/") {
				m, _ := at.(map[string]any)
				at = m[key]
			}
			schema, _ = at.(map[string]any)
			continue
		}
		first := false
		for _, key := range []string{"anyOf", "oneOf", "allOf"} {
			if list, ok := schema[key].([]any); ok && len(list) > 0 && schema["type"] == nil && schema["properties"] == nil {
				schema, _ = list[0].(map[string]any)
				first = true
				break
			}
		}
		if !first {
			return schema
		}
	}
	return schema
}

// at returns the schema at a path.
func (s *sampler) at(path []string) map[string]any {
	schema := s.follow(s.root)
	for _, name := range path {
		if name == element {
			schema, _ = schema["items"].(map[string]any)
		} else {
			properties, _ := schema["properties"].(map[string]any)
			schema, _ = properties[name].(map[string]any)
		}
		schema = s.follow(schema)
	}
	return schema
}

// kind returns the first type of a schema that is not null, or "" if there is none.
func kind(schema map[string]any) string {
	switch t := schema["type"].(type) {
	case string:
		return t
	case []any:
		for _, each := range t {
			if name, _ := each.(string); name != "null" {
				return name
			}
		}
	}
	if schema["properties"] != nil {
		return "object"
	}
	return ""
}

// value returns a value that fits a schema. It gives up on schemas that are hard to satisfy.
func (s *sampler) value(schema map[string]any, depth int) any {
	schema = s.follow(schema)
	for _, key := range []string{"const", "default"} {
		if v, ok := schema[key]; ok {
			return v
		}
	}
	for _, key := range []string{"enum", "examples"} {
		if list, ok := schema[key].([]any); ok && len(list) > 0 {
			return list[0]
		}
	}
	limit := func(key string, otherwise float64) float64 {
		if n, ok := schema[key].(json.Number); ok {
			if f, err := n.Float64(); err == nil {
				return f
			}
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
		items, _ := schema["items"].(map[string]any)
		list := []any{}
		for range int(min(limit("minItems", 0), 10)) {
			list = append(list, s.value(items, depth+1))
		}
		return list
	case "object":
		return s.object(schema, depth)
	}
	return "x"
}

func text(schema map[string]any, length int) string {
	if pattern, ok := schema["pattern"].(string); ok {
		return matching(pattern)
	}
	switch schema["format"] {
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

// object returns an object with the required properties.
func (s *sampler) object(schema map[string]any, depth int) map[string]any {
	out := map[string]any{}
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	for _, each := range required {
		name, _ := each.(string)
		property, _ := properties[name].(map[string]any)
		if depth < maxSchemaDepth {
			out[name] = s.value(property, depth+1)
		}
	}
	return out
}

// values returns values of an argument for which conditions may decide differently.
func (s *sampler) values(path []string, p *probes) []any {
	schema := s.at(path)
	out := []any{absent{}}
	if list, ok := schema["enum"].([]any); ok {
		return append(out, list...)
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
		items, _ := schema["items"].(map[string]any)
		out = append(out, lengths(p, func(n int) any { return slices.Repeat([]any{s.value(items, 0)}, n) })...)
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
