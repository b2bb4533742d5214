package python

import (
	"regexp"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/render/internal/text"
)

// Type checkers read the text of a string literal in a type twice: first as a type in quotation marks, and then as a value. The following
// functions prevent the first reading from having an effect.

const (
	// maxLiteral and maxLiteralBrackets bound what type checkers have to parse in one literal, in bytes and brackets. They give up on the
	// whole program at some depth, or at some thousands of words.
	maxLiteral         = 1000
	maxLiteralBrackets = 50
	// maxPlainLiteral bounds the literals that pyright may parse, in bytes.
	maxPlainLiteral = 200
)

var (
	// unionText matches a union in a string, for which mypy mistakes a literal.
	unionText = regexp.MustCompile(`[^\s|]\s*\|\s*[^\s|=>]`)
	// codeText matches what pyright checks in an expression in quotation marks, whatever the expression is for: a call, a comprehension, a
	// condition, an await.
	codeText = regexp.MustCompile(`\(|:=|\b(?:async|await|for|if|lambda|yield)\b`)
)

// printLiteral prints a literal's value. exact is false if Python has no such literal or type checkers cannot read it; printed is then a
// type.
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

// fieldDoc returns the documentation of a property, including the constants that its type cannot express.
func (p *printer) fieldDoc(f ir.Field) string {
	var wide []string
	ir.Walk(f.Type, func(t ir.Type) bool {
		switch t := t.(type) {
		case ir.Object: // its properties have their own documentation
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

// readable reports whether type checkers can read s as the value of a Literal.
func readable(s string) bool {
	brackets := strings.Count(s, "[") + strings.Count(s, "(") + strings.Count(s, "{")
	return len(s) <= maxLiteral && brackets <= maxLiteralBrackets && exactText(s) && !unionText.MatchString(s)
}

// exactText reports whether pyright reads the output of quote for s as s. pyright keeps only the last four digits of an escape with eight,
// so it would read a different text.
func exactText(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r > 0xFFFF && !ident.Visible(r) }) < 0
}

// validKey reports whether a TypedDict can have the key.
func validKey(name string) bool { return name != "" && exactText(name) }

// holdsCode reports whether pyright would check the text of a literal as an expression. It does so if Literal is imported directly from
// typing, but not if it comes through another module.
func holdsCode(text string) bool {
	for _, s := range stringLiterals.FindAllString(text, -1) {
		if len(s) > maxPlainLiteral || codeText.MatchString(s) {
			return true
		}
	}
	return false
}
