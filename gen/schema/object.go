package schema

import (
	"regexp"
	"slices"

	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/jsonschema"
)

// object converts the keywords of v about objects.
func (c *converter) object(v *jsonschema.Value, p place) ir.Type {
	o := objectReader{c: c, v: v, p: p, required: c.required(v, p), patterns: c.patterns(v, p)}
	if additional := v.Get("additionalProperties"); additional != nil {
		if additional.Kind == jsonschema.KindObject || additional.Kind == jsonschema.KindBool {
			o.additional = c.schema(additional, p.at("additionalProperties"))
		} else {
			c.ignored("additionalProperties", "is not a schema", p)
		}
	}
	return c.propertyCount(c.propertyNames(o.read(), v, p), v, p)
}

type objectReader struct {
	c          *converter
	v          *jsonschema.Value
	p          place
	required   map[string]bool
	patterns   []pattern
	additional ir.Type // nil without the keyword
	declared   map[string]bool
	hidden     bool // whether a property has a name that the type cannot express
}

func (o *objectReader) read() ir.Type {
	out := ir.Object{Extra: o.extra()}
	o.declared = map[string]bool{}
	props := o.v.Get("properties")
	switch {
	case props != nil && props.Kind == jsonschema.KindObject:
		for _, m := range props.Members {
			f, ok := o.field(m)
			switch {
			case !ok:
			case !never(f.Type):
				out.Fields = append(out.Fields, f)
			case f.Required:
				return ir.Never{}
			case out.Extra == nil || !never(out.Extra):
				out.Fields = append(out.Fields, f) // the property must be absent
			}
		}
	case props != nil:
		o.c.ignored("properties", "is not an object", o.p)
	}
	for _, name := range o.c.requiredNames(o.v, o.p) {
		if o.declared[name] {
			continue
		}
		o.declared[name] = true
		t := o.undeclared(name)
		if never(t) {
			return t
		}
		out.Fields = append(out.Fields, ir.Field{Name: name, Type: t, Required: true})
	}
	if o.hidden {
		out.Extra = ir.Unknown{}
		o.c.wide()
	}
	if len(out.Fields) > 0 || (out.Extra != nil && never(out.Extra)) || (out.Extra == nil && props != nil) {
		return out // without fields: the schema declares that there are no properties
	}
	if out.Extra == nil {
		out.Extra = ir.Unknown{}
	}
	return ir.Map{Value: out.Extra}
}

func (o *objectReader) field(m jsonschema.Member) (ir.Field, bool) {
	if m.Lossy {
		o.c.note(CodeBadName, o.p.at("properties").pointer, "the name of a property is not valid Unicode; it is left out")
		o.hidden = true
		return ir.Field{}, false
	}
	o.declared[m.Key] = true
	t := o.c.schema(m.Value, o.p.at("properties", m.Key))
	for _, pattern := range o.patterns {
		if pattern.matches(m.Key) {
			t = o.c.alg.Meet(t, pattern.typ)
		}
	}
	return ir.Field{Name: m.Key, Type: t, Required: o.required[m.Key], Doc: o.c.doc(m.Value)}, true
}

// extra returns the type of undeclared properties: nil if the schema has no keyword about them, and Never if they are
// forbidden.
func (o *objectReader) extra() ir.Type {
	if len(o.patterns) == 0 {
		return o.additional
	}
	types := []ir.Type{}
	every := ir.Type(ir.Unknown{}) // the type that applies to all names
	all := false
	for _, pattern := range o.patterns {
		types = append(types, pattern.typ)
		if pattern.all {
			all = true
			every = o.c.alg.Meet(every, pattern.typ)
		}
	}
	if all {
		return every
	}
	o.c.wide()
	others := o.additional
	if others == nil {
		others = ir.Unknown{}
	}
	return ir.NewUnion(append(types, others)...)
}

// undeclared returns the type of a property that is required and not declared.
func (o *objectReader) undeclared(name string) ir.Type {
	matched, unsure := false, false
	t := ir.Type(ir.Unknown{})
	for _, pattern := range o.patterns {
		unsure = unsure || pattern.expr == nil
		if pattern.matches(name) {
			matched = true
			t = o.c.alg.Meet(t, pattern.typ)
		}
	}
	switch {
	case matched || o.additional == nil:
		return t
	case unsure:
		return o.extra()
	}
	return o.additional
}

// requiredNames returns the names in v's required keyword, without repetition.
func (c *converter) requiredNames(v *jsonschema.Value, p place) []string {
	list := v.Get("required")
	if list == nil || list.Kind != jsonschema.KindArray { // draft 3 has a boolean, and many authors still write one
		return nil
	}
	var out []string
	seen := map[string]bool{}
	for _, item := range list.Items {
		if item.Kind != jsonschema.KindString || item.Lossy {
			c.ignored("required", "has a name that is not a string", p)
			continue
		}
		if !seen[item.Text] {
			seen[item.Text] = true
			out = append(out, item.Text)
		}
	}
	return out
}

func (c *converter) required(v *jsonschema.Value, p place) map[string]bool {
	out := map[string]bool{}
	if list := v.Get("required"); list != nil && list.Kind == jsonschema.KindArray {
		for _, item := range list.Items {
			if item.Kind == jsonschema.KindString && !item.Lossy {
				out[item.Text] = true
			}
		}
	} else if list != nil {
		c.ignored("required", "is not a list of names", p)
	}
	return out
}

// pattern is one member of patternProperties.
type pattern struct {
	expr *regexp.Regexp // nil for an expression that Go does not know
	all  bool           // whether every name matches
	typ  ir.Type
}

func (p pattern) matches(name string) bool {
	return p.all || (p.expr != nil && p.expr.MatchString(name))
}

// maxPattern bounds the length in bytes of the regular expressions that are compiled.
const maxPattern = 1_000

func (c *converter) patterns(v *jsonschema.Value, p place) []pattern {
	list := v.Get("patternProperties")
	if list == nil {
		return nil
	}
	if list.Kind != jsonschema.KindObject {
		c.ignored("patternProperties", "is not an object", p)
		return nil
	}
	var out []pattern
	for _, m := range list.Members {
		one := pattern{typ: c.schema(m.Value, p.at("patternProperties", m.Key))}
		switch m.Key {
		case "", "^", ".*", "^.*", "^.*$", "^(.*)$", ".*$", `^[\s\S]*$`:
			one.all = m.Key != "^.*$" && m.Key != "^(.*)$" && m.Key != ".*$" // their dot does not match a line break
			if !one.all {
				one.all = true
				c.wide()
			}
		default:
			if len(m.Key) <= maxPattern {
				one.expr, _ = regexp.Compile(m.Key)
			}
		}
		out = append(out, one)
	}
	return out
}

// propertyNames limits the names of t's properties.
func (c *converter) propertyNames(t ir.Type, v *jsonschema.Value, p place) ir.Type {
	names := c.keyword(v, p, "propertyNames", jsonschema.Draft06)
	if names == nil {
		return t
	}
	allowed := c.resolved(c.alg.Restrict(c.schema(names, p.at("propertyNames")), ir.String{}))
	closed := ir.Object{Extra: ir.Never{}}
	members := []ir.Type{allowed}
	switch a := allowed.(type) {
	case ir.Never:
		return c.alg.Meet(t, closed)
	case ir.Union:
		members = a.Members
	}
	for _, m := range members {
		l, ok := m.(ir.Literal)
		if !ok || l.Kind != ir.LiteralString {
			if _, any := allowed.(ir.String); !any {
				c.wide()
			}
			return t
		}
		closed.Fields = append(closed.Fields, ir.Field{Name: l.Text, Type: ir.Unknown{}})
	}
	return c.alg.Meet(t, closed)
}

// resolved follows references at the top of t.
func (c *converter) resolved(t ir.Type) ir.Type {
	for range maxNesting {
		ref, ok := t.(ir.Ref)
		if !ok {
			return t
		}
		next, ok := c.resolve(ref)
		if !ok {
			return ir.Unknown{}
		}
		t = next
	}
	return ir.Unknown{}
}

// propertyCount applies minProperties and maxProperties to the extent that a type can express them.
func (c *converter) propertyCount(t ir.Type, v *jsonschema.Value, p place) ir.Type {
	least, _ := count(v, "minProperties")
	most, limited := count(v, "maxProperties")
	if limited && most == 0 {
		t = c.alg.Meet(t, ir.Object{Extra: ir.Never{}})
	}
	o, ok := t.(ir.Object)
	if !ok {
		if least > 0 || (limited && most > 0) {
			c.wide()
		}
		return t
	}
	needed := 0
	for _, f := range o.Fields {
		if f.Required {
			needed++
		}
	}
	closed := o.Extra != nil && never(o.Extra)
	switch {
	case limited && needed > most, closed && least > len(o.Fields):
		return ir.Never{}
	case closed && least == len(o.Fields): // so all of them are required
		o.Fields = slices.Clone(o.Fields)
		for i := range o.Fields {
			o.Fields[i].Required = true
		}
		return o
	case least > needed || (limited && (!closed || most < len(o.Fields))):
		c.wide()
	}
	return t
}
