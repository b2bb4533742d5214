package schema

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/jsonschema"
)

// The keywords for one kind of value. Types cannot express the keywords of scalars, which go into the documentation.
var (
	objectKeywords = []string{"properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties", "maxProperties"}
	arrayKeywords  = []string{"items", "prefixItems", "contains", "minItems", "maxItems", "uniqueItems"}
	stringKeywords = []string{"minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType", "contentSchema"}
	numberKeywords = []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "format"}
)

// typesOf returns the types that v's type keyword allows.
func (c *converter) typesOf(v *jsonschema.Value, p place) jsonschema.Types {
	types, ok := jsonschema.TypesOf(v)
	switch {
	case ok || !v.Has("type"):
		return types
	case len(v.Get("type").Items) == 0 && v.Get("type").Kind == jsonschema.KindArray:
		c.ignored("type", "is empty", p)
	default:
		c.note(CodeBadKeyword, p.at("type").pointer, "the type is not one of JSON Schema; any type is accepted")
		c.wide()
	}
	return jsonschema.Any
}

// own converts the keywords of v that do not apply other schemas to the same value.
func (c *converter) own(v *jsonschema.Value, p place) ir.Type {
	t := c.byKind(v, p, c.typesOf(v, p))
	if constant := c.keyword(v, p, "const", jsonschema.Draft06); constant != nil {
		t = c.alg.Meet(c.literal(constant, 0), t)
	}
	if enum := v.Get("enum"); enum != nil {
		if enum.Kind != jsonschema.KindArray || len(enum.Items) == 0 {
			c.ignored("enum", "is empty or not a list", p)
			return t
		}
		if len(enum.Items) > maxEnum {
			c.note(CodeLongEnum, p.at("enum").pointer, "the enum is too long to be listed; the type of its members is used instead")
			c.wide()
			return c.alg.Meet(membersOf(enum.Items), t)
		}
		types := make([]ir.Type, len(enum.Items))
		for i, item := range enum.Items {
			types[i] = c.literal(item, 0)
		}
		t = c.alg.Meet(ir.NewUnion(types...), t)
	}
	return t
}

// membersOf returns the union of the kinds of values.
func membersOf(values []*jsonschema.Value) ir.Type {
	var types []ir.Type
	seen := [jsonschema.KindObject + 1]bool{}
	for _, v := range values {
		if !seen[v.Kind] {
			seen[v.Kind] = true
			types = append(types, kindType(v.Kind))
		}
	}
	return ir.NewUnion(types...)
}

func kindType(k jsonschema.Kind) ir.Type {
	switch k {
	case jsonschema.KindNull:
		return ir.Null{}
	case jsonschema.KindBool:
		return ir.Bool{}
	case jsonschema.KindNumber:
		return ir.Number{}
	case jsonschema.KindString:
		return ir.String{}
	case jsonschema.KindArray:
		return ir.Array{Elem: ir.Unknown{}}
	}
	return ir.Map{Value: ir.Unknown{}}
}

// byKind returns the union of the types that v has for each kind of value.
func (c *converter) byKind(v *jsonschema.Value, p place, allowed jsonschema.Types) ir.Type {
	if allowed == jsonschema.Any && !v.Has(objectKeywords...) && !v.Has(arrayKeywords...) {
		if v.Has(stringKeywords...) || v.Has(numberKeywords...) {
			c.wide()
		}
		return ir.Unknown{}
	}
	var types []ir.Type
	add := func(k jsonschema.Types, keywords []string, t func() ir.Type) {
		if allowed&k != 0 {
			if v.Has(keywords...) {
				c.wide()
			}
			types = append(types, t())
		}
	}
	add(jsonschema.Object, nil, func() ir.Type { return c.object(v, p) })
	add(jsonschema.Array, nil, func() ir.Type { return c.array(v, p) })
	add(jsonschema.String, stringKeywords, func() ir.Type { return ir.String{} })
	add(jsonschema.Number, numberKeywords, func() ir.Type { return ir.Number{Integer: allowed&jsonschema.Fraction == 0} })
	add(jsonschema.Boolean, nil, func() ir.Type { return ir.Bool{} })
	add(jsonschema.Null, nil, func() ir.Type { return ir.Null{} })
	return ir.NewUnion(types...)
}

// literal returns the type of the value v, or a wider one if no type is that narrow.
func (c *converter) literal(v *jsonschema.Value, depth int) ir.Type {
	if c.steps++; c.steps > maxSteps || depth > maxNesting {
		c.wide()
		return kindType(v.Kind)
	}
	switch v.Kind {
	case jsonschema.KindNull:
		return ir.Null{}
	case jsonschema.KindBool:
		return ir.Literal{Kind: ir.LiteralBool, Bool: v.Bool}
	case jsonschema.KindString:
		if v.Lossy {
			c.wide()
			return ir.String{}
		}
		return ir.Literal{Kind: ir.LiteralString, Text: v.Text}
	case jsonschema.KindNumber:
		if !exactInBoth(v.Text) {
			c.wide()
			return ir.Number{}
		}
		return ir.Literal{Kind: ir.LiteralNumber, Text: v.Text}
	case jsonschema.KindArray:
		items := make([]ir.Type, len(v.Items))
		for i, item := range v.Items {
			items[i] = c.literal(item, depth+1)
		}
		if len(items) > maxTuple {
			c.wide()
			return ir.Array{Elem: ir.NewUnion(items...)}
		}
		return ir.NewList(items, len(items), ir.Never{})
	}
	out := ir.Object{Extra: ir.Never{}}
	for _, m := range v.Members {
		if m.Lossy {
			c.wide()
			return ir.Map{Value: ir.Unknown{}}
		}
		out.Fields = append(out.Fields, ir.Field{Name: m.Key, Type: c.literal(m.Value, depth+1), Required: true})
	}
	return out
}

// exactInBoth reports whether a number is the same one in every language, because a float64 holds it.
func exactInBoth(digits string) bool {
	if len(digits) > 40 {
		return false
	}
	if i := strings.IndexAny(digits, "eE"); i >= 0 {
		if e, err := strconv.Atoi(digits[i+1:]); err != nil || e > 40 || e < -40 {
			return false // the work below grows with the exponent
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
func count(v *jsonschema.Value, key string) (int, bool) {
	n := v.Get(key)
	if n == nil || n.Kind != jsonschema.KindNumber || len(n.Text) > 20 {
		return 0, false
	}
	f, err := strconv.ParseFloat(n.Text, 64)
	if err != nil || f < 0 || f > 1e9 || f != float64(int(f)) {
		return 0, false
	}
	return int(f), true
}
