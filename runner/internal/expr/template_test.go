package expr

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTemplate(t *testing.T) {
	for text, want := range map[string][]Part{
		"":                      nil,
		"plain $ {x} }":         {{Text: "plain $ {x} }"}},
		"${a}":                  {{"a", true, 2}},
		"x ${ a } y ${b}":       {{"x ", false, 0}, {" a ", true, 4}, {" y ", false, 8}, {"b", true, 13}},
		"$${a} ${b}":            {{"${a} ", false, 0}, {"b", true, 8}},
		`${ {"}": '}'}["}"] }x`: {{` {"}": '}'}["}"] `, true, 2}, {"x", false, 20}},
		`${ "\"}" + r"\" }`:     {{` "\"}" + r"\" `, true, 2}},
		"${ '''a'}''' }":        {{" '''a'}''' ", true, 2}},
		"${ a // }\n}":          {{" a // }\n", true, 2}},
	} {
		got, err := Template(text)
		if err != nil || !cmp.Equal(got, want) {
			t.Errorf("Template(%q) = %+v, %v, want %+v", text, got, err, want)
		}
	}
	for text, column := range map[string]int{"${": 0, "a ${ {": 2, "x\ny ${ '}": 2, "${ a // }": 0} {
		_, err := Template(text)
		if bad, ok := errors.AsType[*SyntaxError](err); !ok || bad.Column != column {
			t.Errorf("Template(%q): %v, want an error at column %d", text, err, column)
		}
	}
}
