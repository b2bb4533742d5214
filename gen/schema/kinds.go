package schema

import (
	"math/big"
	"strconv"

	"github.com/mcpgen/mcpgen/gen/ir"
)

// typesOf returns the kinds that v's type keyword allows, or what is known already where it has none.
func (c *converter) typesOf(v *value, p place) kinds {
	t := v.get("type")
	if t == nil {
		return p.kinds
	}
	names := []*value{t}
	if t.kind == kindArray {
		names = t.items
	}
	var out kinds
	for _, name := range names {
		k, ok := kindNamed(name)
		if !ok {
			c.note(p.at("type").pointer, "the type is none of JSON Schema's; any type is accepted")
			return kAll
		}
		out |= k
	}
	if out == 0 {
		return kAll
	}
	return out
}

func kindNamed(v *value) (kinds, bool) {
	if v.kind != kindString {
		return 0, false
	}
	switch v.text {
	case "null":
		return kNull, true
	case "boolean":
		return kBool, true
	case "integer":
		return kInteger, true
	case "number":
		return kNumber | kInteger, true
	case "string":
		return kString, true
	case "array":
		return kArray, true
	case "object":
		return kObject, true
	}
	return 0, false
}

// own converts the keywords of v that do not refer to other schemas of the same value.
func (c *converter) own(v *value, p place) ir.Type {
	if constant := v.get("const"); constant != nil {
		return c.literal(constant)
	}
	if enum := v.get("enum"); enum != nil {
		if enum.kind == kindArray && len(enum.items) > 0 && len(enum.items) <= maxEnum {
			return ir.NewUnion(eachValue(enum.items, c.literal)...)
		}
		c.note(p.at("enum").pointer, "the enum is empty, too long or not a list; its type is used instead")
	}
	if p.kinds == kAll && !hasAny(v, objectKeywords) && !hasAny(v, arrayKeywords) {
		return ir.Unknown{}
	}
	var types []ir.Type
	add := func(k kinds, t func() ir.Type) {
		if p.kinds&k != 0 {
			types = append(types, t())
		}
	}
	add(kObject, func() ir.Type { return c.object(v, p) })
	add(kArray, func() ir.Type { return c.array(v, p) })
	add(kString, func() ir.Type { return ir.String{} })
	add(kInteger|kNumber, func() ir.Type { return ir.Number{Integer: p.kinds&kNumber == 0} })
	add(kBool, func() ir.Type { return ir.Bool{} })
	add(kNull, func() ir.Type { return ir.Null{} })
	return ir.NewUnion(types...)
}

func hasAny(v *value, keywords []string) bool {
	for _, k := range keywords {
		if v.get(k) != nil {
			return true
		}
	}
	return false
}

// literal returns the type of exactly v, or of its kind where a type cannot be that narrow.
func (c *converter) literal(v *value) ir.Type {
	switch v.kind {
	case kindNull:
		return ir.Null{}
	case kindBool:
		return ir.Literal{Kind: ir.LiteralBool, Bool: v.bool}
	case kindString:
		if v.lossy {
			return ir.String{}
		}
		return ir.Literal{Kind: ir.LiteralString, Text: v.text}
	case kindNumber:
		if !exactInBoth(v.text) {
			return ir.Number{}
		}
		return ir.Literal{Kind: ir.LiteralNumber, Text: v.text}
	case kindArray:
		return ir.Array{Elem: ir.Unknown{}}
	}
	return ir.Map{Value: ir.Unknown{}}
}

// exactInBoth reports whether a number is the same one in every language: a double-precision number holds it.
func exactInBoth(digits string) bool {
	if len(digits) > 40 {
		return false
	}
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return false
	}
	if f > 1e15 || f < -1e15 || (f != 0 && f < 1e-15 && f > -1e-15) {
		return false
	}
	// Decimal fractions are rounded alike by every language; only integers must be exact.
	exact, ok := new(big.Rat).SetString(digits)
	return ok && (!exact.IsInt() || new(big.Rat).SetFloat64(f).Cmp(exact) == 0)
}

func eachValue(values []*value, f func(*value) ir.Type) []ir.Type {
	out := make([]ir.Type, len(values))
	for i, v := range values {
		out[i] = f(v)
	}
	return out
}

// count returns the non-negative integer at key.
func count(v *value, key string) (int, bool) {
	n := v.get(key)
	if n == nil || n.kind != kindNumber || len(n.text) > 20 {
		return 0, false
	}
	f, err := strconv.ParseFloat(n.text, 64)
	if err != nil || f < 0 || f > 1e9 || f != float64(int(f)) {
		return 0, false
	}
	return int(f), true
}

func itoa(i int) string { return strconv.Itoa(i) }
