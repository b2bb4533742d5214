package validate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
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
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(input, &s) // without an object there are no properties
	spellings := PropertySpellings(input)
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		exact := strings.HasSuffix(name, ":")
		if name = strings.TrimSuffix(name, ":"); !ok || name == "" {
			return nil, fmt.Errorf("%.80q is not an argument: write NAME=VALUE, or NAME:=JSON", pair)
		}
		switch {
		case !exact:
			property, ok := s.Properties[name]
			if !ok {
				property = s.Properties[spellings[PlainSpelling(name)]]
			}
			args[name] = valueFor(typesOf(property), value)
		case !json.Valid([]byte(value)):
			return nil, fmt.Errorf("%s:= is not followed by JSON: %.80q; for a string write %s=VALUE", name, value, name)
		default:
			args[name] = json.RawMessage(value)
		}
	}
	return json.Marshal(args)
}

// typesOf returns the types that a schema names, sorted; none if it names none.
func typesOf(raw json.RawMessage) []string {
	var s struct {
		Type  any
		AnyOf []json.RawMessage
		OneOf []json.RawMessage
	}
	if json.Unmarshal(raw, &s) != nil {
		return nil
	}
	found := map[string]bool{}
	switch t := s.Type.(type) {
	case string:
		found[t] = true
	case []any:
		for _, each := range t {
			found[fmt.Sprint(each)] = true
		}
	}
	for _, member := range slices.Concat(s.AnyOf, s.OneOf) {
		for _, t := range typesOf(member) {
			found[t] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// valueFor returns a text as JSON of one of the types. A text that fits none becomes a string, which the schema refuses.
func valueFor(types []string, text string) json.RawMessage {
	plain, _ := json.Marshal(text) // a string can always be marshalled
	if !json.Valid([]byte(text)) {
		return plain
	}
	kind := kindOfJSON(strings.TrimSpace(text))
	fits := len(types) == 0 || slices.Contains(types, kind) || kind == "number" && slices.Contains(types, "integer")
	if !fits || kind == "string" && slices.Contains(types, "string") {
		return plain
	}
	return json.RawMessage(text)
}

// kindOfJSON returns the type of a valid JSON text.
func kindOfJSON(text string) string {
	switch text[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

// PropertySpellings returns the names of a schema's properties by their [PlainSpelling]. A name is empty if several
// properties have the same spelling. The result is nil if there are no properties, or if the schema provides for others, by
// patternProperties or an additionalProperties that is not false.
func PropertySpellings(raw json.RawMessage) map[string]string {
	var s struct {
		Properties           map[string]json.RawMessage `json:"properties"`
		PatternProperties    map[string]json.RawMessage `json:"patternProperties"`
		AdditionalProperties json.RawMessage            `json:"additionalProperties"`
	}
	if json.Unmarshal(raw, &s) != nil || len(s.Properties) == 0 || len(s.PatternProperties) > 0 {
		return nil
	}
	if more := string(s.AdditionalProperties); more != "" && more != "false" {
		return nil
	}
	names := map[string]string{}
	for name := range s.Properties {
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
