package validate

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/gen/jsonschema"
)

const (
	// maxExponent bounds the exponents of numbers, in both directions.
	maxExponent = 400
	// maxDigits bounds the length of numbers in bytes.
	maxDigits = 1_000
)

// checkNumbers refuses numbers for which the library would need unbounded memory.
func checkNumbers(v *jsonschema.Value) error {
	if v.Kind == jsonschema.KindNumber {
		if len(v.Text) > maxDigits {
			return fmt.Errorf("a number has %d digits", len(v.Text))
		}
		if i := strings.IndexAny(v.Text, "eE"); i >= 0 {
			if e, err := strconv.Atoi(v.Text[i+1:]); err != nil || e > maxExponent || e < -maxExponent {
				return fmt.Errorf("the exponent of %q is out of range", v.Text)
			}
		}
	}
	for _, item := range v.Items {
		if err := checkNumbers(item); err != nil {
			return err
		}
	}
	for _, m := range v.Members {
		if err := checkNumbers(m.Value); err != nil {
			return err
		}
	}
	return nil
}

// Repair returns a copy of a schema that the library accepts. It leaves out patterns that RE2 does not know, with the
// keywords that depend on them, and dialects of subschemas, and it replaces OpenAPI's nullable by a type.
func Repair(root *jsonschema.Value) *jsonschema.Value {
	r := repairer{root: root}
	r.draft, _ = jsonschema.DraftOf(root)
	return r.schema(root)
}

type repairer struct {
	root  *jsonschema.Value
	draft jsonschema.Draft
}

func (r *repairer) schema(v *jsonschema.Value) *jsonschema.Value {
	if v.Kind != jsonschema.KindObject {
		return v
	}
	out := jsonschema.Record()
	dropped := false // a pattern, so that it is unknown which properties the patterns match
	for _, m := range v.Members {
		if !r.keeps(m, v) {
			continue
		}
		if m.Key == "patternProperties" && m.Value.Kind == jsonschema.KindObject {
			known := knownPatterns(m.Value)
			dropped = len(known.Members) < len(m.Value.Members)
			m.Value = known
		}
		out.Members = append(out.Members, jsonschema.Member{Key: m.Key, Value: r.keyword(m)})
	}
	if dropped {
		out = without(out, "additionalProperties", "unevaluatedProperties")
	}
	if v.Is("nullable", true) {
		return withNull(out)
	}
	return out
}

// keeps reports whether the keyword m of the schema v stays.
func (r *repairer) keeps(m jsonschema.Member, v *jsonschema.Value) bool {
	switch m.Key {
	case "pattern":
		return m.Value.Kind != jsonschema.KindString || compiles(m.Value.Text)
	case "$schema":
		return v == r.root
	case "id": // an identifier in draft 4 only; in other drafts the library may trip over it
		return r.draft == jsonschema.Draft04 && m.Value.Kind == jsonschema.KindString
	case "$vocabulary":
		return false
	}
	return true
}

// keyword repairs the schemas in the value of one keyword.
func (r *repairer) keyword(m jsonschema.Member) *jsonschema.Value {
	switch jsonschema.Subschemas(m) {
	case jsonschema.OneSchema:
		return r.schema(m.Value)
	case jsonschema.ListOfSchemas:
		out := &jsonschema.Value{Kind: m.Value.Kind, Members: m.Value.Members}
		for _, sub := range m.Value.Items {
			out.Items = append(out.Items, r.schema(sub))
		}
		return out
	case jsonschema.MapOfSchemas:
		out := &jsonschema.Value{Kind: m.Value.Kind, Items: m.Value.Items}
		for _, sub := range m.Value.Members {
			out.Members = append(out.Members, jsonschema.Member{Key: sub.Key, Value: r.schema(sub.Value)})
		}
		return out
	}
	return m.Value
}

func knownPatterns(v *jsonschema.Value) *jsonschema.Value {
	out := jsonschema.Record()
	for _, m := range v.Members {
		if compiles(m.Key) {
			out.Members = append(out.Members, m)
		}
	}
	return out
}

func compiles(pattern string) bool {
	_, err := regexp.Compile(pattern)
	return err == nil
}

// without returns the object v without some keys.
func without(v *jsonschema.Value, keys ...string) *jsonschema.Value {
	out := jsonschema.Record()
	for _, m := range v.Members {
		if !slices.Contains(keys, m.Key) {
			out.Members = append(out.Members, m)
		}
	}
	return out
}

// withNull returns a schema that accepts null and what v accepts.
func withNull(v *jsonschema.Value) *jsonschema.Value {
	out := jsonschema.Record()
	if t := v.Get("type"); t != nil && t.Kind == jsonschema.KindString && !v.Has("$ref", "allOf", "anyOf", "oneOf", "const") {
		for _, m := range v.Members {
			switch {
			case m.Key == "type":
				m.Value = array(t, jsonschema.Text("null"))
			case m.Key == "enum" && m.Value.Kind == jsonschema.KindArray && t.Text != "null":
				m.Value = array(append(slices.Clone(m.Value.Items), &jsonschema.Value{})...)
			}
			out.Members = append(out.Members, m)
		}
		return out
	}
	// Identifiers and definitions stay where references look for them.
	outer := []string{"$schema", "$id", "$defs", "definitions"}
	for _, keyword := range outer {
		if kept := v.Get(keyword); kept != nil {
			out.Members = append(out.Members, jsonschema.Member{Key: keyword, Value: kept})
		}
	}
	null := jsonschema.Record(jsonschema.Member{Key: "type", Value: jsonschema.Text("null")})
	out.Members = append(out.Members, jsonschema.Member{Key: "anyOf", Value: array(without(v, outer...), null)})
	return out
}

func array(items ...*jsonschema.Value) *jsonschema.Value {
	return &jsonschema.Value{Kind: jsonschema.KindArray, Items: items}
}
