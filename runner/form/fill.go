package form

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/jsonschema"
	"github.com/mcpgen/mcpgen/gen/schema/validate"
	"github.com/mcpgen/mcpgen/runner/internal/expr"
)

// Filling is a form with values. Its methods change it, so use it in one goroutine.
type Filling struct {
	form    *Form
	restore func(json.RawMessage) (json.RawMessage, error) // see [Form.Fill]

	values   map[string]json.RawMessage
	from     map[string]string // where each value comes from, or was looked for
	mistaken map[string]string // expressions that failed, by field

	// Problems are all values that do not fit, in the order of the fields, and Missing the required ones without a value, such as
	// "address.city".
	Problems []Problem
	Missing  []string
}

// Problem is a value that does not fit.
type Problem struct {
	Field   string `json:"field"` // its name; empty: the form as a whole
	Message string `json:"message"`
}

// Row is a line of a preview.
type Row struct {
	Field *Field
	Value json.RawMessage // nil: no value
	From  string
	// Problem says what is wrong with the value, without the name of the field; empty: nothing.
	Problem string
}

// Fill fills the form in with data, a JSON object, by the form's mapping. Texts are trimmed, and become numbers or booleans where the schema
// wants these; an empty text and null count as no value. The values may have tokens for personal data: restore returns what they stand for, and
// only the check uses that. It may be nil. The error is about the data as a whole.
func (f *Form) Fill(data json.RawMessage, restore func(json.RawMessage) (json.RawMessage, error)) (*Filling, error) {
	x := f.empty(restore)
	object, err := readObject(data)
	if err != nil {
		return nil, err
	}
	decoded := map[string]any{"data": nil}
	if decoded["data"], err = expr.Decode(object.AppendJSON(nil)); err != nil {
		return nil, fmt.Errorf("the data cannot be read: %w", err)
	}
	for i := range f.Fields {
		x.find(&f.Fields[i], object, decoded)
	}
	return x, x.validate()
}

func (f *Form) empty(restore func(json.RawMessage) (json.RawMessage, error)) *Filling {
	if restore == nil {
		restore = func(raw json.RawMessage) (json.RawMessage, error) { return raw, nil }
	}
	return &Filling{form: f, restore: restore, values: map[string]json.RawMessage{}, from: map[string]string{}, mistaken: map[string]string{}}
}

func readObject(data json.RawMessage) (*jsonschema.Value, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		data = json.RawMessage("{}")
	}
	v, err := jsonschema.Parse(data, jsonschema.Limits{Bytes: maxData, Depth: 100, Nodes: 1_000_000})
	if err != nil {
		return nil, fmt.Errorf("the data: it %w", err)
	}
	if v.Kind != jsonschema.KindObject {
		return nil, errors.New("the data is not one JSON object")
	}
	for _, m := range v.Members {
		if m.Repeated {
			return nil, fmt.Errorf("the data has %.100q twice", m.Key)
		}
	}
	return v, nil
}

// Set sets fields, as [Form.Fill] does without a mapping. Members that are no fields are left out. from says where the values come from; empty:
// nothing is noted.
func (x *Filling) Set(values json.RawMessage, from string) error {
	object, err := readObject(values)
	if err != nil {
		return err
	}
	for i := range x.form.Fields {
		f := &x.form.Fields[i]
		if v := object.Get(f.Name); v != nil && x.put(f, v) && from != "" {
			x.from[f.Name] = from
		}
	}
	return x.validate()
}

// Replace is [Filling.Set] for all fields: those that the object lacks have no value any more. Values that stay keep where they come from.
func (x *Filling) Replace(values json.RawMessage, from string) error {
	before, was := x.values, x.from
	x.values, x.from, x.mistaken = map[string]json.RawMessage{}, map[string]string{}, map[string]string{}
	if err := x.Set(values, from); err != nil {
		x.values, x.from = before, was
		return err
	}
	for name, value := range x.values {
		if bytes.Equal(value, before[name]) {
			x.from[name] = was[name]
		}
	}
	return nil
}

// Unknown returns the members of an object that are no fields.
func (f *Form) Unknown(values json.RawMessage) []string {
	var all map[string]json.RawMessage
	_ = json.Unmarshal(values, &all) // Set returns the error
	var out []string
	for name := range all {
		if f.field(name) == nil {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// find looks for the value of a field in the data: where the mapping says, or else under its name, its title, and what is spelled alike.
func (x *Filling) find(f *Field, data *jsonschema.Value, decoded map[string]any) {
	for _, s := range f.from {
		if s.expression == nil {
			if x.put(f, follow(data, s.text)) {
				x.from[f.Name] = s.text
				return
			}
			continue
		}
		raw, err := s.expression.Eval(decoded)
		if errors.Is(err, expr.ErrNoValue) {
			continue
		}
		if err != nil {
			x.mistaken[f.Name] = fmt.Sprintf("%s: %v", s.text, err)
			continue
		}
		if v, err := jsonschema.Parse(raw, jsonschema.Limits{Bytes: maxData}); err == nil && x.put(f, v) {
			x.from[f.Name] = s.text
			delete(x.mistaken, f.Name)
			return
		}
	}
	if !f.mapped {
		for _, name := range []string{f.Name, f.Title, alike(data, f)} {
			if name != "" && x.put(f, data.Get(name)) {
				x.from[f.Name] = name
				return
			}
		}
	}
	if f.value != nil {
		x.values[f.Name], x.from[f.Name] = f.value, "default"
	}
}

// put sets a field to a converted value, and reports whether there is one.
func (x *Filling) put(f *Field, v *jsonschema.Value) bool {
	if v == nil {
		return false
	}
	v = converted(f.schema, v)
	if v.Kind == jsonschema.KindNull || v.Kind == jsonschema.KindString && v.Text == "" {
		return false
	}
	x.values[f.Name] = v.AppendJSON(nil)
	delete(x.mistaken, f.Name)
	return true
}

// follow returns the value at a path: a member of that name, or else names and indexes with dots between.
func follow(data *jsonschema.Value, path string) *jsonschema.Value {
	if v := data.Get(path); v != nil {
		return v
	}
	at := data
	for name := range strings.SplitSeq(path, ".") {
		if at = at.Child(name); at == nil {
			return nil
		}
	}
	return at
}

// alike returns the only member whose name differs from a field's name or title in case, blanks, _ and - only, or "".
func alike(data *jsonschema.Value, f *Field) string {
	plain := func(name string) string { return validate.PlainSpelling(strings.ReplaceAll(name, " ", "")) }
	found := ""
	for _, m := range data.Members {
		if name := plain(m.Key); name == plain(f.Name) || f.Title != "" && name == plain(f.Title) {
			if found != "" {
				return ""
			}
			found = m.Key
		}
	}
	return found
}

// converted returns a value as the schema wants it, where that loses nothing: texts trimmed, or as the number or boolean that they are; numbers
// as texts.
func converted(schema, v *jsonschema.Value) *jsonschema.Value {
	switch v.Kind {
	case jsonschema.KindString:
		text := strings.TrimSpace(v.Text)
		if lower := strings.ToLower(text); lower == "true" || lower == "false" { // spreadsheets write TRUE
			if raw := validate.ValueOf(schema, lower); raw[0] != '"' {
				text = lower
			}
		}
		if out, err := jsonschema.Parse(validate.ValueOf(schema, text), jsonschema.Limits{Bytes: maxData}); err == nil {
			return out
		}
		return jsonschema.Text(text)
	case jsonschema.KindNumber:
		if types, named := jsonschema.TypesOf(schema); named && types == jsonschema.String {
			return jsonschema.Text(string(v.AppendJSON(nil)))
		}
	case jsonschema.KindObject:
		out := &jsonschema.Value{Kind: v.Kind}
		for _, m := range v.Members {
			out.Set(m.Key, converted(schema.Get("properties").Get(m.Key), m.Value))
		}
		return out
	case jsonschema.KindArray:
		items := make([]*jsonschema.Value, len(v.Items))
		for i, item := range v.Items {
			items[i] = converted(schema.Get("items"), item)
		}
		return jsonschema.List(items...)
	}
	return v
}

// Values returns the values of the fields, in their order.
func (x *Filling) Values() json.RawMessage {
	out := []byte{'{'}
	for i := range x.form.Fields {
		if name := x.form.Fields[i].Name; x.values[name] != nil {
			out = appendMember(out, name, x.values[name])
		}
	}
	return append(out, '}')
}

// From returns where the values come from, by field.
func (x *Filling) From() map[string]string { return x.from }

// Complete reports whether the form can be submitted.
func (x *Filling) Complete() bool { return len(x.Problems) == 0 && len(x.Missing) == 0 }

// validate sets Problems and Missing. The error says that the values cannot be checked.
func (x *Filling) validate() error {
	x.Problems, x.Missing = nil, nil
	values, err := x.restore(x.Values())
	if err != nil {
		return err
	}
	err = x.form.validator.ValidateAs("the form", values)
	bad, ok := errors.AsType[*validate.ValidationError](err)
	if err != nil && !ok {
		return err
	}
	if ok {
		for _, p := range bad.Problems {
			for _, name := range p.Missing {
				x.Missing = append(x.Missing, strings.Join(append(slices.Clone(p.Keys), name), "."))
			}
			if p.Missing == nil {
				x.Problems = append(x.Problems, Problem{first(p.Keys), ident.Clip(p.Message, 500)})
			}
		}
	}
	for name, message := range x.mistaken {
		x.Problems = append(x.Problems, Problem{name, ident.Clip(message, 500)})
	}
	order := x.form.names()
	slices.SortStableFunc(x.Problems, func(a, b Problem) int { return slices.Index(order, a.Field) - slices.Index(order, b.Field) })
	slices.SortStableFunc(x.Missing, func(a, b string) int { return slices.Index(order, root(a)) - slices.Index(order, root(b)) })
	return nil
}

func first(keys []string) string {
	if len(keys) == 0 {
		return ""
	}
	return keys[0]
}

// root returns the field of a missing value.
func root(missing string) string { name, _, _ := strings.Cut(missing, "."); return name }

// problemsOf returns what is wrong with the value of a field alone.
func (f *Form) problemsOf(name string, value json.RawMessage) []Problem {
	err := f.validator.ValidateAs("the form", appendMember([]byte{'{'}, name, append(slices.Clone(value), '}')))
	bad, ok := errors.AsType[*validate.ValidationError](err)
	if err != nil && !ok {
		return []Problem{{name, err.Error()}}
	}
	var out []Problem
	if ok {
		for _, p := range bad.Problems {
			if first(p.Keys) == name {
				out = append(out, Problem{name, p.Message})
			}
		}
	}
	return out
}

// Rows returns the preview: a row for each field.
func (x *Filling) Rows() []Row {
	rows := make([]Row, len(x.form.Fields))
	for i := range rows {
		f := &x.form.Fields[i]
		var wrong []string
		for _, p := range x.Problems {
			if p.Field == f.Name {
				wrong = append(wrong, strings.TrimPrefix(p.Message, f.Name+": "))
			}
		}
		for _, name := range x.Missing {
			if root(name) == f.Name {
				wrong = append(wrong, name+" is missing")
			}
		}
		rows[i] = Row{Field: f, Value: x.values[f.Name], From: x.from[f.Name], Problem: strings.Join(wrong, "; ")}
	}
	return rows
}
