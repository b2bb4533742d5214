package learn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// schema is a shape as a JSON Schema, draft 2020-12. The replies need not have shown every property of an object, so it
// forbids no undeclared ones.
type schema struct {
	Type       any        `json:"type,omitempty"` // a name, or a list of names
	Items      *shape     `json:"items,omitempty"`
	Values     *shape     `json:"additionalProperties,omitempty"`
	Properties properties `json:"properties,omitempty"`
	Required   []string   `json:"required,omitempty"`
}

// properties are written and read in their order.
type properties []property

// MarshalJSON writes the shape as a JSON Schema.
func (s *shape) MarshalJSON() ([]byte, error) {
	if s.any {
		return []byte("{}"), nil
	}
	out := schema{Items: s.items, Values: s.values, Properties: s.properties}
	var types []string
	for _, name := range typeNames() {
		if *s.flag(name) && (name != "integer" || !s.float) {
			types = append(types, name)
		}
	}
	if out.Type = types; len(types) == 1 {
		out.Type = types[0]
	}
	for _, p := range s.properties {
		if p.required {
			out.Required = append(out.Required, p.name)
		}
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads a schema written by MarshalJSON.
func (s *shape) UnmarshalJSON(raw []byte) error {
	var in schema
	if err := json.Unmarshal(raw, &in); err != nil {
		return err
	}
	*s = shape{any: in.Type == nil, items: in.Items, values: in.Values, asMap: in.Values != nil && len(in.Properties) == 0, properties: in.Properties}
	types, isList := in.Type.([]any)
	if !isList && in.Type != nil {
		types = []any{in.Type}
	}
	for _, t := range types {
		name, _ := t.(string)
		if !slices.Contains(typeNames(), name) {
			return fmt.Errorf("unknown type %.50q in a learned schema", name)
		}
		*s.flag(name) = true
	}
	for i, p := range s.properties {
		s.properties[i].required = slices.Contains(in.Required, p.name)
	}
	return nil
}

// typeNames returns the names of types in the order in which schemas list them.
func typeNames() []string {
	return []string{"object", "array", "string", "number", "integer", "boolean", "null"}
}

// flag returns the field of a type.
func (s *shape) flag(name string) *bool {
	return map[string]*bool{
		"object": &s.object, "array": &s.list, "string": &s.text, "number": &s.float, "integer": &s.integer,
		"boolean": &s.boolean, "null": &s.null,
	}[name]
}

// MarshalJSON writes an object.
func (p properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	separator := byte('{')
	for _, one := range p {
		name, err := json.Marshal(one.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(one.shape)
		if err != nil {
			return nil, err
		}
		b.WriteByte(separator)
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
		separator = ','
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON reads an object.
func (p *properties) UnmarshalJSON(raw []byte) error {
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.ReadToken(); err != nil || t.Kind() != '{' {
		return errors.New("the properties of a learned schema are not an object")
	}
	for dec.PeekKind() != '}' {
		token, err := dec.ReadToken()
		if err != nil {
			return err
		}
		one := property{name: token.String(), shape: &shape{}}
		value, err := dec.ReadValue()
		if err != nil {
			return err
		}
		if err := json.Unmarshal(value, one.shape); err != nil {
			return err
		}
		*p = append(*p, one)
	}
	return nil
}
