package schema

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ir"
)

// kinds is a set of JSON kinds, integers apart from numbers.
type kinds uint8

const (
	kNull kinds = 1 << iota
	kBool
	kInteger
	kNumber
	kString
	kArray
	kObject
	kAll = kNull | kBool | kInteger | kNumber | kString | kArray | kObject
)

// Keywords that say something about one kind of value. Those of scalars say what types cannot: their documentation
// does.
var (
	objectKeywords = []string{"properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties", "maxProperties"}
	arrayKeywords  = []string{"items", "prefixItems", "contains", "minItems", "maxItems", "uniqueItems"}
	stringKeywords = []string{"minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType", "contentSchema"}
	numberKeywords = []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "format"}
)

// typesOf returns the kinds that v's type keyword allows.
func (c *converter) typesOf(v *value, p place) kinds {
	t := v.get("type")
	if t == nil {
		return kAll
	}
	names := []*value{t}
	if t.kind == kindArray {
		names = t.items
	}
	var out kinds
	for _, name := range names {
		k, ok := kindNamed(name)
		if !ok {
			c.note(CodeBadKeyword, p.at("type").pointer, "the type is none of JSON Schema's; any type is accepted")
			c.wide()
			return kAll
		}
		out |= k
	}
	if out == 0 {
		c.ignored("type", "is empty", p)
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

// own converts the keywords of v that do not apply other schemas to the same value.
func (c *converter) own(v *value, p place) ir.Type {
	t := c.byKind(v, p, c.typesOf(v, p))
	if constant := c.keyword(v, p, "const", draft06); constant != nil {
		t = c.alg.Meet(c.literal(constant, 0), t)
	}
	if enum := v.get("enum"); enum != nil {
		if enum.kind != kindArray || len(enum.items) == 0 {
			c.ignored("enum", "is empty or not a list", p)
			return t
		}
		if len(enum.items) > maxEnum {
			c.note(CodeLongEnum, p.at("enum").pointer, "the enum is too long to be listed; the type of its members is used instead")
			c.wide()
			return c.alg.Meet(membersOf(enum.items), t)
		}
		types := make([]ir.Type, len(enum.items))
		for i, item := range enum.items {
			types[i] = c.literal(item, 0)
		}
		t = c.alg.Meet(ir.NewUnion(types...), t)
	}
	return t
}

// membersOf returns the kinds of values.
func membersOf(values []*value) ir.Type {
	var types []ir.Type
	seen := [kindObject + 1]bool{}
	for _, v := range values {
		if !seen[v.kind] {
			seen[v.kind] = true
			types = append(types, kindType(v.kind))
		}
	}
	return ir.NewUnion(types...)
}

func kindType(k kind) ir.Type {
	switch k {
	case kindNull:
		return ir.Null{}
	case kindBool:
		return ir.Bool{}
	case kindNumber:
		return ir.Number{}
	case kindString:
		return ir.String{}
	case kindArray:
		return ir.Array{Elem: ir.Unknown{}}
	}
	return ir.Map{Value: ir.Unknown{}}
}

// byKind joins what v says of each kind of value. What is silent about a kind accepts all of it.
func (c *converter) byKind(v *value, p place, allowed kinds) ir.Type {
	if allowed == kAll && !hasAny(v, objectKeywords) && !hasAny(v, arrayKeywords) {
		if hasAny(v, stringKeywords) || hasAny(v, numberKeywords) {
			c.wide()
		}
		return ir.Unknown{}
	}
	var types []ir.Type
	add := func(k kinds, keywords []string, t func() ir.Type) {
		if allowed&k != 0 {
			if hasAny(v, keywords) {
				c.wide()
			}
			types = append(types, t())
		}
	}
	add(kObject, nil, func() ir.Type { return c.object(v, p) })
	add(kArray, nil, func() ir.Type { return c.array(v, p) })
	add(kString, stringKeywords, func() ir.Type { return ir.String{} })
	add(kInteger|kNumber, numberKeywords, func() ir.Type { return ir.Number{Integer: allowed&kNumber == 0} })
	add(kBool, nil, func() ir.Type { return ir.Bool{} })
	add(kNull, nil, func() ir.Type { return ir.Null{} })
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

// literal returns the type of exactly v, or a wider one where a type cannot be that narrow.
func (c *converter) literal(v *value, depth int) ir.Type {
	if c.steps++; c.steps > maxSteps || depth > maxNesting {
		c.wide()
		return kindType(v.kind)
	}
	switch v.kind {
	case kindNull:
		return ir.Null{}
	case kindBool:
		return ir.Literal{Kind: ir.LiteralBool, Bool: v.bool}
	case kindString:
		if v.lossy {
			c.wide()
			return ir.String{}
		}
		return ir.Literal{Kind: ir.LiteralString, Text: v.text}
	case kindNumber:
		if !exactInBoth(v.text) {
			c.wide()
			return ir.Number{}
		}
		return ir.Literal{Kind: ir.LiteralNumber, Text: v.text}
	case kindArray:
		items := make([]ir.Type, len(v.items))
		for i, item := range v.items {
			items[i] = c.literal(item, depth+1)
		}
		if len(items) > maxTuple {
			c.wide()
			return ir.Array{Elem: ir.NewUnion(items...)}
		}
		return ir.NewList(items, len(items), ir.Never{})
	}
	out := ir.Object{Extra: ir.Never{}}
	for _, m := range v.members {
		if m.lossy {
			c.wide()
			return ir.Map{Value: ir.Unknown{}}
		}
		out.Fields = append(out.Fields, ir.Field{Name: m.key, Type: c.literal(m.value, depth+1), Required: true})
	}
	return out
}

// exactInBoth reports whether a number is the same one in every language: a double-precision number holds it.
func exactInBoth(digits string) bool {
	if len(digits) > 40 {
		return false
	}
	if i := strings.IndexAny(digits, "eE"); i >= 0 {
		if e, err := strconv.Atoi(digits[i+1:]); err != nil || e > 40 || e < -40 {
			return false // also: what follows takes work in the size of the exponent
		}
	}
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return false
	}
	if f > 1e15 || f < -1e15 || (f < 1e-15 && f > -1e-15 && strings.Trim(digits, "0.-eE+") != "") {
		return false
	}
	// Decimal fractions are rounded alike by every language; only integers must be exact.
	exact, ok := new(big.Rat).SetString(digits)
	return ok && (!exact.IsInt() || new(big.Rat).SetFloat64(f).Cmp(exact) == 0)
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
