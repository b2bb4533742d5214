package schema

import (
	"regexp"
	"slices"

	"github.com/mcpgen/mcpgen/gen/ir"
)

// object converts what v says of objects.
func (c *converter) object(v *value, p place) ir.Type {
	o := objectReader{c: c, v: v, p: p, required: c.required(v, p), patterns: c.patterns(v, p)}
	if additional := v.get("additionalProperties"); additional != nil {
		if additional.kind == kindObject || additional.kind == kindBool {
			o.additional = c.schema(additional, p.at("additionalProperties"))
		} else {
			c.ignored("additionalProperties", "is not a schema", p)
		}
	}
	return c.propertyCount(c.propertyNames(o.read(), v, p), v, p)
}

type objectReader struct {
	c          *converter
	v          *value
	p          place
	required   map[string]bool
	patterns   []pattern
	additional ir.Type // nil: nothing is said
	declared   map[string]bool
	hidden     bool // a property exists that the type cannot name
}

func (o *objectReader) read() ir.Type {
	out := ir.Object{Extra: o.extra()}
	o.declared = map[string]bool{}
	props := o.v.get("properties")
	switch {
	case props != nil && props.kind == kindObject:
		for _, m := range props.members {
			f, ok := o.field(m)
			switch {
			case !ok:
			case !never(f.Type):
				out.Fields = append(out.Fields, f)
			case f.Required:
				return ir.Never{}
			case out.Extra == nil || !never(out.Extra):
				out.Fields = append(out.Fields, f) // it must be absent
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
		return out // without fields: the author says that there are no properties
	}
	if out.Extra == nil {
		out.Extra = ir.Unknown{}
	}
	return ir.Map{Value: out.Extra}
}

func (o *objectReader) field(m member) (ir.Field, bool) {
	if m.lossy {
		o.c.note(CodeBadName, o.p.at("properties").pointer, "the name of a property is not valid Unicode; it is left out")
		o.hidden = true
		return ir.Field{}, false
	}
	o.declared[m.key] = true
	t := o.c.schema(m.value, o.p.at("properties", m.key))
	for _, pattern := range o.patterns {
		if pattern.matches(m.key) {
			t = o.c.alg.Meet(t, pattern.typ)
		}
	}
	return ir.Field{Name: m.key, Type: t, Required: o.required[m.key], Doc: o.c.doc(m.value)}, true
}

// extra returns the type of properties that are not declared: nil where nothing is said about them, Never where they
// are forbidden.
func (o *objectReader) extra() ir.Type {
	if len(o.patterns) == 0 {
		return o.additional
	}
	types := []ir.Type{}
	every := ir.Type(ir.Unknown{}) // what all names have to be
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
	if o.additional == nil {
		return nil
	}
	return ir.NewUnion(append(types, o.additional)...)
}

// undeclared is the type of a property that is required and not declared.
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
func (c *converter) requiredNames(v *value, p place) []string {
	list := v.get("required")
	if list == nil || list.kind != kindArray { // a boolean in draft 3, and in many hands since
		return nil
	}
	var out []string
	seen := map[string]bool{}
	for _, item := range list.items {
		if item.kind != kindString || item.lossy {
			c.ignored("required", "has a name that is not a string", p)
			continue
		}
		if !seen[item.text] {
			seen[item.text] = true
			out = append(out, item.text)
		}
	}
	return out
}

func (c *converter) required(v *value, p place) map[string]bool {
	out := map[string]bool{}
	if list := v.get("required"); list != nil && list.kind == kindArray {
		for _, item := range list.items {
			if item.kind == kindString && !item.lossy {
				out[item.text] = true
			}
		}
	} else if list != nil {
		c.ignored("required", "is not a list of names", p)
	}
	return out
}

// pattern is one member of patternProperties.
type pattern struct {
	expr *regexp.Regexp // nil where Go does not know the expression
	all  bool           // every name matches
	typ  ir.Type
}

func (p pattern) matches(name string) bool {
	return p.all || (p.expr != nil && p.expr.MatchString(name))
}

// maxPattern is how long a regular expression may be to be compiled.
const maxPattern = 1_000

func (c *converter) patterns(v *value, p place) []pattern {
	list := v.get("patternProperties")
	if list == nil {
		return nil
	}
	if list.kind != kindObject {
		c.ignored("patternProperties", "is not an object", p)
		return nil
	}
	var out []pattern
	for _, m := range list.members {
		one := pattern{typ: c.schema(m.value, p.at("patternProperties", m.key))}
		switch m.key {
		case "", "^", ".*", "^.*", "^.*$", "^(.*)$", ".*$", `^[\s\S]*$`:
			one.all = m.key != "^.*$" && m.key != "^(.*)$" && m.key != ".*$" // whose dot stops at line ends
			if !one.all {
				one.all = true
				c.wide()
			}
		default:
			if len(m.key) <= maxPattern {
				one.expr, _ = regexp.Compile(m.key)
			}
		}
		out = append(out, one)
	}
	return out
}

// propertyNames limits the names of t's properties.
func (c *converter) propertyNames(t ir.Type, v *value, p place) ir.Type {
	names := c.keyword(v, p, "propertyNames", draft06)
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

// propertyCount takes minProperties and maxProperties for what they say of the empty object.
func (c *converter) propertyCount(t ir.Type, v *value, p place) ir.Type {
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
	case closed && least == len(o.Fields): // all of them, then
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
