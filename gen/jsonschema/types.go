package jsonschema

import (
	"slices"
	"strings"
)

// Types is a set of types of JSON values. A number is an integer or has a fraction.
type Types uint8

// The types, the set of both number types, and the set of all types.
const (
	Boolean Types = 1 << iota
	Integer
	Fraction
	String
	Array
	Object
	Null
	Number = Integer | Fraction
	Any    = 1<<iota - 1
)

// typeNames are the names of types in the order in which [Types.Names] lists them.
var typeNames = []struct {
	name  string
	types Types
}{{"boolean", Boolean}, {"integer", Integer}, {"number", Number}, {"string", String}, {"array", Array}, {"object", Object}, {"null", Null}}

// TypeNamed returns the types that a name stands for, or no types if JSON Schema has no such name.
func TypeNamed(name string) Types {
	for _, t := range typeNames {
		if t.name == name {
			return t.types
		}
	}
	return 0
}

// Names lists a set by the names of JSON Schema. A number includes integers.
func (t Types) Names() []string {
	var out []string
	for _, named := range typeNames {
		if t&named.types != 0 && (named.types == Number) == (t&Fraction != 0) || t&named.types&^Number != 0 {
			out = append(out, named.name)
		}
	}
	return out
}

// TypesOf returns the types that the keyword type of a schema lists. ok is false if the keyword is absent or lists an unknown name.
func TypesOf(schema *Value) (out Types, ok bool) {
	v := schema.Get("type")
	if v == nil {
		return Any, false
	}
	for _, name := range v.list() {
		t := TypeNamed(name.Text)
		if name.Kind != KindString || t == 0 {
			return Any, false
		}
		out |= t
	}
	return out, out != 0
}

// list returns the elements of an array, or a list of any other value.
func (v *Value) list() []*Value {
	if v.Kind == KindArray {
		return v.Items
	}
	return []*Value{v}
}

// Type returns the type of a value. A number that is too long to be read counts as an integer.
func (v *Value) Type() Types {
	if v.Kind != KindNumber {
		return [...]Types{KindNull: Null, KindBool: Boolean, KindString: String, KindArray: Array, KindObject: Object}[v.Kind]
	}
	if n, ok := v.Rat(); ok && !n.IsInt() {
		return Fraction
	}
	return Integer
}

// Values returns the values that a schema lists as enum or const.
func Values(schema *Value) ([]*Value, bool) {
	if v := schema.Get("const"); v != nil {
		return []*Value{v}, true
	}
	list := schema.Get("enum")
	return list.Elements(), list != nil && list.Kind == KindArray
}

// Tuple returns the schemas of an array's first elements, and the schema of all others. rest is nil if they may be anything.
func Tuple(schema *Value) (first []*Value, rest *Value) {
	first, rest = schema.Get("prefixItems").Elements(), schema.Get("items")
	if rest != nil && rest.Kind == KindArray {
		return rest.Items, schema.Get("additionalItems")
	}
	return first, rest
}

// RequiredNames returns the names that a schema requires.
func RequiredNames(schema *Value) []string {
	var out []string
	for _, name := range schema.Get("required").Elements() {
		if name.Kind == KindString {
			out = append(out, name.Text)
		}
	}
	return out
}

// keywords are the keywords that can refuse values, with the types of the values that each can refuse.
var keywords = map[string]Types{
	"minimum": Number, "maximum": Number, "exclusiveMinimum": Number, "exclusiveMaximum": Number, "multipleOf": Number, "format": Number | String,
	"minLength": String, "maxLength": String, "pattern": String, "contentEncoding": String, "contentMediaType": String, "contentSchema": String,
	"items": Array, "prefixItems": Array, "additionalItems": Array, "unevaluatedItems": Array, "minItems": Array, "maxItems": Array, "uniqueItems": Array,
	"contains": Array, "minContains": Array, "maxContains": Array,
	"properties": Object, "patternProperties": Object, "additionalProperties": Object, "unevaluatedProperties": Object, "required": Object,
	"minProperties": Object, "maxProperties": Object, "propertyNames": Object, "dependentRequired": Object, "dependentSchemas": Object, "dependencies": Object,
	"type": Any, "enum": Any, "const": Any, "not": Any, "if": Any, "then": Any, "else": Any, "allOf": Any, "anyOf": Any, "oneOf": Any,
	"$ref": Any, "$dynamicRef": Any, "$recursiveRef": Any, "nullable": Any, // which is OpenAPI's
}

// IsConstraint reports whether a keyword is known to refuse values.
func IsConstraint(key string) bool { return keywords[key] != 0 }

// About returns the types of the values that a keyword can refuse. An unknown keyword can refuse any value.
func About(key string) Types {
	if types := keywords[key]; types != 0 {
		return types
	}
	return Any
}

// IsReference reports whether a keyword leads to another schema.
func IsReference(key string) bool {
	return key == "$ref" || key == "$dynamicRef" || key == "$recursiveRef"
}

// IsStructure reports whether a keyword only helps to find schemas.
func IsStructure(key string) bool {
	return slices.Contains([]string{"$defs", "definitions", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary"}, key)
}

// IsNote reports whether a keyword is known to refuse no value and to refer to nothing: a text, a default or an extension.
func IsNote(key string) bool {
	return strings.HasPrefix(key, "x-") || slices.Contains([]string{"title", "description", "$comment", "default", "examples", "example", "deprecated",
		"readOnly", "writeOnly", "$schema", "enumNames", "enumDescriptions", "markdownDescription"}, key)
}
