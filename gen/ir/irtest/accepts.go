// Package irtest decides which JSON values a type holds, for tests that compare types with schemas. Start with [Accepts].
package irtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ir"
)

// Accepts reports whether a JSON document is a value of s. An object type without Extra accepts undeclared properties, and 1.0
// is an integer. Numbers in the document need exponents within ±1000.
func Accepts(s *ir.Schema, document []byte) (bool, error) {
	dec := json.NewDecoder(bytes.NewReader(document))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return false, fmt.Errorf("read the value: %w", err)
	}
	m := member{schema: s}
	return m.holds(s.Root, v, 0), nil
}

// maxLoop bounds the references that are followed for one value. Only a broken converter creates a type that refers directly to itself;
// such a type holds nothing.
const maxLoop = 1_000

type member struct{ schema *ir.Schema }

// holds reports whether v is a value of t. loop counts the references followed since the last property.
func (m member) holds(t ir.Type, v any, loop int) bool {
	if loop > maxLoop {
		return false
	}
	switch t := t.(type) {
	case ir.Unknown:
		return true
	case ir.Ref:
		return m.holds(m.schema.Resolve(t), v, loop+1)
	case ir.Union:
		for _, part := range t.Members {
			if m.holds(part, v, loop+1) {
				return true
			}
		}
		return false
	case ir.Intersection:
		for _, part := range t.Members {
			if !m.holds(part, v, loop+1) {
				return false
			}
		}
		return true
	}
	switch v := v.(type) {
	case nil:
		return t == ir.Type(ir.Null{})
	case bool:
		return t == ir.Type(ir.Bool{}) || t == ir.Type(ir.Literal{Kind: ir.LiteralBool, Bool: v})
	case string:
		return t == ir.Type(ir.String{}) || t == ir.Type(ir.Literal{Text: v})
	case json.Number:
		return number(t, v)
	case []any:
		return m.list(t, v)
	case map[string]any:
		return m.object(t, v)
	}
	return false
}

func number(t ir.Type, v json.Number) bool {
	n, ok := rat(v.String())
	switch t := t.(type) {
	case ir.Number:
		return !t.Integer || (ok && n.IsInt())
	case ir.Literal:
		want, known := rat(t.Text)
		return t.Kind == ir.LiteralNumber && ok && known && n.Cmp(want) == 0
	}
	return false
}

func rat(text string) (*big.Rat, bool) {
	if i := strings.IndexAny(text, "eE"); i >= 0 && len(text)-i > 5 {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

func (m member) list(t ir.Type, v []any) bool {
	var items []ir.Type
	var rest ir.Type
	switch t := t.(type) {
	case ir.Array:
		rest = t.Elem
	case ir.Tuple:
		if len(v) < t.Required {
			return false
		}
		items, rest = t.Items, t.Rest
	default:
		return false
	}
	for i, item := range v {
		want := rest
		if i < len(items) {
			want = items[i]
		}
		if !m.holds(want, item, 0) {
			return false
		}
	}
	return true
}

func (m member) object(t ir.Type, v map[string]any) bool {
	var o ir.Object
	switch t := t.(type) {
	case ir.Map:
		o.Extra = t.Value
	case ir.Object:
		o = t
	default:
		return false
	}
	declared := map[string]bool{}
	for _, f := range o.Fields {
		declared[f.Name] = true
		value, present := v[f.Name]
		if (!present && f.Required) || (present && !m.holds(f.Type, value, 0)) {
			return false
		}
	}
	for name, value := range v {
		if !declared[name] && o.Extra != nil && !m.holds(o.Extra, value, 0) {
			return false
		}
	}
	return true
}
