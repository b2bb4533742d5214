package python

import (
	"slices"
	"strings"
	"unicode"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/render"
)

// printer prints the types of one schema. Objects become classes, each of which is declared before its use, except in recursive types.
//
// Types for input work with two type checkers: pyright, and mypy, which chooses the class against which it checks a dict display by the
// display's keys alone. See union.go.
type printer struct {
	schema *ir.Schema
	stored string // the file that contains the schema, if any
	root   string
	types  render.Scope
	// input is set for what a script passes in: every value of the schema, written as a literal, must fit its type. Otherwise types
	// describe what a script reads.
	input        bool
	declarations []string
	used         map[string]bool   // words in the types that were put into the module
	vocabulary   map[string]string // names of typing's words in this module, if their own names are taken

	// Results for intersections and unions, by their members, because the same ones occur in many places.
	flat     map[span]ir.Type
	confused map[span]bool
	makeups  map[string]*makeup // of definitions
	weights  map[string]int     // of aliases, see unfolds
	depths   map[string]int     // of classes and aliases, see below
	mappings map[string]string  // results of openMapping, by the object's key
	classes  map[string]string  // names of classes declared where they are used, by the rest of their declarations
	hints    map[string]bool    // see mayNameType; nil until asked for

	names   map[string]string // of definitions
	state   map[string]defState
	bare    map[string]bool // definitions that are being printed outside any list or object
	forward bool            // a type was used before its declaration, or is a text for that reason
	quoted  map[string]bool // names of aliases to such texts, which can be in a union only as a text
	code    bool            // a literal that looks like an expression was put into the module
	depth   int             // of intersections being printed
	nesting int             // brackets around what is being printed

	learned  bool   // the types were learned from replies and declared by nobody
	around   string // the class whose members are being printed
	rootUsed bool
	// rootNamed is set if the root is a class, and so is the first class printed under the root's name.
	rootNamed bool
	rootDone  bool
	rootWhole bool // the root's name means all of it, including undeclared properties
}

// span identifies a list of types by its address, because types are never changed.
type span struct {
	first *ir.Type
	n     int
}

func spanOf(types []ir.Type) span {
	if len(types) == 0 {
		return span{}
	}
	return span{&types[0], len(types)}
}

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

type defState int

const (
	defUnseen defState = iota
	defOpen
	defDone
)

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

// newPrinter prints s. The root is named root if it is a class or is referred to; an object within any other root gets a name like part.
func newPrinter(s *ir.Schema, root, part string, types render.Scope, input bool) *printer {
	p := &printer{schema: s, root: part, types: types, input: input, used: map[string]bool{}, names: map[string]string{},
		state: map[string]defState{}, bare: map[string]bool{}, flat: map[span]ir.Type{}, confused: map[span]bool{},
		makeups: map[string]*makeup{}, weights: map[string]int{}, depths: map[string]int{}, classes: map[string]string{}, mappings: map[string]string{}, quoted: map[string]bool{}}
	if _, object := flatten(s, s.Root).(ir.Object); object || refersToRoot(s) {
		p.root, p.rootNamed = types.Name(root), object
	}
	for _, def := range s.Defs {
		p.names[def.Name] = types.Name(ident.Pascal(def.Name))
	}
	return p
}

// refersToRoot reports whether any type in s refers to its root.
func refersToRoot(s *ir.Schema) bool {
	found := false
	visit := func(t ir.Type) { found = found || strings.Contains(ir.Key(t), ir.Key(ir.Ref{})) }
	visit(s.Root)
	for _, def := range s.Defs {
		visit(def.Type)
	}
	return found
}

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

// anything is the type of any value. For an argument, or a part of one, it is Any, because checks against Any are more lenient: in strict
// mode, pyright complains about an empty list in an object. Where a learned type says nothing, it is also Any, like a result without a
// type.
func (p *printer) anything() string {
	if p.input || p.learned {
		return p.word("Any")
	}
	return "object"
}

// word returns the name in this module of a word from which types are built.
func (p *printer) word(name string) string {
	if other, ok := p.vocabulary[name]; ok {
		return other
	}
	return name
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
