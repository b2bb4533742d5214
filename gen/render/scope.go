package render

import "fmt"

// Scope allocates the names of one module. They are distinct, and depend on the order in which they are requested.
type Scope map[string]bool

// NewScope returns a scope in which the given names are taken.
func NewScope(taken ...string) Scope {
	s := Scope{}
	for _, name := range taken {
		s[name] = true
	}
	return s
}

// Name allocates want, or want followed by the first number that makes it unique.
func (s Scope) Name(want string) string {
	name := want
	for n := 2; s[name]; n++ {
		name = fmt.Sprintf("%s%d", want, n)
	}
	s[name] = true
	return name
}
