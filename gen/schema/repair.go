package schema

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

const (
	draft2020   = "https://json-schema.org/draft/2020-12/schema"
	draft2019   = "https://json-schema.org/draft/2019-09/schema"
	draft7      = "http://json-schema.org/draft-07/schema#"
	draft6      = "http://json-schema.org/draft-06/schema#"
	draft4      = "http://json-schema.org/draft-04/schema#"
	maxExponent = 400
)

// dialects lists what to compile a schema as, in order. A dialect that is not known is taken for the newest.
func dialects(root *value) []string {
	given := strings.TrimSuffix(root.str("$schema"), "#")
	given = strings.TrimPrefix(strings.TrimPrefix(given, "https://"), "http://")
	switch given {
	case "json-schema.org/draft/2019-09/schema":
		return []string{draft2019, draft7}
	case "json-schema.org/draft-07/schema":
		return []string{draft7, draft2020, draft4}
	case "json-schema.org/draft-06/schema":
		return []string{draft6, draft7, draft4}
	case "json-schema.org/draft-04/schema", "json-schema.org/draft-03/schema":
		return []string{draft4, draft7, draft2020}
	}
	return []string{draft2020, draft7, draft4}
}

// withDialect returns root with that $schema. It is never left out: without one the library checks formats.
func withDialect(root *value, dialect string) *value {
	if root.kind != kindObject {
		return root
	}
	out := &value{kind: kindObject, members: []member{{key: "$schema", value: &value{kind: kindString, text: dialect}}}}
	for _, m := range root.members {
		if m.key != "$schema" {
			out.members = append(out.members, m)
		}
	}
	return out
}

func newReader(v *value) io.Reader { return bytes.NewReader(v.appendJSON(nil)) }

// checkNumbers refuses numbers that the library would need unbounded memory for.
func checkNumbers(v *value) error {
	if v.kind == kindNumber {
		if len(v.text) > maxDigits {
			return fmt.Errorf("a number has %d digits", len(v.text))
		}
		if i := strings.IndexAny(v.text, "eE"); i >= 0 {
			if e, err := strconv.Atoi(v.text[i+1:]); err != nil || e > maxExponent || e < -maxExponent {
				return fmt.Errorf("the exponent of %q is out of range", v.text)
			}
		}
	}
	for _, item := range v.items {
		if err := checkNumbers(item); err != nil {
			return err
		}
	}
	for _, m := range v.members {
		if err := checkNumbers(m.value); err != nil {
			return err
		}
	}
	return nil
}

// repair returns a copy of a schema without what the library cannot take although it is no fault of the whole: a
// pattern that RE2 does not know, a keyword beside it that depends on it, a nested dialect; and with OpenAPI's
// nullable put as a type.
func repair(root *value) (*value, []Note) {
	r := &repairer{}
	r.draft, _ = dialectOf(root)
	return r.schema(root, place{}), r.warnings
}

type repairer struct {
	draft    draft
	warnings []Note
}

func (r *repairer) schema(v *value, p place) *value {
	if v.kind != kindObject {
		return v
	}
	out := &value{kind: kindObject}
	dropped := false // a pattern of patternProperties, so that nothing can be said of the other properties
	for _, m := range v.members {
		if !r.keep(m, p) {
			continue
		}
		if m.key == "patternProperties" && m.value.kind == kindObject {
			m.value, dropped = r.patterns(m.value, p.at(m.key))
		}
		out.members = append(out.members, member{key: m.key, value: r.keyword(m, p.at(m.key))})
	}
	if dropped {
		out.remove("additionalProperties")
		out.remove("unevaluatedProperties")
	}
	if v.is("nullable", true) {
		allowNull(out)
	}
	return out
}

func (r *repairer) keep(m member, p place) bool {
	switch m.key {
	case "pattern":
		if m.value.kind == kindString && !compiles(m.value.text) {
			r.warn(p.at("pattern"))
			return false
		}
	case "$schema":
		return p.pointer == ""
	case "id": // an identifier in draft 4 only, where a validator may trip over any other
		return r.draft == draft04 && m.value.kind == kindString
	case "$vocabulary":
		return false
	}
	return true
}

func (r *repairer) warn(p place) {
	if len(r.warnings) < maxNotes {
		r.warnings = append(r.warnings, Note{Code: CodeBadPattern, Pointer: p.pointer, Message: "the pattern is not one that Go's regular expressions know; it is not checked"})
	}
}

func (r *repairer) patterns(v *value, p place) (*value, bool) {
	out := &value{kind: kindObject}
	for _, m := range v.members {
		if compiles(m.key) {
			out.members = append(out.members, m)
		} else {
			r.warn(p.at(m.key))
		}
	}
	return out, len(out.members) < len(v.members)
}

// keyword repairs the schemas below one keyword. What is data there (enum, const, default) stays as it is.
func (r *repairer) keyword(m member, p place) *value {
	switch m.key {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies":
		out := &value{kind: m.value.kind, items: m.value.items}
		for _, sub := range m.value.members {
			out.members = append(out.members, member{key: sub.key, value: r.schema(sub.value, p.at(sub.key))})
		}
		return out
	case "allOf", "anyOf", "oneOf", "prefixItems", "items":
		if m.value.kind != kindArray {
			return r.schema(m.value, p)
		}
		out := &value{kind: kindArray}
		for i, sub := range m.value.items {
			out.items = append(out.items, r.schema(sub, p.at(itoa(i))))
		}
		return out
	case "additionalProperties", "additionalItems", "unevaluatedProperties", "unevaluatedItems", "propertyNames",
		"contains", "not", "if", "then", "else", "contentSchema":
		return r.schema(m.value, p)
	}
	return m.value
}

func compiles(pattern string) bool {
	_, err := regexp.Compile(pattern)
	return err == nil
}

func (v *value) remove(key string) {
	for i := range v.members {
		if v.members[i].key == key {
			v.members = append(v.members[:i:i], v.members[i+1:]...)
			return
		}
	}
}

func (v *value) set(key string, to *value) {
	for i := range v.members {
		if v.members[i].key == key {
			v.members[i].value = to
		}
	}
}

// allowNull rewrites a schema so that null fits as well.
func allowNull(v *value) {
	if t := v.get("type"); t != nil && t.kind == kindString && !hasAny(v, []string{"$ref", "allOf", "anyOf", "oneOf", "const"}) {
		null := &value{kind: kindString, text: "null"}
		v.set("type", &value{kind: kindArray, items: []*value{t, null}})
		if enum := v.get("enum"); enum != nil && enum.kind == kindArray && t.text != "null" {
			v.set("enum", &value{kind: kindArray, items: append(enum.items[:len(enum.items):len(enum.items)], &value{kind: kindNull})})
		}
		return
	}
	null := &value{kind: kindObject, members: []member{{key: "type", value: &value{kind: kindString, text: "null"}}}}
	rest := &value{kind: kindObject, members: v.members}
	*v = value{kind: kindObject}
	// Definitions stay where references look for them.
	for _, keyword := range []string{"$schema", "$id", "$defs", "definitions"} {
		if kept := rest.get(keyword); kept != nil {
			v.members = append(v.members, member{key: keyword, value: kept})
		}
	}
	for _, m := range v.members {
		rest.remove(m.key)
	}
	v.members = append(v.members, member{key: "anyOf", value: &value{kind: kindArray, items: []*value{rest, null}}})
}
