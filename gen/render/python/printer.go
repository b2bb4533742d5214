package python

import (
	"strings"

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

type defState int

const (
	defUnseen defState = iota
	defOpen
	defDone
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
