package python

import (
	"regexp"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/render/internal/text"
)

// Type checkers read the text of a string literal in a type twice: as a value, and, to begin with, as a type that stands
// in quotation marks. What follows keeps that from having an effect.

const (
	// maxLiteral and maxLiteralBrackets bound what type checkers parse of one literal, in bytes and brackets: they give
	// up the whole program at some depth, and at some thousands of words.
	maxLiteral         = 1000
	maxLiteralBrackets = 50
	// maxPlainLiteral is how long a literal may be that pyright is left to parse.
	maxPlainLiteral = 200
)

var (
	// unionText finds a union in a string, which mypy takes a literal for.
	unionText = regexp.MustCompile(`[^\s|]\s*\|\s*[^\s|=>]`)
	// codeText finds what pyright checks of an expression in quotation marks, whatever the expression is there for: a
	// call, a comprehension, a condition, an order to wait.
	codeText = regexp.MustCompile(`\(|:=|\b(?:async|await|for|if|lambda|yield)\b`)
)

// printLiteral prints a literal's value; exact is false where Python has no such literal, or type checkers can't read it,
// and printed is a type.
func printLiteral(l ir.Literal) (printed string, exact bool) {
	switch {
	case l.Kind == ir.LiteralString && !readable(l.Text):
		return "str", false
	case l.Kind == ir.LiteralString:
		return quote(l.Text), true
	case l.Kind == ir.LiteralBool && l.Bool:
		return "True", true
	case l.Kind == ir.LiteralBool:
		return "False", true
	case strings.Trim(l.Text, "0123456789-") != "" || l.Text == "-0":
		return "float", false
	case len(l.Text) > maxDigits:
		return "int", false
	}
	return l.Text, true
}

// fieldDoc returns the documentation of a property, with the constants that its type cannot hold.
func (p *printer) fieldDoc(f ir.Field) string {
	var wide []string
	ir.Walk(f.Type, func(t ir.Type) bool {
		switch t := t.(type) {
		case ir.Object: // its properties have documentation of their own
			return false
		case ir.Literal:
			if _, exact := printLiteral(t); !exact {
				if t.Kind == ir.LiteralString {
					t.Text = quote(text.Cut(t.Text, maxLiteral, ""))
				}
				wide = appendNew(wide, t.Text)
			}
		}
		return true
	})
	if len(wide) > 0 {
		f.Doc.Limits = append(slices.Clip(f.Doc.Limits), "one of "+strings.Join(wide, "|"))
	}
	return text.Field(f.Name, f.Doc, false, p.stored)
}

// readable reports whether type checkers can be given s as the value of a Literal.
func readable(s string) bool {
	brackets := strings.Count(s, "[") + strings.Count(s, "(") + strings.Count(s, "{")
	return len(s) <= maxLiteral && brackets <= maxLiteralBrackets && exactText(s) && !unionText.MatchString(s)
}

// exactText reports whether pyright reads what quote prints of s as s. Of an escape with eight digits it keeps the last
// four, so that it would take what is written so for another text.
func exactText(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r > 0xFFFF && !ident.Visible(r) }) < 0
}

// validKey reports whether a TypedDict can have a key.
func validKey(name string) bool { return name != "" && exactText(name) }

// holdsCode reports whether pyright would check the text of a literal as an expression. It does
// where Literal is imported from typing, and not where it comes by way of another module.
func holdsCode(text string) bool {
	for _, s := range stringLiterals.FindAllString(text, -1) {
		if len(s) > maxPlainLiteral || codeText.MatchString(s) {
			return true
		}
	}
	return false
}
