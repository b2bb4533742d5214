// Package schema reads the JSON Schemas that upstream servers send. [Convert] turns one into the language-neutral types
// of package ir; [Compile] makes a validator of one. Both read the raw bytes, keep the order of keys and the digits of
// numbers, and treat the schema as hostile: its size, depth and cost are bounded, and no reference is ever fetched.
//
// Convert refuses nothing. What it cannot express becomes a wider type, never a narrower one, and what it does not
// understand becomes any value and a [Note].
package schema

import (
	"encoding/json"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ir"
)

const (
	// maxSteps bounds the work of one conversion, which references can multiply.
	maxSteps = 60_000
	// maxNesting is how many schemas may stand inside each other before the rest is any value.
	maxNesting = 64
	// maxOutput is how many types a schema may become, as printed.
	maxOutput = 60_000
	// maxEnum is how many members an enum may have to be listed in a type.
	maxEnum = 2_000
	// maxTuple is how many elements a tuple may have to be more than a list.
	maxTuple = 32
	// maxNotes bounds what a schema full of nonsense can make us say.
	maxNotes = 50
)

// Convert turns a schema into types. It never fails: every value that the schema accepts is a value of the type.
func Convert(raw json.RawMessage) (ir.Schema, []Note) {
	root, err := parse(raw, size{depth: maxConvertDepth, nodes: maxConvertNodes})
	if err != nil {
		return ir.Schema{Root: ir.Unknown{}}, []Note{{Code: codeOf(err), Message: "the schema " + err.Error() + "; any value is accepted"}}
	}
	c := newConverter(root)
	out := ir.Schema{Doc: c.doc(root)}
	home := c.source.homes[root]
	if home.res == nil {
		home.res = c.source.starts[root]
	}
	if home.res.draft == draftUnknown && root.kind == kindObject {
		c.note(CodeUnknownDialect, "/$schema", "the dialect is not one of JSON Schema's; only the names of properties are used")
		out.Root = c.loose(root)
		return out, c.notes
	}
	if c.source.older {
		c.note(CodeBadKeyword, "/$schema", "the schema uses keywords in an older dialect's way; it is read as of that one")
		c.wide()
	}
	c.root.place = place{res: home.res}
	c.root.typ = c.schema(root, c.root.place)
	c.root.state = defDone
	c.finish(&out)
	if never(out.Root) && root.kind != kindBool {
		c.note(CodeNoValue, "", "no value fits the schema")
	}
	return out, c.notes
}

type converter struct {
	source *document
	alg    ir.Algebra
	steps  int
	depth  int
	notes  []Note

	root    *definition
	defs    map[defKey]*definition
	byName  map[string]*definition
	scopes  map[string]*scope
	nesting int // of definitions that are being converted for another
}

func newConverter(root *value) *converter {
	c := &converter{source: newDocument(root), defs: map[defKey]*definition{}, byName: map[string]*definition{}, scopes: map[string]*scope{}}
	c.root = &definition{target: root, state: defOpen}
	c.defs[defKey{root, nil}] = c.root
	c.byName[""] = c.root
	c.alg = ir.Algebra{Resolve: c.resolve, Within: c.extends, Steps: maxSteps}
	return c
}

// place is where in the document a schema stands, and how it was reached.
type place struct {
	pointer string
	res     *resource
	scope   *scope
}

func (p place) at(tokens ...string) place {
	for _, token := range tokens {
		if strings.ContainsAny(token, "~/") {
			token = strings.ReplaceAll(strings.ReplaceAll(token, "~", "~0"), "/", "~1")
		}
		p.pointer += "/" + token
	}
	return p
}

// keyword returns the value of a keyword that exists since a draft, nil where the schema is of an older one. Some
// validators know it there all the same, so the type may be wider than what they check.
func (c *converter) keyword(v *value, p place, name string, since draft) *value {
	if p.res.draft >= since {
		return v.get(name)
	}
	if v.get(name) != nil {
		c.wide()
	}
	return nil
}

// schema converts the schema v.
func (c *converter) schema(v *value, p place) ir.Type {
	if !c.begin(p) {
		return ir.Unknown{}
	}
	defer func() { c.depth-- }()
	switch {
	case v.kind == kindBool && v.bool:
		return ir.Unknown{}
	case v.kind == kindBool:
		return ir.Never{}
	case v.kind != kindObject:
		c.note(CodeBadSchema, p.pointer, "a schema is an object or a boolean, this is "+v.kind.String()+"; any value is accepted")
		c.wide()
		return ir.Unknown{}
	}
	if res := c.source.starts[v]; res != nil {
		p.res = res
	}
	if p.res.draft == draftUnknown {
		c.note(CodeUnknownDialect, p.pointer, "the dialect is not one of JSON Schema's; any value is accepted")
		c.wide()
		return ir.Unknown{}
	}
	p.scope = c.enter(p.scope, p.res)

	var t ir.Type
	if ref := v.get("$ref"); ref != nil && p.res.draft < draft201909 {
		t = c.reference(ref, p.at("$ref")) // its siblings do not count
	} else {
		t = c.conjunction(v, p)
	}
	if v.is("nullable", true) || v.is("x-nullable", true) { // OpenAPI 3.0, Swagger 2
		t = ir.NewUnion(t, ir.Null{})
	}
	return t
}

// begin counts one schema. It reports false where there were too many of them, or too many inside each other.
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

// exactly converts v and reports whether the type holds nothing but what v accepts.
func (c *converter) exactly(v *value, p place) (ir.Type, bool) {
	before := c.alg.Widened
	t := c.schema(v, p)
	return t, c.alg.Widened == before && c.refsExact(t, map[string]bool{})
}

// conjunction meets everything that v says of one value.
func (c *converter) conjunction(v *value, p place) ir.Type {
	t := c.own(v, p)
	if ref := v.get("$ref"); ref != nil {
		t = c.alg.Meet(t, c.reference(ref, p.at("$ref")))
	}
	if ref := c.keyword(v, p, "$dynamicRef", draft202012); ref != nil {
		t = c.alg.Meet(t, c.reference(ref, p.at("$dynamicRef")))
	}
	if ref := v.get("$recursiveRef"); ref != nil && p.res.draft != draft201909 {
		c.wide()
	} else if ref != nil {
		t = c.alg.Meet(t, c.reference(ref, p.at("$recursiveRef")))
	}
	for i, sub := range c.list(v, "allOf", p) {
		t = c.alg.Meet(t, c.schema(sub, p.at("allOf", itoa(i))))
	}
	t = c.anyOf(t, v, p)
	t = c.oneOf(t, v, p)
	t = c.conditional(t, v, p)
	t = c.not(t, v, p)
	t = c.dependent(t, v, p)
	return c.unevaluated(t, v, p)
}

// list returns the schemas of an applicator.
func (c *converter) list(v *value, keyword string, p place) []*value {
	l := v.get(keyword)
	if l == nil {
		return nil
	}
	if l.kind != kindArray || len(l.items) == 0 {
		c.ignored(keyword, "is not a list of schemas", p)
		return nil
	}
	return l.items
}

// ignored notes that a keyword makes no sense.
func (c *converter) ignored(keyword, why string, p place) {
	c.note(CodeBadKeyword, p.at(keyword).pointer, keyword+" "+why+"; it is ignored")
	c.wide()
}

// loose is the type of a schema in a dialect that is not known: its properties by name.
func (c *converter) loose(root *value) ir.Type {
	if root.str("type") != "object" {
		return ir.Unknown{}
	}
	out := ir.Object{}
	if props := root.get("properties"); props != nil {
		for _, m := range props.members {
			if !m.lossy {
				out.Fields = append(out.Fields, ir.Field{Name: m.key, Type: ir.Unknown{}, Doc: c.doc(m.value)})
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
