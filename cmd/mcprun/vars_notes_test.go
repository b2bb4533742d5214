package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// TestVarNotes: who names a variable like something that the language has is told how to read it.
func TestVarNotes(t *testing.T) {
	both := []sandbox.Language{sandbox.LangTypeScript, sandbox.LangPython}
	for _, c := range []struct {
		name, why string
		in        []sandbox.Language
	}{
		{"class", "reserved word", both}, {"await", "reserved word", both}, {"def", "reserved word", both[1:]}, {"function", "reserved word", both[:1]},
		{"list", "already", both[1:]}, {"console", "already", both[:1]}, {"toString", "already", both[:1]}, {"__name__", "already", both[1:]},
		{"a-b", "no such names", both}, {"$x", "no such names", both[1:]}, {"1a", "no such names", both}, {"", "no such names", both},
		{"rows", "", nil}, {"größe", "", nil}, {"_x1", "", nil},
	} {
		for _, lang := range both {
			notes := strings.Join(varNotes(lang, "print(rows)", map[string]int{c.name: 1}), "\n")
			want := false
			for _, l := range c.in {
				want = want || l == lang
			}
			if (notes != "") != want || want && (!strings.Contains(notes, c.why) || !strings.Contains(notes, fmt.Sprintf("vars[%q]", c.name))) {
				t.Errorf("%s, %q: %q", lang, c.name, notes)
			}
		}
	}
	if notes := varNotes(sandbox.LangPython, "from mcprun import vars", map[string]int{"class": 1}); notes != nil {
		t.Errorf("a script that knows: %q", notes)
	}
	many := map[string]int{}
	for _, name := range strings.Fields(pythonNames) {
		many[name] = 1
	}
	if notes := varNotes(sandbox.LangPython, "1", many); len(notes) != maxVarNotes+1 {
		t.Errorf("%d notes", len(notes))
	}
}
