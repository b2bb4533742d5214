package verify

import (
	"slices"
	"strings"
)

// parser walks over the tokens of a file, the last of which is always end. It keeps the first error. After an error, every remaining token
// reads as end, so loops stop and callers need not check.
type parser struct {
	tokens []token
	at     int
	err    *Error
	// used are the type names in the file, which must prove to be known.
	used []token
	out  module
}

func (p *parser) peek() token { return p.peekAt(0) }

// peekAt returns the token n places after the next one.
func (p *parser) peekAt(n int) token {
	last := len(p.tokens) - 1
	if p.err != nil {
		return p.tokens[last]
	}
	return p.tokens[min(p.at+n, last)]
}

// last returns the token that was taken last.
func (p *parser) last() token { return p.tokens[max(p.at-1, 0)] }

func (p *parser) next() token {
	t := p.peek()
	if t.kind != end {
		p.at++
	}
	return t
}

// is reports whether the next token is one of these words or marks.
func (p *parser) is(words ...string) bool { return p.peek().is(words...) }

// accept takes the next token if it is that word or mark.
func (p *parser) accept(word string) bool {
	if !p.is(word) {
		return false
	}
	p.at++
	return true
}

// expect takes the words and marks, which are separated by blanks.
func (p *parser) expect(words string) {
	for word := range strings.FieldsSeq(words) {
		if !p.accept(word) {
			p.unexpected("`" + word + "`")
		}
	}
}

// take takes the next token, which must be of kind k.
func (p *parser) take(k kind, want string) token {
	if p.peek().kind != k {
		p.unexpected(want)
	}
	return p.next()
}

// id takes a string that is the id of a tool or the name of a folder.
func (p *parser) id(want string) token {
	t := p.take(text, want)
	p.require(!t.escaped && t.text != "" && strings.Trim(t.text, "abcdefghijklmnopqrstuvwxyz0123456789_") == "", t, want)
	return t
}

// require fails at token t unless ok is true.
func (p *parser) require(ok bool, t token, want string) {
	if !ok && p.err == nil {
		p.err = fail(t.line, t.show(), want)
	}
}

// unexpected fails at the next token.
func (p *parser) unexpected(want string) { p.require(false, p.peek(), want) }

// maxNesting bounds the nesting of types.
const maxNesting = 500

// brackets are the brackets that are open in a type.
type brackets struct {
	open []string
}

// innermost returns the bracket that was opened last, or "" if none is open.
func (b *brackets) innermost() string {
	if len(b.open) == 0 {
		return ""
	}
	return b.open[len(b.open)-1]
}

// push opens a bracket. It reports false if the nesting is too deep.
func (b *brackets) push(bracket string) bool {
	b.open = append(b.open, bracket)
	return len(b.open) <= maxNesting
}

// closes reports whether a token closes the innermost bracket.
func (b *brackets) closes(t token) bool {
	i := slices.Index([]string{"(", "[", "{", "<"}, b.innermost())
	return i >= 0 && t.is(string(")]}>"[i]))
}

func (b *brackets) pop() { b.open = b.open[:len(b.open)-1] }
