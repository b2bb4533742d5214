package elicit

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/jsonschema"
)

const (
	maxForm        = 64 << 10 // of its schema, in bytes
	maxFormFields  = 100
	maxFormChoices = 1000
)

// FieldKind is the kind of value that a field of a form holds.
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

// readForm reads the schema of a form. The error says why it is not a flat object of primitive properties.
func readForm(raw json.RawMessage) ([]Field, error) {
	if len(raw) > maxForm {
		return nil, fmt.Errorf("its schema is larger than %d KiB", maxForm>>10)
	}
	root, _ := jsonschema.Parse(raw, jsonschema.Unlimited) // nil if it cannot be read
	if err := flat(root); err != nil {
		return nil, err
	}
	for _, word := range []string{"anyOf", "oneOf", "items"} {
		if root.Has(word) {
			return nil, fmt.Errorf("its schema has %q, which a form cannot have", word)
		}
	}
	if root.Has("type") && root.Str("type") != "object" {
		return nil, errors.New("its schema is not of type object")
	}
	list, required := root.Get("required"), jsonschema.RequiredNames(root)
	if list != nil && list.Kind != jsonschema.KindNull && (list.Kind != jsonschema.KindArray || len(list.Items) != len(required)) {
		return nil, errors.New(`"required" in its schema is not a list of names`)
	}
	properties := root.Get("properties")
	if properties != nil && properties.Kind != jsonschema.KindObject {
		return nil, errors.New(`"properties" in its schema is not an object`)
	}
	fields, err := readFields(properties, required)
	if err != nil {
		return nil, err
	}
	for _, name := range required {
		if !properties.Has(name) {
			return nil, fmt.Errorf("it requires %q, which is not one of its properties", ident.Printable(name, 100))
		}
	}
	return fields, nil
}

// flat returns an error if a schema is not an object, or if it refers or combines.
func flat(schema *jsonschema.Value) error {
	if schema == nil || schema.Kind != jsonschema.KindObject {
		return errors.New("its schema is not an object")
	}
	for _, m := range schema.Members {
		switch m.Key {
		case "properties", "items", "anyOf", "oneOf": // whether they may be here depends on the place
		case "additionalItems", "contentSchema": // without effect on what a form can have
		case "additionalProperties":
			if m.Value.Kind != jsonschema.KindBool {
				return errors.New(`its schema has "additionalProperties" with a schema, which a form cannot have`)
			}
		default:
			if jsonschema.Subschemas(m) != jsonschema.NoSchemas || jsonschema.IsReference(m.Key) || m.Key == "dependentRequired" {
				return fmt.Errorf("its schema has %q, which a form cannot have", m.Key)
			}
		}
	}
	return nil
}

func readFields(properties *jsonschema.Value, required []string) ([]Field, error) {
	if properties == nil {
		return nil, nil
	}
	if len(properties.Members) > maxFormFields {
		return nil, fmt.Errorf("it has more than %d fields", maxFormFields)
	}
	var fields []Field
	for _, m := range properties.Members {
		f, err := readField(m.Value)
		if err != nil {
			return nil, fmt.Errorf("field %q: %w", ident.Printable(m.Key, 100), err)
		}
		if m.Repeated {
			return nil, fmt.Errorf("it has two fields %q", ident.Printable(m.Key, 100))
		}
		f.Name, f.Required = m.Key, slices.Contains(required, m.Key)
		fields = append(fields, f)
	}
	return fields, nil
}

func readField(schema *jsonschema.Value) (Field, error) {
	if err := flat(schema); err != nil {
		return Field{}, err
	}
	if schema.Has("properties") {
		return Field{}, errors.New("it is nested, and a form cannot be")
	}
	var read struct {
		Field // most members have the names of keywords; the others are set below
		Type  string
	}
	if json.Unmarshal(schema.AppendJSON(nil), &read) != nil {
		return Field{}, errors.New("a keyword of its schema has a value of the wrong type")
	}
	f := read.Field
	if len(f.Pattern) > 1<<10 {
		return Field{}, errors.New("its pattern is too long")
	}
	f.Kind, f.Choices, f.Default = "", nil, nil
	f.Title, f.Description = ident.Clip(f.Title, 1<<10), ident.Clip(f.Description, 4<<10)
	if err := f.setKind(read.Type, schema); err != nil {
		return Field{}, err
	}
	if d := schema.Get("default"); d != nil {
		if raw := d.AppendJSON(nil); f.Check(raw) == nil { // a default that does not fit is ignored
			f.Default = raw
		}
	}
	return f, nil
}

// setKind sets the kind of the field, and its choices.
func (f *Field) setKind(kind string, schema *jsonschema.Value) (err error) {
	chooses := schema.Has("enum", "oneOf")
	if kind != "array" && schema.Has("items", "anyOf") || kind != "string" && chooses {
		return errors.New("its schema is not of a primitive type")
	}
	switch kind {
	case "string":
		f.Kind = FieldText
		if chooses {
			f.Kind = FieldChoice
			f.Choices, err = readChoices(schema)
		}
	case "number", "integer", "boolean":
		f.Kind = FieldKind(kind)
	case "array":
		f.Kind = FieldChoices
		items := schema.Get("items")
		if flat(items) != nil || schema.Has("anyOf") || items.Has("properties", "items") {
			return errors.New("it is a list, but not of choices")
		}
		f.Choices, err = readChoices(items)
	default:
		return fmt.Errorf("its type %q is not a primitive type", ident.Printable(kind, 100))
	}
	return err
}

// readChoices reads the choices of a schema: texts with optional titles, or pairs of const and title.
func readChoices(schema *jsonschema.Value) ([]Choice, error) {
	list := cmp.Or(schema.Get("enum"), schema.Get("anyOf"), schema.Get("oneOf"))
	if list != nil && list.Kind != jsonschema.KindArray {
		return nil, errors.New("its choices are not strings")
	}
	values, titles := list.Elements(), schema.Get("enumNames").Elements()
	if !schema.Has("enum") {
		values, titles = nil, nil
		for _, pair := range list.Elements() {
			if !pair.Has("const") {
				return nil, errors.New("one of its choices has no value")
			}
			values, titles = append(values, pair.Get("const")), append(titles, jsonschema.Text(pair.Str("title")))
		}
	}
	var out []Choice
	for i, value := range values {
		if value.Kind != jsonschema.KindString {
			return nil, errors.New("its choices are not strings")
		}
		c := Choice{Value: value.Text}
		if len(titles) == len(values) && titles[i].Kind == jsonschema.KindString {
			c.Title = titles[i].Text
		}
		out = append(out, c)
	}
	if len(out) == 0 || len(out) > maxFormChoices {
		return nil, fmt.Errorf("it has %d choices; there may be 1 to %d", len(out), maxFormChoices)
	}
	return out, nil
}
