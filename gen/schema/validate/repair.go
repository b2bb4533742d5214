package validate

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/gen/schema/internal/document"
)

const (
	// maxExponent bounds the exponents of numbers, in both directions.
	maxExponent = 400
	// maxDigits bounds the length of numbers in bytes.
	maxDigits = 1_000
)

// checkNumbers refuses numbers for which the library would need unbounded memory.
func checkNumbers(v *document.Value) error {
	if v.Kind == document.KindNumber {
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
func Repair(root *document.Value) *document.Value {
	r := repairer{root: root}
	r.draft, _ = document.DraftOf(root)
	return r.schema(root)
}

type repairer struct {
	root  *document.Value
	draft document.Draft
}

func (r *repairer) schema(v *document.Value) *document.Value {
	if v.Kind != document.KindObject {
		return v
	}
	out := &document.Value{Kind: document.KindObject}
	dropped := false // a pattern, so that it is unknown which properties the patterns match
	for _, m := range v.Members {
		if !r.keeps(m, v) {
			continue
		}
		if m.Key == "patternProperties" && m.Value.Kind == document.KindObject {
			known := knownPatterns(m.Value)
			dropped = len(known.Members) < len(m.Value.Members)
			m.Value = known
		}
		out.Members = append(out.Members, document.Member{Key: m.Key, Value: r.keyword(m)})
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
func (r *repairer) keeps(m document.Member, v *document.Value) bool {
	switch m.Key {
	case "pattern":
		return m.Value.Kind != document.KindString || compiles(m.Value.Text)
	case "$schema":
		return v == r.root
	case "id": // an identifier in draft 4 only; in other drafts the library may trip over it
		return r.draft == document.Draft04 && m.Value.Kind == document.KindString
	case "$vocabulary":
		return false
	}
	return true
}

// keyword repairs the schemas in the value of one keyword.
func (r *repairer) keyword(m document.Member) *document.Value {
	switch document.Subschemas(m) {
	case document.OneSchema:
		return r.schema(m.Value)
	case document.ListOfSchemas:
		out := &document.Value{Kind: m.Value.Kind, Members: m.Value.Members}
		for _, sub := range m.Value.Items {
			out.Items = append(out.Items, r.schema(sub))
		}
		return out
	case document.MapOfSchemas:
		out := &document.Value{Kind: m.Value.Kind, Items: m.Value.Items}
		for _, sub := range m.Value.Members {
			out.Members = append(out.Members, document.Member{Key: sub.Key, Value: r.schema(sub.Value)})
		}
		return out
	}
	return m.Value
}

func knownPatterns(v *document.Value) *document.Value {
	out := &document.Value{Kind: document.KindObject}
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
func without(v *document.Value, keys ...string) *document.Value {
	out := &document.Value{Kind: document.KindObject}
	for _, m := range v.Members {
		if !slices.Contains(keys, m.Key) {
			out.Members = append(out.Members, m)
		}
	}
	return out
}

// withNull returns a schema that accepts null and what v accepts.
func withNull(v *document.Value) *document.Value {
	out := &document.Value{Kind: document.KindObject}
	if t := v.Get("type"); t != nil && t.Kind == document.KindString && !v.Has("$ref", "allOf", "anyOf", "oneOf", "const") {
		for _, m := range v.Members {
			switch {
			case m.Key == "type":
				m.Value = array(t, &document.Value{Kind: document.KindString, Text: "null"})
			case m.Key == "enum" && m.Value.Kind == document.KindArray && t.Text != "null":
				m.Value = array(append(slices.Clone(m.Value.Items), &document.Value{Kind: document.KindNull})...)
			}
			out.Members = append(out.Members, m)
		}
		return out
	}
	// Identifiers and definitions stay where references look for them.
	outer := []string{"$schema", "$id", "$defs", "definitions"}
	for _, keyword := range outer {
		if kept := v.Get(keyword); kept != nil {
			out.Members = append(out.Members, document.Member{Key: keyword, Value: kept})
		}
	}
	null := &document.Value{Kind: document.KindObject, Members: []document.Member{{Key: "type", Value: &document.Value{Kind: document.KindString, Text: "null"}}}}
	out.Members = append(out.Members, document.Member{Key: "anyOf", Value: array(without(v, outer...), null)})
	return out
}

func array(items ...*document.Value) *document.Value {
	return &document.Value{Kind: document.KindArray, Items: items}
}
