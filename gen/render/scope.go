package render

import "fmt"

// Scope gives out the names of one module. They differ, and depend on the order in which they are asked for.
type Scope map[string]bool

// NewScope returns a scope in which the given names are taken.
func NewScope(taken ...string) Scope {
	s := Scope{}
	for _, name := range taken {
		s[name] = true
	}
	return s
}

// Name returns want, or want with the first number that makes it new, and takes it.
func (s Scope) Name(want string) string {
	name := want
	for n := 2; s[name]; n++ {
		name = fmt.Sprintf("%s%d", want, n)
	}
	s[name] = true
	return name
}
