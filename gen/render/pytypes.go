package render

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/ir"
)

// pyPrinter prints the types of one schema. Objects become classes, which it declares in an order in which each
// comes before its use, except in recursive types.
type pyPrinter struct {
	schema *ir.Schema
	root   string
	types  *allocator
	// input is set for what a script passes in: there, types are read-only, so that more values fit them.
	input        bool
	declarations []string
	used         map[string]bool // names imported from typing and collections.abc

	names    map[string]string // of definitions
	state    map[string]defState
	forward  bool // a type was used before its declaration
	depth    int  // of intersections being printed
	rootUsed bool
	// rootNamed is set where the root is a class, and so the first one printed under the root's name.
	rootNamed bool
	rootDone  bool
}

type defState int

const (
	defUnseen defState = iota
	defOpen
	defDone
)

// newPyPrinter prints s, whose root is called root where it is a class or is referred to; an object in any other root
// gets a name like part.
func newPyPrinter(s *ir.Schema, root, part string, types *allocator, input bool) *pyPrinter {
	p := &pyPrinter{schema: s, root: part, types: types, input: input, used: map[string]bool{}, names: map[string]string{}, state: map[string]defState{}}
	if _, object := flatten(s, s.Root).(ir.Object); object || refersToRoot(s) {
		p.root, p.rootNamed = types.name(root), object
	}
	for _, def := range s.Defs {
		p.names[def.Name] = types.name(ident.Pascal(def.Name))
	}
	return p
}

// pyStrings finds string literals in a type, which may hold words that look like names.
var pyStrings = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// place notes what a type that is put into the module needs to import, and returns it.
func (p *pyPrinter) place(text string) string {
	bare := pyStrings.ReplaceAllString(text, "")
	for _, word := range strings.FieldsFunc(bare, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' }) {
		p.used[word] = true
	}
	return text
}

// pyImports returns the import lines of a module that both printers print into.
func pyImports(printers ...*pyPrinter) []string {
	used := map[string]bool{}
	forward := false
	for _, p := range printers {
		if p == nil {
			continue
		}
		forward = forward || p.forward
		for name := range p.used {
			used[name] = true
		}
	}
	var out []string
	if forward {
		out = append(out, "from __future__ import annotations")
	}
	for _, module := range []struct {
		name  string
		names []string
	}{
		{"collections.abc", []string{"Mapping", "Sequence"}},
		{"typing", []string{"Literal", "NotRequired", "TypeAlias", "TypedDict"}},
	} {
		names := slices.DeleteFunc(slices.Clone(module.names), func(n string) bool { return !used[n] })
		if len(names) > 0 {
			out = append(out, "from "+module.name+" import "+strings.Join(names, ", "))
		}
	}
	return out
}

// rootExpr prints the schema's root.
func (p *pyPrinter) rootExpr() string { return p.place(p.expr(p.schema.Root, p.root)) }

// expr prints t. An object in it is declared under a name like hint.
func (p *pyPrinter) expr(t ir.Type, hint string) string {
	switch t := t.(type) {
	case ir.Null:
		return "None"
	case ir.Bool:
		return "bool"
	case ir.String:
		return "str"
	case ir.Number:
		if t.Integer {
			return "int"
		}
		return "float"
	case ir.Literal:
		return p.union([]ir.Type{t}, hint)
	case ir.Array:
		return p.list(t.Elem, hint)
	case ir.Tuple:
		// JSON has lists only, and a tuple type would refuse them.
		return p.list(ir.NewUnion(append(slices.Clone(t.Items), t.Rest)...), hint)
	case ir.Map:
		return p.mapping(p.expr(t.Value, hint))
	case ir.Object:
		return p.object(t, hint)
	case ir.Union:
		return p.union(t.Members, hint)
	case ir.Intersection:
		return p.flattened(t, hint)
	case ir.Ref:
		return p.ref(t)
	}
	return "object"
}

const (
	// maxFlatten is how many intersections may be inside each other; recursive ones have no end.
	maxFlatten = 4
	// maxClasses bounds what intersections can multiply a schema to.
	maxClasses = 400
)

func (p *pyPrinter) flattened(t ir.Intersection, hint string) string {
	if p.depth >= maxFlatten || len(p.declarations) >= maxClasses {
		return "object"
	}
	p.depth++
	defer func() { p.depth-- }()
	flat := flatten(p.schema, t)
	if _, still := flat.(ir.Intersection); still {
		return "object"
	}
	return p.expr(flat, hint)
}

func (p *pyPrinter) list(elem ir.Type, hint string) string {
	text := p.expr(elem, hint)
	if p.input && text != "str" { // a str is a sequence of str as well, and never meant
		return "Sequence[" + text + "]"
	}
	return "list[" + text + "]"
}

func (p *pyPrinter) mapping(value string) string {
	if p.input {
		return "Mapping[str, " + value + "]"
	}
	return "dict[str, " + value + "]"
}

func (p *pyPrinter) union(types []ir.Type, hint string) string {
	var out, literals []string
	at := -1 // where the literals stand
	for _, t := range types {
		text := ""
		if l, ok := t.(ir.Literal); ok {
			literal, exact := pyLiteral(l)
			if exact {
				if at < 0 {
					at = len(out)
					out = append(out, "")
				}
				literals = append(literals, literal)
				continue
			}
			text = literal
		} else {
			text = p.expr(t, hint)
		}
		if text == "object" {
			return "object"
		}
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	if at >= 0 {
		out[at] = "Literal[" + strings.Join(literals, ", ") + "]"
	}
	return strings.Join(out, " | ")
}

// pyLiteral prints a literal's value; exact is false where Python has no such literal and text is a type.
func pyLiteral(l ir.Literal) (text string, exact bool) {
	switch {
	case l.Kind == ir.LiteralString:
		return quote(python, l.Text), true
	case l.Kind == ir.LiteralBool && l.Bool:
		return "True", true
	case l.Kind == ir.LiteralBool:
		return "False", true
	case strings.Trim(l.Text, "0123456789-") == "" && l.Text != "-0":
		return l.Text, true
	}
	return "float", false
}

func (p *pyPrinter) ref(t ir.Ref) string {
	if t.Name == "" {
		p.rootUsed = true
		p.forward = true
		return p.root
	}
	name, ok := p.names[t.Name]
	if !ok {
		return "object"
	}
	switch p.state[t.Name] {
	case defOpen:
		p.forward = true
	case defUnseen:
		p.state[t.Name] = defOpen
		for _, def := range p.schema.Defs {
			if def.Name == t.Name {
				p.declare(name, def.Type, fieldText(def.Name, def.Doc, def.Type, python))
			}
		}
		p.state[t.Name] = defDone
	}
	return name
}

// finishRoot declares the root where a type refers to it.
func (p *pyPrinter) finishRoot() {
	if p.rootUsed && !p.rootDone {
		p.rootDone = true
		p.declare(p.root, p.schema.Root, "")
	}
}

// declare declares t under exactly that name.
func (p *pyPrinter) declare(name string, t ir.Type, doc string) {
	if object, ok := flatten(p.schema, t).(ir.Object); ok && len(object.Fields) > 0 && !p.mixed(object) {
		p.class(name, object, doc)
		return
	}
	before := p.forward
	p.forward = false
	text := p.expr(t, name+"Item")
	if p.forward {
		text = pyLater(text)
	}
	p.forward = p.forward || before
	line := name + p.place(": TypeAlias") + " = " + p.place(text)
	if comments := comment(python, doc); len(comments) > 0 {
		line = "# " + strings.Join(comments, "\n# ") + "\n" + line
	}
	p.declarations = append(p.declarations, line)
}

// pyLater puts a type in quotation marks, so that it may name what is declared later. Types in quotation marks can't
// hold escapes; where one would have to, any value is accepted instead.
func pyLater(text string) string {
	if strings.ContainsAny(text, `'\`) {
		return "object"
	}
	return "'" + text + "'"
}

// mixed reports whether an object takes properties that a class cannot declare.
func (p *pyPrinter) mixed(t ir.Object) bool {
	_, closed := t.Extra.(ir.Never)
	unnamed := slices.ContainsFunc(t.Fields, func(f ir.Field) bool { return f.Name == "" })
	return p.input && (unnamed || (t.Extra != nil && !closed))
}

func (p *pyPrinter) object(t ir.Object, hint string) string {
	if len(t.Fields) == 0 {
		return p.mapping("object")
	}
	name := hint
	if hint == p.root && !p.rootDone && p.rootNamed {
		p.rootDone = true // the root's own name was kept for it
	} else {
		name = p.types.name(hint)
	}
	p.class(name, t, "")
	if p.mixed(t) {
		return name + " | " + p.mapping("object")
	}
	return name
}

// refersToRoot reports whether any type of s names its root.
func refersToRoot(s *ir.Schema) bool {
	found := false
	visit := func(t ir.Type) { found = found || strings.Contains(ir.Key(t), ir.Key(ir.Ref{})) }
	visit(s.Root)
	for _, def := range s.Defs {
		visit(def.Type)
	}
	return found
}

// class declares a TypedDict.
func (p *pyPrinter) class(name string, t ir.Object, doc string) {
	optional := 0
	exprs := make([]string, len(t.Fields))
	for i, f := range t.Fields {
		exprs[i] = p.expr(f.Type, ident.Pascal(f.Name))
		if !f.Required {
			optional++
		}
	}
	total := ""
	if optional == len(t.Fields) {
		total = ", total=False"
	}
	p.place("TypedDict")
	wrap := func(i int) string {
		if t.Fields[i].Required || total != "" {
			return exprs[i]
		}
		return "NotRequired[" + exprs[i] + "]"
	}
	var b strings.Builder
	if p.classSyntax(t.Fields) {
		b.WriteString("class " + name + "(TypedDict" + total + "):\n" + pyDocstring("    ", doc))
		for i, f := range t.Fields {
			line, _ := pyCommented("    ", f.Name+": "+p.place(wrap(i)), fieldText(f.Name, f.Doc, f.Type, python))
			b.WriteString(line + "\n")
		}
	} else {
		b.WriteString(name + " = TypedDict(" + quote(python, name) + ", {\n")
		for i, f := range t.Fields {
			if f.Name == "" {
				continue // a TypedDict cannot have it
			}
			expr := wrap(i)
			if refers(f.Type) {
				expr = pyLater(expr)
			}
			line, _ := pyCommented("    ", quote(python, f.Name)+": "+p.place(expr)+",", fieldText(f.Name, f.Doc, f.Type, python))
			b.WriteString(line + "\n")
		}
		b.WriteString("}" + total + ")\n")
	}
	p.declarations = append(p.declarations, strings.TrimSuffix(b.String(), "\n"))
}

// classSyntax reports whether all fields can be written as members of a class: their names are identifiers, and none
// hides a name that the types of the others use.
func (p *pyPrinter) classSyntax(fields []ir.Field) bool {
	for _, f := range fields {
		if !pyPlainName(f.Name) || slices.Contains(pyGlobals, f.Name) || p.types.taken[f.Name] {
			return false
		}
	}
	return true
}
