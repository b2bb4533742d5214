package tool

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Scalar is a JSON string, number, boolean or null: a cell of a table.
type Scalar any

// schemaFor infers the schema of T and adds what the struct tags say:
//
//	jsonschema:"text"       the description
//	enum:"a,b"              the allowed values
//	min:"1" max:"10"        bounds of a number
//	minlen:"1" maxlen:"9"   bounds of a string's length
//	minitems:"1" maxitems:"9" bounds of an array's length
//	pattern:"^a" format:"date"
//	default:"10"            the default, as the value itself or as JSON
//	example:"x"             one example value
//	nullable:"false"        a pointer that means "may be absent" only
//
// On a field that holds an array, enum, min, max, lengths, pattern and format
// are about its items. A pointer means the value may be null; omitempty and
// omitzero mean it may be absent.
func schemaFor[T any]() (*jsonschema.Schema, error) {
	schema, err := jsonschema.For[T](&jsonschema.ForOptions{
		TypeSchemas: map[reflect.Type]*jsonschema.Schema{
			reflect.TypeFor[Scalar](): {Types: []string{"string", "number", "boolean", "null"}},
		},
	})
	if err != nil {
		return nil, err
	}
	return schema, decorate(schema, reflect.TypeFor[T]())
}

// decorate walks a type and its inferred schema together.
func decorate(s *jsonschema.Schema, t reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Slice:
		// The inference allows null for a nil slice; our tools never return one.
		s.Type, s.Types = "array", nil
		return decorate(s.Items, t.Elem())
	case reflect.Map:
		return decorate(s.AdditionalProperties, t.Elem())
	case reflect.Struct:
		for _, field := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			property := s.Properties[name]
			if field.Anonymous || property == nil {
				continue
			}
			if err := decorate(property, field.Type); err != nil {
				return err
			}
			if err := applyTags(property, field.Tag); err != nil {
				return fmt.Errorf("field %s.%s: %w", t, field.Name, err)
			}
		}
	}
	return nil
}

// applyTags adds one field's tags to its schema.
func applyTags(s *jsonschema.Schema, tag reflect.StructTag) error {
	if tag.Get("nullable") == "false" && len(s.Types) == 2 {
		s.Type, s.Types = s.Types[1], nil // the inference puts null first
	}
	value := s
	if s.Type == "array" {
		value = s.Items
	}
	value.Format, value.Pattern = cmp.Or(tag.Get("format"), value.Format), tag.Get("pattern")
	if enum, ok := tag.Lookup("enum"); ok {
		for item := range strings.SplitSeq(enum, ",") {
			value.Enum = append(value.Enum, item)
		}
		if len(value.Types) > 0 { // a nullable enum
			value.Enum = append(value.Enum, nil)
		}
	}
	if v, ok := tag.Lookup("example"); ok {
		value.Examples = []any{asJSON(v, value)}
	}
	if v, ok := tag.Lookup("default"); ok {
		s.Default = asJSON(v, s)
	}
	return errors.Join(
		bound(tag, "min", &value.Minimum), bound(tag, "max", &value.Maximum),
		bound(tag, "minlen", &value.MinLength), bound(tag, "maxlen", &value.MaxLength),
		bound(tag, "minitems", &s.MinItems), bound(tag, "maxitems", &s.MaxItems))
}

// bound sets dst to the number in a tag, if the field has it.
func bound[T int | float64](tag reflect.StructTag, key string, dst **T) error {
	v, ok := tag.Lookup(key)
	if !ok {
		return nil
	}
	return json.Unmarshal([]byte(v), dst)
}

// asJSON returns a tag's value as JSON; a string needs no quotes in a tag.
func asJSON(v string, s *jsonschema.Schema) json.RawMessage {
	if s.Type == "string" || slices.Contains(s.Types, "string") {
		quoted, _ := json.Marshal(v) // a string always marshals
		return quoted
	}
	return json.RawMessage(v)
}
