package validate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/jsonschema"
)

// ParseArguments returns the arguments of a tool from pairs as a person writes them, over those in base, which is an object
// or empty. In name=value, the input schema's property of that name, or the one that differs from it only in style, gives
// the type; without one the value is JSON or else a string. In name:=value, the value is JSON.
func ParseArguments(input, base json.RawMessage, pairs []string) (json.RawMessage, error) {
	args := map[string]json.RawMessage{}
	if len(strings.TrimSpace(string(base))) > 0 {
		if err := json.Unmarshal(base, &args); err != nil || args == nil {
			return nil, fmt.Errorf("the arguments are not one JSON object: %.80q", base)
		}
	}
	if len(pairs) == 0 && len(args) > 0 {
		return base, nil
	}
	schema, _ := jsonschema.Parse(input, jsonschema.Unlimited) // nil has no properties
	properties := schema.Get("properties")
	spellings := PropertySpellings(input)
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		exact := strings.HasSuffix(name, ":")
		if name = strings.TrimSuffix(name, ":"); !ok || name == "" {
			return nil, fmt.Errorf("%.80q is not an argument: write NAME=VALUE, or NAME:=JSON", pair)
		}
		switch {
		case !exact:
			property := cmp.Or(properties.Get(name), properties.Get(spellings[PlainSpelling(name)]))
			args[name] = valueFor(typesOf(property), value)
		case !json.Valid([]byte(value)):
			return nil, fmt.Errorf("%s:= is not followed by JSON: %.80q; for a string write %s=VALUE", name, value, name)
		default:
			args[name] = json.RawMessage(value)
		}
	}
	return json.Marshal(args)
}

// ValueOf returns a text as JSON of one of the types that a schema names: 42 where that is a number. A text that fits none of them, and
// any text if the schema names no type, is a string.
func ValueOf(schema *jsonschema.Value, text string) json.RawMessage {
	types := typesOf(schema)
	if types == 0 {
		types = jsonschema.String
	}
	return valueFor(types, text)
}

// typesOf returns the types that a schema or one of its alternatives names. It returns 0 if they name none.
func typesOf(schema *jsonschema.Value) jsonschema.Types {
	types, named := jsonschema.TypesOf(schema)
	if !named {
		types = 0
	}
	for _, alternative := range slices.Concat(schema.Get("anyOf").Elements(), schema.Get("oneOf").Elements()) {
		types |= typesOf(alternative)
	}
	return types
}

// valueFor returns a text as JSON of one of the types. A text that fits none becomes a string, which the schema refuses.
func valueFor(types jsonschema.Types, text string) json.RawMessage {
	plain, _ := json.Marshal(text) // a string can always be marshalled
	value, err := jsonschema.Parse([]byte(text), jsonschema.Unlimited)
	if err != nil {
		return plain
	}
	kind := value.Type()
	if kind&jsonschema.Number != 0 {
		kind = jsonschema.Number
	}
	if types != 0 && types&kind == 0 || kind&types == jsonschema.String {
		return plain
	}
	return json.RawMessage(text)
}

// PropertySpellings returns the names of a schema's properties by their [PlainSpelling]. A name is empty if several
// properties have the same spelling. The result is nil if there are no properties, or if the schema provides for others, by
// patternProperties or an additionalProperties that is not false.
func PropertySpellings(raw json.RawMessage) map[string]string {
	schema, _ := jsonschema.Parse(raw, jsonschema.Unlimited) // nil has no properties
	properties := schema.Get("properties").Sorted()
	open := schema.Has("additionalProperties") && !schema.Is("additionalProperties", false)
	if len(properties) == 0 || open || len(schema.Get("patternProperties").Sorted()) > 0 {
		return nil
	}
	names := map[string]string{}
	for _, property := range properties {
		name := property.Key
		plain := PlainSpelling(name)
		if _, alike := names[plain]; alike {
			name = ""
		}
		names[plain] = name
	}
	return names
}

// PlainSpelling returns a name in lower case without _ and -, so that document_id, documentId and document-id are equal.
func PlainSpelling(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}
