package python

import (
	"regexp"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/ir"
)

// union prints the members of a union: all literals in one member, and the type of undeclared properties once, at the end. Lists and
// objects that mypy cannot distinguish are put into OneOf, which is their union to pyright, and any list or object to mypy.
func (p *printer) union(types []ir.Type, hint string) []string {
	if i := slices.IndexFunc(types, func(t ir.Type) bool { return t == ir.Type(ir.Unknown{}) }); i >= 0 {
		// Any would hide the others, and pyright complains about [[]] beside it.
		types = slices.Concat(types[:i], types[i+1:], ir.AnyExcept(ir.Never{}))
	}
	var out, literals, containers, rest []string
	at := -1 // position of the literals
	confused := p.input && p.confuses(types)
	if confused {
		types = append(slices.Clone(types), p.scalars(types)...)
	}
	for _, t := range types {
		if l, ok := t.(ir.Literal); ok {
			if literal, exact := printLiteral(l); exact {
				if at < 0 {
					at = len(out)
					out = append(out, "")
				}
				literals = appendNew(literals, literal)
			} else {
				out = appendNew(out, literal)
			}
			continue
		}
		parts := p.parts(t, hint+variant(t, types))
		switch {
		case confused && p.isContainer(t):
			containers = appendNew(containers, parts...)
		default:
			for _, part := range parts {
				if part == p.word("Extra") {
					rest = appendNew(rest, part)
				} else {
					out = appendNew(out, part)
				}
			}
		}
	}
	if at >= 0 {
		out[at] = p.word("Literal") + "[" + strings.Join(literals, ", ") + "]"
	}
	if len(containers) > 0 {
		containers = slices.DeleteFunc(containers, func(s string) bool { return s == p.word("Extra") })
		joined := p.join(containers)
		if joined != p.anything() {
			joined = p.word("OneOf") + "[" + joined + "]"
		}
		out = append([]string{joined}, out...)
	}
	return append(out, rest...)
}

// variant names an object among several: after the constant that distinguishes it, or after a property that only it has.
func variant(t ir.Type, of []ir.Type) string {
	object, ok := t.(ir.Object)
	if !ok {
		return ""
	}
	others := map[string]int{}
	objects := 0
	for _, other := range of {
		if o, ok := other.(ir.Object); ok {
			objects++
			for _, f := range o.Fields {
				others[f.Name]++
			}
		}
	}
	if objects < 2 {
		return ""
	}
	for _, f := range object.Fields {
		if l, ok := f.Type.(ir.Literal); ok && l.Kind == ir.LiteralString && variantWord.MatchString(l.Text) {
			return ident.Pascal(l.Text)
		}
	}
	for _, f := range object.Fields {
		if others[f.Name] == 1 && variantWord.MatchString(f.Name) {
			return ident.Pascal(f.Name)
		}
	}
	return ""
}

// variantWord matches a text that can be part of a variant's name.
var variantWord = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,23}$`)

// maxMembers bounds a union. Python and pyright read a union as nested brackets, and give up at some depth. A Literal is one member,
// however many values it has.
const maxMembers = 200

// join prints the members of a union as one type, with None last.
func (p *printer) join(parts []string) string {
	switch {
	case len(parts) == 0:
		return p.word("NoValue")
	case slices.Contains(parts, p.anything()), len(parts) > maxMembers:
		return p.anything()
	}
	if i := slices.Index(parts, "None"); i >= 0 && i < len(parts)-1 {
		parts = append(slices.Delete(slices.Clone(parts), i, i+1), "None")
	}
	return strings.Join(parts, " | ")
}

// shape is what mypy considers in an object: it checks a dict display against the class in a union whose required keys the display has and
// whose keys it does not exceed, and complains if there are two such classes.
type shape struct {
	class          bool
	items, require map[string]bool
	open           bool // accepts keys other than items
}

// confuses reports whether mypy would pick a wrong member or none for some value of a union.
func (p *printer) confuses(types []ir.Type) bool {
	key := spanOf(types)
	out, known := p.confused[key]
	if !known {
		out = p.confusing(types)
		p.confused[key] = out
	}
	return out
}

func (p *printer) confusing(types []ir.Type) bool {
	var shapes []shape
	var lists, maps []ir.Type
	p.leaves(types, map[string]bool{}, func(t ir.Type) {
		switch t := t.(type) {
		case ir.Object:
			shapes = append(shapes, p.shape(t))
		case ir.Map:
			maps = append(maps, t.Value)
			shapes = append(shapes, shape{open: true})
		case ir.Array:
			lists = append(lists, t.Elem)
		case ir.Tuple:
			lists = append(lists, ir.Unknown{})
		}
	})
	if !plain(lists) || len(maps) > 1 { // an empty dict display fits several maps, and mypy requires a single one
		return true
	}
	for i, a := range shapes {
		for j, b := range shapes {
			if i != j && a.takes(b) {
				return true
			}
		}
	}
	return false
}

// takes reports whether mypy may check a value of b against a, which the value need not fit, or cannot choose between the two.
func (a shape) takes(b shape) bool {
	if a.class && b.class && within(a.items, b.items) { // in a list, mypy treats b as a kind of a and drops it
		return true
	}
	if !a.class || !within(b.require, a.items) {
		return false
	}
	if b.open && len(a.items) > 0 {
		return true
	}
	return b.class && within(a.require, b.items)
}

func within(keys, of map[string]bool) bool {
	for key := range keys {
		if !of[key] {
			return false
		}
	}
	return true
}

func (p *printer) shape(t ir.Object) shape {
	s := shape{class: p.isClass(t), items: map[string]bool{}, require: map[string]bool{}, open: !closed(t)}
	for _, f := range t.Fields {
		if !validKey(f.Name) {
			s.open = true
			continue
		}
		s.items[f.Name] = true
		if f.Required {
			s.require[f.Name] = true
		}
	}
	return s
}

// plain reports whether mypy can distinguish the elements of several lists without their expected type: there is only one such list, or all
// contain scalars.
func plain(elems []ir.Type) bool {
	if len(elems) < 2 {
		return true
	}
	for _, e := range elems {
		switch e.(type) {
		case ir.String, ir.Bool, ir.Number, ir.Null:
		default:
			return false
		}
	}
	return true
}

// leaves calls see for each member of a union, including members of unions in it and of definitions that they refer to.
func (p *printer) leaves(types []ir.Type, seen map[string]bool, see func(ir.Type)) {
	for _, t := range types {
		switch t := t.(type) {
		case ir.Ref:
			if !seen[t.Name] {
				seen[t.Name] = true
				p.leaves([]ir.Type{p.schema.Resolve(t)}, seen, see)
			}
		case ir.Union:
			p.leaves(t.Members, seen, see)
		case ir.Intersection:
			if flat := p.flatten(t); ir.Key(flat) != ir.Key(t) {
				p.leaves([]ir.Type{flat}, seen, see)
			}
		default:
			see(t)
		}
	}
}

// scalars returns the scalar types among the members of a union and of the definitions that they refer to.
func (p *printer) scalars(types []ir.Type) []ir.Type {
	var out []ir.Type
	p.leaves(types, map[string]bool{}, func(t ir.Type) {
		if scalar(t) {
			out = append(out, t)
		}
	})
	return out
}

// isContainer reports whether t holds lists or objects.
func (p *printer) isContainer(t ir.Type) bool {
	found := false
	p.leaves([]ir.Type{t}, map[string]bool{}, func(t ir.Type) {
		switch t.(type) {
		case ir.Object, ir.Map, ir.Array, ir.Tuple:
			found = true
		}
	})
	return found
}
