// Package ir defines the language-neutral types into which JSON Schemas are converted and which printers print. The set of types is sealed.
// Start with [Schema]. Unions are built with [NewUnion] and conjunctions with [Meet], which keep types small.
//
// A type is a set of JSON values. It holds at least every value that its schema accepts; it may hold more.
package ir

// Type is one of Unknown, Never, Null, Bool, String, Number, Literal, Array, Tuple, Map, Object, Union, Intersection
// and Ref. All are values; a printer switches over them.
type Type interface{ isType() }

type (
	// Unknown is any JSON value.
	Unknown struct{}
	// Never is no value at all: the schema false.
	Never struct{}
	// Null is null.
	Null struct{}
	// Bool is true or false.
	Bool struct{}
	// String is any string.
	String struct{}
	// Number is any number, or any integer.
	Number struct{ Integer bool }
	// Literal is exactly one scalar.
	Literal struct {
		// Kind says which of the following fields holds the value.
		Kind LiteralKind
		// Text is the value of a string, decoded, or the digits of a number as the schema wrote them.
		Text string
		Bool bool
	}
	// Array is a list of any length.
	Array struct{ Elem Type }
	// Tuple is a list whose first elements have types of their own.
	Tuple struct {
		Items []Type
		// Required is the number of Items that are always present.
		Required int
		// Rest is the type of the elements after Items, or Never if there are none.
		Rest Type
	}
	// Map is an object whose keys are data.
	Map struct{ Value Type }
	// Object is an object with declared properties, in the schema's order.
	Object struct {
		Fields []Field
		// Extra is the type of undeclared properties: nil if the schema says nothing about them, and Never if it forbids them.
		Extra Type
	}
	// Union is any of its members, of which there are at least two.
	Union struct{ Members []Type }
	// Intersection is all of its members at once, of which there are at least two.
	Intersection struct{ Members []Type }
	// Ref stands for the definition with that name or, if the name is empty, for the schema's root.
	Ref struct{ Name string }
)

func (Unknown) isType()      {}
func (Never) isType()        {}
func (Null) isType()         {}
func (Bool) isType()         {}
func (String) isType()       {}
func (Number) isType()       {}
func (Literal) isType()      {}
func (Array) isType()        {}
func (Tuple) isType()        {}
func (Map) isType()          {}
func (Object) isType()       {}
func (Union) isType()        {}
func (Intersection) isType() {}
func (Ref) isType()          {}

// LiteralKind is the JSON kind of a Literal. Null has a type of its own.
type LiteralKind int

const (
	LiteralString LiteralKind = iota
	LiteralNumber
	LiteralBool
)

// Field is one declared property.
type Field struct {
	// Name is the name in JSON. It is hostile text.
	Name     string
	Type     Type
	Required bool
	Doc      Doc
}

// Def is a named type that a schema refers to.
type Def struct {
	// Name is unique in its schema and never empty. It is hostile text.
	Name string
	Type Type
	Doc  Doc
}

// Schema is one converted root schema.
type Schema struct {
	Root Type
	Doc  Doc
	// Defs are the definitions to which references refer, in the order of their first use.
	Defs []Def
}

// Resolve follows references at the top of t and returns the type they lead to. A reference to a missing definition is Unknown.
func (s *Schema) Resolve(t Type) Type {
	for range len(s.Defs) + 2 {
		ref, ok := t.(Ref)
		if !ok {
			return t
		}
		t = s.lookup(ref.Name)
	}
	return Unknown{}
}

func (s *Schema) lookup(name string) Type {
	if name == "" {
		return s.Root
	}
	for _, def := range s.Defs {
		if def.Name == name {
			return def.Type
		}
	}
	return Unknown{}
}
