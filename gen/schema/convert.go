// Package schema converts the JSON Schemas of upstream servers to the language-neutral types of package ir. Start with
// [Convert]. It keeps the order of keys and the digits of numbers, and treats a schema as hostile: size, depth and work are
// bounded, and no reference is ever fetched.
//
// Convert refuses nothing. What a type cannot express makes it wider, never narrower, and what is not understood becomes
// any value and a [Note].
package schema

import (
	"encoding/json"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/jsonschema"
)

const (
	// maxDepth and maxNodes bound the schemas that are converted. They are larger than those that are checked, because
	// conversion takes time in proportion to their size only.
	maxDepth = 256
	maxNodes = 100_000
	// maxSteps bounds the work of one conversion, which references can multiply.
	maxSteps = 60_000
	// maxNesting bounds how deep schemas are converted inside each other; the rest is any value.
	maxNesting = 64
	// maxOutput bounds how many types are printed for a schema.
	maxOutput = 60_000
	// maxEnum bounds the members of an enum that a type lists.
	maxEnum = 2_000
	// maxTuple bounds the elements of a tuple; a longer one becomes a list.
	maxTuple = 32
	// maxNotes bounds the notes about one schema.
	maxNotes = 50
)

// Convert converts a schema to types. It never fails, and the types accept every value that the schema accepts.
func Convert(raw json.RawMessage) (ir.Schema, []Note) {
	root, err := jsonschema.Parse(raw, jsonschema.Limits{Depth: maxDepth, Nodes: maxNodes})
	if err != nil {
		return ir.Schema{Root: ir.Unknown{}}, []Note{noteOf(err)}
	}
	c := newConverter(root)
	out := ir.Schema{Doc: c.doc(root)}
	home := c.source.Homes[root]
	if home.Res == nil {
		home.Res = c.source.Starts[root]
	}
	if home.Res.Draft == jsonschema.DraftUnknown && root.Kind == jsonschema.KindObject {
		c.note(CodeUnknownDialect, "/$schema", "the dialect is not one of JSON Schema; only the names of properties are used")
		out.Root = c.loose(root)
		return out, c.notes
	}
	if c.source.Older {
		c.note(CodeBadKeyword, "/$schema", "the schema uses keywords of an older dialect, and is read by that one")
		c.wide()
	}
	c.root.place = place{res: home.Res}
	c.root.typ = c.schema(root, c.root.place)
	c.root.state = defDone
	c.finish(&out)
	if never(out.Root) && root.Kind != jsonschema.KindBool {
		c.note(CodeNoValue, "", "no value matches the schema")
	}
	return out, c.notes
}

type converter struct {
	source *jsonschema.Document
	alg    ir.Algebra
	steps  int
	depth  int
	notes  []Note

	root    *definition
	defs    map[defKey]*definition
	byName  map[string]*definition
	scopes  map[string]*scope
	nesting int // of definitions that are converted for each other
	// followed counts the references that were followed for documentation; following those that are being followed.
	followed, following int
}

func newConverter(root *jsonschema.Value) *converter {
	c := &converter{source: jsonschema.NewDocument(root), defs: map[defKey]*definition{}, byName: map[string]*definition{}, scopes: map[string]*scope{}}
	c.root = &definition{target: root, state: defOpen}
	c.defs[defKey{root, nil}] = c.root
	c.byName[""] = c.root
	c.alg = ir.Algebra{Resolve: c.resolve, Within: c.extends, Steps: maxSteps}
	return c
}

// place is the place of a schema in the document, with the dynamic scope in which it was reached.
type place struct {
	pointer string
	res     *jsonschema.Resource
	scope   *scope
}

func (p place) at(tokens ...string) place {
	for _, token := range tokens {
		p.pointer = string(jsontext.Pointer(p.pointer).AppendToken(token))
	}
	return p
}

// keyword returns the value of a keyword that exists since a draft, or nil if the schema is of an older one. Some
// validators apply it there too, so that the type may be wider than what they accept.
func (c *converter) keyword(v *jsonschema.Value, p place, name string, since jsonschema.Draft) *jsonschema.Value {
	if p.res.Draft >= since {
		return v.Get(name)
	}
	if v.Get(name) != nil {
		c.wide()
	}
	return nil
}

// schema converts the schema v.
func (c *converter) schema(v *jsonschema.Value, p place) ir.Type {
	if !c.begin(p) {
		return ir.Unknown{}
	}
	defer func() { c.depth-- }()
	switch {
	case v.Kind == jsonschema.KindBool && v.Bool:
		return ir.Unknown{}
	case v.Kind == jsonschema.KindBool:
		return ir.Never{}
	case v.Kind != jsonschema.KindObject:
		c.note(CodeBadSchema, p.pointer, "a schema is an object or a boolean, and this is "+v.Kind.String()+"; any value is accepted")
		c.wide()
		return ir.Unknown{}
	}
	if res := c.source.Starts[v]; res != nil {
		p.res = res
	}
	if p.res.Draft == jsonschema.DraftUnknown {
		c.note(CodeUnknownDialect, p.pointer, "the dialect is not one of JSON Schema; any value is accepted")
		c.wide()
		return ir.Unknown{}
	}
	p.scope = c.enter(p.scope, p.res)

	var t ir.Type
	if ref := v.Get("$ref"); ref != nil && p.res.Draft < jsonschema.Draft201909 {
		t = c.reference(ref, p.at("$ref")) // the keywords beside it have no effect
	} else {
		t = c.conjunction(v, p)
	}
	if v.Is("nullable", true) || v.Is("x-nullable", true) { // OpenAPI 3.0, Swagger 2
		t = ir.NewUnion(t, ir.Null{})
	}
	return t
}

// begin counts one schema. It reports false if there were too many of them, or too many inside each other.
func (c *converter) begin(p place) bool {
	c.steps++
	switch {
	case c.steps > maxSteps:
		if c.steps == maxSteps+1 {
			c.note(CodeTooManySteps, p.pointer, "the schema takes too much work to expand; any value is accepted from here on")
		}
		c.wide()
		return false
	case c.depth >= maxNesting:
		c.note(CodeTooDeep, p.pointer, "the schema is nested too deep; any value is accepted here")
		c.wide()
		return false
	}
	c.depth++
	return true
}

// exactly converts v and reports whether the type accepts nothing but what v accepts.
func (c *converter) exactly(v *jsonschema.Value, p place) (ir.Type, bool) {
	before := c.alg.Widened
	t := c.schema(v, p)
	return t, c.alg.Widened == before && c.refsExact(t, map[string]bool{})
}

// conjunction meets the types of all keywords of v.
func (c *converter) conjunction(v *jsonschema.Value, p place) ir.Type {
	t := c.own(v, p)
	if ref := v.Get("$ref"); ref != nil {
		t = c.alg.Meet(t, c.reference(ref, p.at("$ref")))
	}
	if ref := c.keyword(v, p, "$dynamicRef", jsonschema.Draft202012); ref != nil {
		t = c.alg.Meet(t, c.reference(ref, p.at("$dynamicRef")))
	}
	if ref := v.Get("$recursiveRef"); ref != nil && p.res.Draft != jsonschema.Draft201909 {
		c.wide()
	} else if ref != nil {
		t = c.alg.Meet(t, c.reference(ref, p.at("$recursiveRef")))
	}
	for i, sub := range c.list(v, "allOf", p) {
		t = c.alg.Meet(t, c.schema(sub, p.at("allOf", strconv.Itoa(i))))
	}
	t = c.anyOf(t, v, p)
	t = c.oneOf(t, v, p)
	t = c.conditional(t, v, p)
	t = c.not(t, v, p)
	t = c.dependent(t, v, p)
	return c.unevaluated(t, v, p)
}

// list returns the schemas in the value of allOf, anyOf or oneOf.
func (c *converter) list(v *jsonschema.Value, keyword string, p place) []*jsonschema.Value {
	l := v.Get(keyword)
	if l == nil {
		return nil
	}
	if l.Kind != jsonschema.KindArray || len(l.Items) == 0 {
		c.ignored(keyword, "is not a list of schemas", p)
		return nil
	}
	return l.Items
}

// ignored makes a note that a keyword is ignored because of why.
func (c *converter) ignored(keyword, why string, p place) {
	c.note(CodeBadKeyword, p.at(keyword).pointer, keyword+" "+why+"; it is ignored")
	c.wide()
}

// loose returns the type of a schema in an unknown dialect: its properties by name.
func (c *converter) loose(root *jsonschema.Value) ir.Type {
	if root.Str("type") != "object" {
		return ir.Unknown{}
	}
	out := ir.Object{}
	if props := root.Get("properties"); props != nil {
		for _, m := range props.Members {
			if !m.Lossy {
				out.Fields = append(out.Fields, ir.Field{Name: m.Key, Type: ir.Unknown{}, Doc: c.doc(m.Value)})
			}
		}
	}
	if len(out.Fields) == 0 {
		return ir.Map{Value: ir.Unknown{}}
	}
	return out
}

func never(t ir.Type) bool {
	_, ok := t.(ir.Never)
	return ok
}
