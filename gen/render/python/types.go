package python

import (
	"slices"
	"strings"
	"unicode"

	"github.com/mcpgen/mcpgen/gen/ir"
)

// flatten is [flatten] of the printer's schema.
func (p *printer) flatten(t ir.Type) ir.Type {
	in, ok := t.(ir.Intersection)
	if !ok {
		return t
	}
	key := spanOf(in.Members)
	out, known := p.flat[key]
	if !known {
		out = flatten(p.schema, t)
		p.flat[key] = out
	}
	return out
}

const (
	// maxFlatten bounds the nesting of intersections, because recursive ones have no end.
	maxFlatten = 4
	// maxClasses bounds the number of classes, because intersections can multiply a schema.
	maxClasses = 400
	// maxBrackets bounds the nesting of lists: Python's parser accepts 200 nested brackets.
	maxBrackets = 60
	// maxUnfolded bounds the size of an alias once type checkers have unfolded the aliases in it, which can double with each of them.
	maxUnfolded = 2000
	// maxBelow bounds the length of chains of classes and aliases: pyright follows them on its stack, and some hundreds exhaust it.
	maxBelow = 60
	// maxDigits bounds integers. Python reads integers of up to 4300 digits.
	maxDigits = 1000
)

// rootExpr prints the schema's root.
func (p *printer) rootExpr() string { return p.place(p.expr(p.schema.Root, p.root)) }

// finishRoot declares the root if a type refers to it.
func (p *printer) finishRoot() {
	if p.rootUsed && !p.rootDone {
		p.rootDone = true
		p.bare = map[string]bool{"": true}
		p.declare(p.root, p.schema.Root, "")
	}
}

// expr prints t. An object in it is declared under a name like hint.
func (p *printer) expr(t ir.Type, hint string) string {
	return p.join(p.parts(t, hint))
}

// parts prints t as the members of a union. There are none for a definition that refers only to itself.
func (p *printer) parts(t ir.Type, hint string) []string {
	switch t := t.(type) {
	case ir.Null:
		return []string{"None"}
	case ir.Bool:
		return []string{"bool"}
	case ir.String:
		return []string{"str"}
	case ir.Never:
		return []string{p.word("NoValue")}
	case ir.Number:
		if t.Integer {
			return []string{"int"}
		}
		return []string{"float"}
	case ir.Literal:
		return p.union([]ir.Type{t}, hint)
	case ir.Array:
		return []string{p.list(t.Elem, hint)}
	case ir.Tuple:
		// JSON has only lists, which a tuple type would reject.
		items := slices.Clone(t.Items)
		if t.Rest != nil {
			items = append(items, t.Rest)
		}
		return []string{p.list(ir.NewUnion(items...), hint)}
	case ir.Map:
		return []string{p.mapping(t.Value, hint)}
	case ir.Object:
		return p.object(t, hint)
	case ir.Union:
		return p.union(t.Members, hint)
	case ir.Intersection:
		return p.flattened(t, hint)
	case ir.Ref:
		return p.ref(t)
	}
	return []string{p.anything()}
}

func (p *printer) flattened(t ir.Intersection, hint string) []string {
	if p.depth >= maxFlatten || len(p.declarations) >= maxClasses {
		return []string{p.anything()}
	}
	p.depth++
	defer func() { p.depth-- }()
	flat := p.flatten(t)
	if _, still := flat.(ir.Intersection); still {
		return []string{p.anything()}
	}
	return p.parts(flat, hint)
}

// inside prints t within brackets or a class.
func (p *printer) inside(t ir.Type, hint string) string {
	if p.nesting >= maxBrackets {
		return p.anything()
	}
	p.nesting++
	bare := p.bare
	p.bare = map[string]bool{}
	defer func() { p.nesting--; p.bare = bare }()
	return p.expr(t, hint)
}

// list prints a list. An argument's list is read-only, so that more lists fit, except where a str would fit: a str is a sequence of str,
// which is never intended.
func (p *printer) list(elem ir.Type, hint string) string {
	text := p.inside(elem, hint)
	if !p.input || text == p.anything() || p.holdsString(elem, 0) {
		return "list[" + text + "]"
	}
	return p.word("Sequence") + "[" + text + "]"
}

// holdsString reports whether t holds every string.
func (p *printer) holdsString(t ir.Type, depth int) bool {
	switch t := p.schema.Resolve(t).(type) {
	case ir.String, ir.Unknown:
		return true
	case ir.Union:
		return depth < maxFlatten && slices.ContainsFunc(t.Members, func(m ir.Type) bool { return p.holdsString(m, depth+1) })
	}
	return false
}

func (p *printer) mapping(value ir.Type, hint string) string {
	if p.input {
		return p.word("Mapping") + "[str, " + p.inside(value, hint) + "]"
	}
	return "dict[str, " + p.inside(value, hint) + "]"
}

// ref prints the name of a definition, and declares the definition if that has not been done.
func (p *printer) ref(t ir.Ref) []string {
	if t.Name == "" {
		if p.bare[""] {
			return nil
		}
		p.rootUsed = true
		p.forward = true
		if p.rootWhole {
			return []string{p.root}
		}
		return p.named(p.root, p.schema.Root)
	}
	name, ok := p.names[t.Name]
	if !ok {
		return []string{p.anything()}
	}
	i := slices.IndexFunc(p.schema.Defs, func(d ir.Def) bool { return d.Name == t.Name })
	def := p.schema.Defs[i]
	switch p.state[t.Name] {
	case defOpen:
		if p.bare[t.Name] {
			return nil // a union that is a member of itself
		}
		p.forward = true
	case defUnseen:
		p.state[t.Name] = defOpen
		bare := p.bare
		p.bare = map[string]bool{t.Name: true}
		for name := range bare {
			p.bare[name] = true
		}
		nesting := p.nesting
		p.nesting = 0
		p.declare(name, def.Type, p.fieldDoc(ir.Field{Name: def.Name, Type: def.Type, Doc: def.Doc}))
		p.nesting, p.bare = nesting, bare
		p.state[t.Name] = defDone
	case defDone:
		p.forward = p.forward || p.quoted[name]
	}
	return p.named(name, def.Type)
}

// named returns the union for a type that is declared as name: for a class, this includes the types of its undeclared properties.
func (p *printer) named(name string, t ir.Type) []string {
	if object, ok := p.flatten(t).(ir.Object); ok && p.isClass(object) {
		return append([]string{name}, p.openness(object)...)
	}
	return []string{name}
}

// declare declares t under exactly that name.
func (p *printer) declare(name string, t ir.Type, doc string) {
	if object, ok := p.flatten(t).(ir.Object); ok && p.isClass(object) {
		p.class(name, object, doc)
		return
	}
	p.alias(name, doc, func() []string { return p.parts(t, name+"Item") })
}

// alias declares the union of parts as name.
func (p *printer) alias(name, doc string, parts func() []string) {
	before := p.forward
	p.forward = false
	text := p.join(parts())
	if p.forward {
		text = p.later(text, name)
		p.quoted[name] = true
	}
	if depth := p.below(text); depth >= maxBelow || p.unfolds(name, text) > maxUnfolded {
		text, p.weights[name] = p.anything(), 1
	} else {
		p.depths[name] = depth + 1
	}
	p.forward = p.forward || before
	line := name + ": " + p.place(p.word("TypeAlias")) + " = " + p.place(text)
	if comments := comment(doc); len(comments) > 0 {
		line = "# " + strings.Join(comments, "\n# ") + "\n" + line
	}
	p.declarations = append(p.declarations, line)
}

// unfolds records and returns the number of names in an alias once the aliases before it are unfolded.
func (p *printer) unfolds(name, text string) int {
	n := 0
	for _, word := range words(text) {
		if !unicode.IsDigit(rune(word[0])) { // a literal number
			n = min(n+max(1, p.weights[word]), maxUnfolded+1)
		}
	}
	p.weights[name] = n
	return n
}

// below returns the length of the longest chain of classes and aliases to which a printed type leads. One that is declared later does not
// count.
func (p *printer) below(text string) int {
	n := 0
	for _, word := range words(text) {
		n = max(n, p.depths[word])
	}
	return n
}
