package elicit

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/upstream/internal/rawjson"
)

const (
	maxForm        = 64 << 10 // of its schema, in bytes
	maxFormFields  = 100
	maxFormChoices = 1000
)

// FieldKind says what a field of a form holds.
type FieldKind string

const (
	FieldText    FieldKind = "text"
	FieldNumber  FieldKind = "number"
	FieldInteger FieldKind = "integer"
	FieldBoolean FieldKind = "boolean"
	FieldChoice  FieldKind = "choice"  // one of Choices
	FieldChoices FieldKind = "choices" // a list of some of them
)

// Field is one field of a form. Its texts are hostile. A nil bound and an empty text mean that the form has none.
type Field struct {
	Name        string    `json:"name"`
	Kind        FieldKind `json:"kind"`
	Title       string    `json:"title,omitempty"`
	Description string    `json:"description,omitempty"`
	Required    bool      `json:"required,omitempty"`
	// Default is a value that fits the field, or nil.
	Default json.RawMessage `json:"default,omitempty"`
	Choices []Choice        `json:"choices,omitempty"`
	// Format of a text is email, uri, date or date-time; any other is not checked. Pattern is a regular expression.
	Format  string `json:"format,omitempty"`
	Pattern string `json:"pattern,omitempty"`
	// MinLength and MaxLength bound a text, in characters; Minimum and Maximum a number; MinItems and MaxItems the
	// choices.
	MinLength *int     `json:"minLength,omitempty"`
	MaxLength *int     `json:"maxLength,omitempty"`
	Minimum   *float64 `json:"minimum,omitempty"`
	Maximum   *float64 `json:"maximum,omitempty"`
	MinItems  *int     `json:"minItems,omitempty"`
	MaxItems  *int     `json:"maxItems,omitempty"`
}

// Choice is a value that may be chosen. Title is for people; empty: Value itself.
type Choice struct {
	Value string `json:"value"`
	Title string `json:"title,omitempty"`
}

// notFlat returns the keywords that no form may have, because they refer, combine or nest.
func notFlat() []string {
	return []string{
		"$ref", "$dynamicRef", "$recursiveRef", "$defs", "definitions", "allOf", "not", "if", "then", "else", "patternProperties",
		"dependentSchemas", "dependentRequired", "dependencies", "propertyNames", "unevaluatedProperties", "unevaluatedItems",
		"prefixItems", "contains",
	}
}

// readForm reads the schema of a form. The error says why it is not a flat object of primitive properties.
func readForm(raw json.RawMessage) ([]Field, error) {
	if len(raw) > maxForm {
		return nil, fmt.Errorf("its schema is larger than %d KiB", maxForm>>10)
	}
	root, err := flat(raw)
	if err != nil {
		return nil, err
	}
	for _, word := range []string{"anyOf", "oneOf", "items"} {
		if root[word] != nil {
			return nil, fmt.Errorf("its schema has %q, which a form cannot have", word)
		}
	}
	var kind string
	if t := root["type"]; t != nil && (json.Unmarshal(t, &kind) != nil || kind != "object") {
		return nil, errors.New("its schema is not of type object")
	}
	var required []string
	if r := root["required"]; r != nil && json.Unmarshal(r, &required) != nil {
		return nil, errors.New(`"required" in its schema is not a list of names`)
	}
	var fields []Field
	if p := root["properties"]; p != nil {
		if fields, err = readFields(p, required); err != nil {
			return nil, err
		}
	}
	for _, name := range required {
		if !slices.ContainsFunc(fields, func(f Field) bool { return f.Name == name }) {
			return nil, fmt.Errorf("it requires %q, which is not one of its properties", ident.Printable(name, 100))
		}
	}
	return fields, nil
}

// flat returns the keywords of a schema, and an error for one that refers or combines.
func flat(raw json.RawMessage) (map[string]json.RawMessage, error) {
	words, err := rawjson.Members(raw)
	if err != nil {
		return nil, errors.New("its schema is not an object")
	}
	for _, word := range notFlat() {
		if words[word] != nil {
			return nil, fmt.Errorf("its schema has %q, which a form cannot have", word)
		}
	}
	if extra := words["additionalProperties"]; extra != nil && string(extra) != "true" && string(extra) != "false" {
		return nil, errors.New(`its schema has "additionalProperties" with a schema, which a form cannot have`)
	}
	return words, nil
}

func readFields(properties json.RawMessage, required []string) ([]Field, error) {
	var fields []Field
	err := rawjson.EachMember(properties, func(name string, raw json.RawMessage) error {
		if len(fields) == maxFormFields {
			return fmt.Errorf("it has more than %d fields", maxFormFields)
		}
		f, err := readField(name, raw)
		if err != nil {
			return fmt.Errorf("field %q: %w", ident.Printable(name, 100), err)
		}
		if slices.ContainsFunc(fields, func(other Field) bool { return other.Name == name }) {
			return fmt.Errorf("it has two fields %q", ident.Printable(name, 100))
		}
		f.Required = slices.Contains(required, name)
		fields = append(fields, f)
		return nil
	})
	if errors.Is(err, rawjson.ErrKind) {
		return nil, errors.New(`"properties" in its schema is not an object`)
	}
	return fields, err
}

func readField(name string, raw json.RawMessage) (Field, error) {
	words, err := flat(raw)
	if err != nil {
		return Field{}, err
	}
	if words["properties"] != nil {
		return Field{}, errors.New("it is nested, and a form cannot be")
	}
	var f Field // whose members are named as the keywords are, but for those that are set below
	var kind string
	if json.Unmarshal(raw, &f) != nil || words["type"] != nil && json.Unmarshal(words["type"], &kind) != nil {
		return Field{}, errors.New("a keyword of its schema has a value of the wrong type")
	}
	if len(f.Pattern) > 1<<10 {
		return Field{}, errors.New("its pattern is too long")
	}
	f.Name, f.Kind, f.Required, f.Choices, f.Default = name, "", false, nil, nil
	f.Title, f.Description = ident.Clip(f.Title, 1<<10), ident.Clip(f.Description, 4<<10)
	if err := f.setKind(kind, words); err != nil {
		return Field{}, err
	}
	if d := words["default"]; d != nil && f.Check(d) == nil { // a default that does not fit is ignored
		f.Default = d
	}
	return f, nil
}

// setKind sets the kind of the field, and its choices.
func (f *Field) setKind(kind string, words map[string]json.RawMessage) (err error) {
	choices, alternatives := words["enum"], words["oneOf"]
	if kind != "array" && (words["items"] != nil || words["anyOf"] != nil) || kind != "string" && (choices != nil || alternatives != nil) {
		return errors.New("its schema is not of a primitive type")
	}
	switch kind {
	case "string":
		f.Kind = FieldText
		if choices != nil || alternatives != nil {
			f.Kind = FieldChoice
			f.Choices, err = readChoices(choices, words["enumNames"], alternatives)
		}
	case "number":
		f.Kind = FieldNumber
	case "integer":
		f.Kind = FieldInteger
	case "boolean":
		f.Kind = FieldBoolean
	case "array":
		f.Kind = FieldChoices
		items, err := flat(words["items"])
		if err != nil || words["anyOf"] != nil || items["properties"] != nil || items["items"] != nil {
			return errors.New("it is a list, but not of choices")
		}
		alternatives := items["anyOf"]
		if alternatives == nil {
			alternatives = items["oneOf"]
		}
		f.Choices, err = readChoices(items["enum"], nil, alternatives)
		return err
	default:
		return fmt.Errorf("its type %q is not a primitive type", ident.Printable(kind, 100))
	}
	return err
}

// readChoices reads the choices of a field: texts, with optional titles, or pairs of const and title.
func readChoices(values, names, pairs json.RawMessage) ([]Choice, error) {
	var out []Choice
	switch {
	case values != nil:
		var texts, titles []string
		if json.Unmarshal(values, &texts) != nil {
			return nil, errors.New("its choices are not strings")
		}
		if names != nil && json.Unmarshal(names, &titles) != nil {
			titles = nil
		}
		for i, text := range texts {
			c := Choice{Value: text}
			if len(titles) == len(texts) {
				c.Title = titles[i]
			}
			out = append(out, c)
		}
	case pairs != nil:
		var entries []struct {
			Const *string `json:"const"`
			Title string  `json:"title"`
		}
		if json.Unmarshal(pairs, &entries) != nil {
			return nil, errors.New("its choices are not strings")
		}
		for _, e := range entries {
			if e.Const == nil {
				return nil, errors.New("one of its choices has no value")
			}
			out = append(out, Choice{Value: *e.Const, Title: e.Title})
		}
	}
	if len(out) == 0 || len(out) > maxFormChoices {
		return nil, fmt.Errorf("it has %d choices; there may be 1 to %d", len(out), maxFormChoices)
	}
	return out, nil
}
