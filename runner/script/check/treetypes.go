package check

import (
	"regexp"
	"strings"
)

// treeTypes are the types that the tree's wrappers declare.
type treeTypes struct {
	names   map[string]bool
	first   map[string]bool // the first members of objects
	members map[string]bool // the members of objects
}

var (
	declaredType = regexp.MustCompile(`\n(?:export (?:interface|type)|class) (\w+)`)
	firstMember  = regexp.MustCompile(`\{\s*(?:/\*\*.*\*/\s*)?"?([\w$-]+)"?\??:`)
	otherMember  = regexp.MustCompile(`\n\s*"?([\w$-]+)"?\??:`)
	// subject matches the type that a message is about: that lacks a member, or does not take an argument.
	subject = regexp.MustCompile(`(?:\b(?:on|in|of|with) type|for class|defined key in) (?:'([^'\n]+)'|"([^"\n]+)")`)
	words   = regexp.MustCompile(`\w+`)
)

// add reads the declarations of a wrapper.
func (t *treeTypes) add(text string) {
	for _, kind := range []struct {
		in   *map[string]bool
		look *regexp.Regexp
	}{{&t.names, declaredType}, {&t.first, firstMember}, {&t.members, otherMember}} {
		if *kind.in == nil {
			*kind.in = map[string]bool{}
		}
		for _, found := range kind.look.FindAllStringSubmatch(text, -1) {
			(*kind.in)[found[1]] = true
		}
	}
}

// about reports whether a message is about a type of the tree: it has the type's name, or it shows an object, which has no name, with
// members that the tree declares.
func (t *treeTypes) about(message string) bool {
	line, _, _ := strings.Cut(message, "\n")
	all := subject.FindAllStringSubmatch(line, -1)
	if len(all) == 0 {
		return false
	}
	last := all[len(all)-1]
	shown := last[1] + last[2]
	if strings.Contains(shown, "=>") { // a function that takes such a type
		return false
	}
	if object, found := strings.CutPrefix(shown, "{ "); found {
		return t.declares(object)
	}
	if strings.ContainsAny(shown, "{|") { // of a union, a script may have told the members apart in a way that the compiler does not follow
		return false
	}
	for _, word := range words.FindAllString(shown, -1) {
		if t.names[word] {
			return true
		}
	}
	return false
}

// declares reports whether the tree declares the members of an object, of which the compiler shows some: a: string; b: { … }; ... 3 more ...; }.
func (t *treeTypes) declares(object string) bool {
	depth, name, n := 0, true, 0
	start := 0
	for i, r := range object {
		switch {
		case strings.ContainsRune("{[(<", r):
			depth++
		case strings.ContainsRune("}])>", r):
			depth--
		case depth == 0 && name && r == ':':
			member := strings.Trim(object[start:i], ` "?`)
			if n == 0 && !t.first[member] || n > 0 && !t.members[member] {
				return false
			}
			n, name = n+1, false
		case depth == 0 && r == ';':
			start, name = i+1, true
		}
	}
	return n > 0
}
