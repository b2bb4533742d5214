package render

import (
	"maps"
	"slices"
	"strings"
)

// An index exports the types of its tools too, so that a script can name them. `export *` says that in the fewest tokens,
// but two modules must not export one name that way: then the index says which one is meant, or leaves it out.

// tsName is a type that a wrapper's file declares.
type tsName struct{ name, text string }

// tsShared is a type that several files declare alike, and the one that the index takes it from.
type tsShared struct{ Name, Specifier string }

// declare adds a declaration, below its documentation.
func (t *tsTool) declare(name, declaration, doc string) {
	t.Types = append(t.Types, doc+declaration)
	t.names = append(t.names, tsName{name, declaration})
}

// tsExports fills in what an index exports of each tool, and returns the types that several of them share. A type that
// files declare in different ways, or that is called as a function is, is exported of none: it is in the tool's own file.
func tsExports(tools []tsTool) []tsShared {
	texts, times := map[string]string{}, map[string]int{}
	var differ []string
	for _, t := range tools {
		texts[t.Function], times[t.Function] = "", 1
	}
	for _, t := range tools {
		for _, n := range t.names {
			if text, known := texts[n.name]; known && text != n.text {
				differ = append(differ, n.name)
			}
			texts[n.name] = n.text
			times[n.name]++
		}
	}
	maps.DeleteFunc(texts, func(name, _ string) bool { return times[name] == 1 })
	unlike := withUsers(differ, texts)
	var shared []tsShared
	done := map[string]bool{}
	for i := range tools {
		t := &tools[i]
		t.Export = "*"
		if slices.ContainsFunc(t.names, func(n tsName) bool { return unlike[n.name] }) {
			t.Export = "{ " + t.Function
			for _, n := range t.names {
				if times[n.name] == 1 && !unlike[n.name] {
					t.Export += ", type " + n.name
				}
			}
			t.Export += " }"
		}
		for _, n := range t.names {
			if times[n.name] > 1 && !unlike[n.name] && !done[n.name] {
				done[n.name] = true
				shared = append(shared, tsShared{n.name, t.Specifier})
			}
		}
	}
	return shared
}

// withUsers are names, and those whose text names one of them: two that read alike are not alike where it differs.
func withUsers(names []string, texts map[string]string) map[string]bool {
	out := map[string]bool{}
	if len(names) == 0 {
		return out
	}
	users := map[string][]string{}
	for name, text := range texts {
		for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \n\t;:,.|&?<>(){}[]=\"'", r) }) {
			if _, declared := texts[word]; declared && word != name {
				users[word] = append(users[word], name)
			}
		}
	}
	for len(names) > 0 {
		name := names[len(names)-1]
		names = names[:len(names)-1]
		if !out[name] {
			out[name] = true
			names = append(names, users[name]...)
		}
	}
	return out
}
