package learn

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/mcpgen/mcpgen/gen/jsonschema"
)

// typeName is the name of a type in JSON Schema.
type typeName struct {
	name  string
	types types
}

// typeNames are in the order in which schemas list them.
var typeNames = []typeName{
	{"object", isObject}, {"array", isList}, {"string", isText}, {"number", isFloat}, {"integer", isInt}, {"boolean", isBool}, {"null", isNull},
}

// MarshalJSON returns the shape as a JSON Schema, draft 2020-12. It allows undeclared properties, because the replies need not have shown
// every property of an object.
func (s *shape) MarshalJSON() ([]byte, error) { return s.schema().AppendJSON(nil), nil }

func (s *shape) schema() *jsonschema.Value {
	out := jsonschema.Record()
	if s.types&isAny != 0 {
		return out
	}
	listed := jsonschema.List()
	for _, t := range typeNames {
		if s.types&t.types != 0 && (t.types != isInt || s.types&isFloat == 0) {
			listed.Items = append(listed.Items, jsonschema.Text(t.name))
		}
	}
	out.Set("type", listed)
	if len(listed.Items) == 1 {
		out.Set("type", listed.Items[0])
	}
	if s.items != nil {
		out.Set("items", s.items.schema())
	}
	if s.values != nil {
		out.Set("additionalProperties", s.values.schema())
	}
	properties, required := jsonschema.Record(), jsonschema.List()
	for _, p := range s.properties {
		properties.Members = append(properties.Members, jsonschema.Member{Key: p.name, Value: p.shape.schema()})
		if p.required {
			required.Items = append(required.Items, jsonschema.Text(p.name))
		}
	}
	if len(properties.Members) > 0 {
		out.Set("properties", properties)
	}
	if len(required.Items) > 0 {
		out.Set("required", required)
	}
	return out
}

// readShape reads a schema that was written by MarshalJSON.
func readShape(raw json.RawMessage) (*shape, error) {
	v, err := jsonschema.Parse(raw, jsonschema.Unlimited)
	if err != nil {
		return nil, fmt.Errorf("read a learned shape: it %w", err)
	}
	s, err := shapeOf(v)
	if err != nil {
		return nil, fmt.Errorf("read a learned shape: %w", err)
	}
	return s, nil
}

// shapeOf returns the shape of a schema, or nil without a schema.
func shapeOf(v *jsonschema.Value) (s *shape, err error) {
	if v == nil {
		return nil, nil
	}
	types, properties := v.Get("type"), v.Get("properties")
	if v.Kind != jsonschema.KindObject || properties != nil && properties.Kind != jsonschema.KindObject {
		return nil, errors.New("a learned schema or its properties are not an object")
	}
	s = &shape{}
	if types == nil {
		s.types = isAny
	} else if types.Kind != jsonschema.KindArray {
		types = jsonschema.List(types)
	}
	for _, name := range types.Elements() {
		at := slices.IndexFunc(typeNames, func(t typeName) bool { return t.name == name.Text })
		if at < 0 {
			return nil, fmt.Errorf("unknown type %.50q in a learned schema", name.Text)
		}
		s.types |= typeNames[at].types
	}
	if s.items, err = shapeOf(v.Get("items")); err != nil {
		return nil, err
	}
	if s.values, err = shapeOf(v.Get("additionalProperties")); err != nil || properties == nil {
		s.asMap = s.values != nil
		return s, err
	}
	required := jsonschema.RequiredNames(v)
	for _, m := range properties.Members {
		p := property{name: m.Key, required: slices.Contains(required, m.Key)}
		if p.shape, err = shapeOf(m.Value); err != nil {
			return nil, err
		}
		s.properties = append(s.properties, p)
	}
	s.asMap = s.values != nil && len(s.properties) == 0
	return s, nil
}
