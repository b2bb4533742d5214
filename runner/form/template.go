package form

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpgen/mcpgen/runner/internal/expr"
)

// template makes arguments of fields. One of its parts is set.
type template struct {
	line       int
	constant   json.RawMessage
	expression *expr.Expression
	text       string // of the expression, as in the file
	members    []member
	items      []*template
}

type member struct {
	name  string
	line  int
	value *template
}

// Arguments returns the arguments of the tool for the values of fields, an object. An expression that reads a field without a value leaves its
// argument out.
func (f *Form) Arguments(values json.RawMessage) (json.RawMessage, error) {
	if f.arguments == nil {
		return values, nil
	}
	fields, err := expr.Decode(values)
	if err != nil {
		return nil, err
	}
	return f.arguments.fill(map[string]any{"fields": fields})
}

func (t *template) fill(variables map[string]any) (json.RawMessage, error) {
	switch {
	case t.expression != nil:
		raw, err := t.expression.Eval(variables)
		if err != nil && !errors.Is(err, expr.ErrNoValue) {
			err = fmt.Errorf("line %d: %s: %w", t.line, t.text, err)
		}
		return raw, err
	case t.members != nil:
		out := []byte{'{'}
		for _, m := range t.members {
			value, err := m.value.fill(variables)
			if errors.Is(err, expr.ErrNoValue) {
				continue
			}
			if err != nil {
				return nil, err
			}
			out = appendMember(out, m.name, value)
		}
		return append(out, '}'), nil
	case t.items != nil:
		out := []byte{'['}
		for _, item := range t.items {
			value, err := item.fill(variables)
			if errors.Is(err, expr.ErrNoValue) {
				continue
			}
			if err != nil {
				return nil, err
			}
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(out, value...)
		}
		return append(out, ']'), nil
	}
	return t.constant, nil
}

// appendMember appends a member to an object that has begun.
func appendMember(object []byte, name string, value json.RawMessage) []byte {
	if len(object) > 1 {
		object = append(object, ',')
	}
	key, _ := json.Marshal(name) // a string can always be marshalled
	return append(append(append(object, key...), ':'), value...)
}
