package document

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"

	"github.com/mcpgen/mcpgen/gen/jsonschema"
)

// maxTypeDepth bounds how deep a schema is read for the types of expressions. Below, anything goes.
const maxTypeDepth = 12

// declared converts JSON Schemas to CEL types, so that expressions are checked against what tools and the input declare. It is the type
// provider of the expressions of one document.
type declared struct {
	*types.Registry
	objects map[string]map[string]*cel.Type // by the names that declared gives them
}

func newDeclared() (*declared, error) {
	registry, err := types.NewRegistry()
	return &declared{registry, map[string]map[string]*cel.Type{}}, err
}

// FindStructType implements [types.Provider].
func (d *declared) FindStructType(name string) (*types.Type, bool) {
	if _, ok := d.objects[name]; ok {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return d.Registry.FindStructType(name)
}

// FindStructFieldNames implements [types.Provider].
func (d *declared) FindStructFieldNames(name string) ([]string, bool) {
	fields, ok := d.objects[name]
	if !ok {
		return d.Registry.FindStructFieldNames(name)
	}
	return slices.Sorted(maps.Keys(fields)), true
}

// FindStructFieldType implements [types.Provider].
func (d *declared) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	fields, ok := d.objects[name]
	if !ok {
		return d.Registry.FindStructFieldType(name, field)
	}
	t, ok := fields[field]
	return &types.FieldType{Type: t}, ok
}

// object returns the type of an object with these members and no others.
func (d *declared) object(fields map[string]*cel.Type) *cel.Type {
	name := fmt.Sprintf("mcprun.object%d", len(d.objects))
	d.objects[name] = fields
	return cel.ObjectType(name)
}

// of returns the type of the values that a schema accepts, to the extent that CEL can express it; otherwise it is dyn.
func (d *declared) of(raw json.RawMessage) *cel.Type {
	root, err := jsonschema.Parse(raw, jsonschema.Limits{})
	if err != nil {
		return cel.DynType
	}
	return d.schema(root, root, 0)
}

func (d *declared) schema(root, s *jsonschema.Value, depth int) *cel.Type {
	for ref := s.Str("$ref"); ref != ""; ref = s.Str("$ref") {
		if s = root.Local(ref); s == nil || depth > maxTypeDepth {
			return cel.DynType
		}
		depth++
	}
	all, ok := jsonschema.TypesOf(s)
	if !ok || depth > maxTypeDepth || s.Has("anyOf", "oneOf", "allOf", "if", "$dynamicRef") {
		return cel.DynType
	}
	switch all {
	case jsonschema.Boolean:
		return cel.BoolType
	case jsonschema.Integer:
		return cel.IntType
	case jsonschema.String:
		return cel.StringType
	case jsonschema.Array:
		if s.Has("prefixItems") || s.Get("items") == nil || s.Get("items").Kind != jsonschema.KindObject {
			return cel.ListType(cel.DynType)
		}
		return cel.ListType(d.schema(root, s.Get("items"), depth+1))
	case jsonschema.Object:
		properties := s.Get("properties").Sorted()
		rest := s.Get("additionalProperties")
		open := rest != nil && !s.Is("additionalProperties", false) || s.Has("patternProperties", "unevaluatedProperties")
		if len(properties) == 0 || open {
			return cel.MapType(cel.StringType, cel.DynType)
		}
		fields := map[string]*cel.Type{}
		for _, p := range properties {
			fields[p.Key] = d.schema(root, p.Value, depth+1)
		}
		return d.object(fields)
	}
	return cel.DynType // null, or one of several
}

// typesOf returns the types of JSON that a value of a CEL type can have.
func typesOf(t *cel.Type) jsonschema.Types {
	switch t.Kind() {
	case types.BoolKind:
		return jsonschema.Boolean
	case types.IntKind, types.UintKind:
		return jsonschema.Integer
	case types.DoubleKind:
		return jsonschema.Number
	case types.StringKind, types.TimestampKind, types.DurationKind, types.BytesKind:
		return jsonschema.String
	case types.ListKind:
		return jsonschema.Array
	case types.MapKind, types.StructKind:
		return jsonschema.Object
	case types.NullTypeKind:
		return jsonschema.Null
	}
	return jsonschema.Any
}
