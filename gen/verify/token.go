package verify

// kind is the kind of a token. Punctuation has its own text for a kind.
type kind uint8

const (
	end    kind = iota
	name        // an identifier or keyword
	number      // a literal number, without sign
	text        // a string literal; token.text is what is between the quotation marks, escapes as written
	mark        // punctuation
	line        // the end of a logical line (Python)
	indent      // one level in (Python)
	dedent      // one level out (Python)
)

// token is one token of a file, a view of its bytes.
type token struct {
	kind kind
	// quote is how a string was quoted: '"', '\'', or 'd' for three double quotation marks.
	quote byte
	// escaped says that a string holds escapes.
	escaped bool
	line    int
	text    string
}

// show is a token as an error names it.
func (t token) show() string {
	switch t.kind {
	case end:
		return "end of file"
	case line:
		return "end of line"
	case indent, dedent:
		return "indentation"
	case text:
		return `"` + t.text + `"`
	}
	return t.text
}

// cursor walks over tokens, of which the last is always end.
type cursor struct {
	tokens []token
	at     int
	depth  int
}

// maxNesting bounds how deep types may stand in each other.
const maxNesting = 500

func (c *cursor) peek() token { return c.tokens[c.at] }

func (c *cursor) peekAfter() token { return c.tokens[min(c.at+1, len(c.tokens)-1)] }

func (c *cursor) next() token {
	t := c.tokens[c.at]
	if c.at < len(c.tokens)-1 {
		c.at++
	}
	return t
}

// is reports whether the next token is that word or punctuation.
func (c *cursor) is(s string) bool {
	t := c.tokens[c.at]
	return (t.kind == mark || t.kind == name) && t.text == s
}

// accept takes the next token where it is that word or punctuation.
func (c *cursor) accept(s string) bool {
	if c.is(s) {
		c.at++
		return true
	}
	return false
}

func (c *cursor) expect(s string) *Error {
	if c.accept(s) {
		return nil
	}
	return c.unexpected("`" + s + "`")
}

// all expects several tokens in a row.
func (c *cursor) all(words ...string) *Error {
	for _, w := range words {
		if err := c.expect(w); err != nil {
			return err
		}
	}
	return nil
}

func (c *cursor) expectKind(k kind, want string) (token, *Error) {
	if t := c.peek(); t.kind == k {
		return c.next(), nil
	}
	return token{}, c.unexpected(want)
}

func (c *cursor) unexpected(want string) *Error {
	t := c.peek()
	return fail(t.line, t.show(), want)
}

// deeper counts one level of nesting; the caller calls c.depth-- when it is done.
func (c *cursor) deeper() *Error {
	if c.depth++; c.depth > maxNesting {
		return c.unexpected("types nested less deep")
	}
	return nil
}

func isLetter(c byte) bool { return c == '_' || (c|0x20 >= 'a' && c|0x20 <= 'z') }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isHex(c byte) bool    { return isDigit(c) || (c|0x20 >= 'a' && c|0x20 <= 'f') }

// scanNumber returns the end of a plain decimal number that begins at i: digits, fraction, exponent.
func scanNumber(s string, i int) int {
	digits := func() {
		for i < len(s) && isDigit(s[i]) {
			i++
		}
	}
	digits()
	if i+1 < len(s) && s[i] == '.' && isDigit(s[i+1]) {
		i++
		digits()
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		j := i + 1
		if j < len(s) && (s[j] == '+' || s[j] == '-') {
			j++
		}
		if j < len(s) && isDigit(s[j]) {
			i = j
			digits()
		}
	}
	return i
}
