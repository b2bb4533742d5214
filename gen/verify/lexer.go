package verify

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// kind is the kind of a token.
type kind uint8

const (
	end    kind = iota
	name        // an identifier or keyword
	number      // a literal number, without sign
	text        // a string literal; token.text is the source between the quotation marks
	mark        // punctuation
	line        // the end of a logical line (Python)
	indent      // one level of indentation more (Python)
	dedent      // one level of indentation less (Python)
)

// token is one token of a file.
type token struct {
	kind kind
	// quote says how a string was quoted: '"', '\'', or 'd' for three double quotation marks.
	quote byte
	// escaped reports whether a string contains escapes.
	escaped bool
	line    int
	text    string
	end     int // offset in the file after it
}

// is reports whether a token is one of these words or marks.
func (t token) is(words ...string) bool {
	if t.kind != name && t.kind != mark {
		return false
	}
	for _, word := range words {
		if t.text == word {
			return true
		}
	}
	return false
}

// show returns a token as quoted in an error.
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

var (
	plainNumber = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?`)
	// tsEscapes and pyEscapes match the text of a string if all escapes in it are ones used in generated files.
	tsEscapes = regexp.MustCompile(`^([^\\]|\\(["'\\nrtbf]|x[[:xdigit:]]{2}|u[[:xdigit:]]{4}|u\{[[:xdigit:]]{1,6}\}))*$`)
	pyEscapes = regexp.MustCompile(`^([^\\]|\\(["'\\nrtbf]|x[[:xdigit:]]{2}|u[[:xdigit:]]{4}|U00(0[[:xdigit:]]|10)[[:xdigit:]]{4}))*$`)
)

// lexer splits a file into tokens. It rejects what no generated file contains: templates, regular expressions, decorators in TypeScript,
// prefixes of strings, continued lines, escapes outside strings, identifiers beyond ASCII.
type lexer struct {
	python     bool
	src        string
	i          int
	row        int
	open       int   // open brackets
	levels     []int // indentation levels
	tokens     []token
	err        *Error
	comments   int
	directives []token // comments that Python's type checkers obey
}

func newLexer(src string, python bool) *lexer {
	l := &lexer{python: python, src: src, row: 1, levels: []int{0}, tokens: make([]token, 0, len(src)/6+8)}
	for l.i < len(src) && l.err == nil {
		if python && l.open == 0 && (l.i == 0 || src[l.i-1] == '\n') {
			l.indentation()
		}
		if l.i < len(src) && l.err == nil {
			l.token()
		}
	}
	if python {
		l.endLine()
		for range l.levels[1:] {
			l.add(dedent, 0)
		}
	}
	l.add(end, 0)
	return l
}

func (l *lexer) fail(found, want string) {
	if l.err == nil {
		l.err = fail(l.row, found, want)
	}
}

// add adds a token that consists of the next n bytes.
func (l *lexer) add(k kind, n int) {
	l.tokens = append(l.tokens, token{kind: k, line: l.row, text: l.src[l.i : l.i+n], end: l.i + n})
	l.i += n
}

func (l *lexer) token() {
	rest := l.src[l.i:]
	switch c := rest[0]; {
	case c == '\n':
		if l.python && l.open == 0 {
			l.endLine()
		}
		l.i++
		l.row++
	case c == ' ':
		l.i++
	case l.python && c == '#':
		l.pyComment()
	case !l.python && c == '/':
		l.tsComment()
	case c == '"', l.python && c == '\'':
		l.string(c)
	case l.isLetter(c):
		l.word()
	case isDigit(c):
		n := len(plainNumber.FindString(rest))
		if n < len(rest) && (l.isLetter(rest[n]) || rest[n] == '.') {
			l.fail(rest[:n+1], "a number")
			return
		}
		l.add(number, n)
	default:
		l.mark(rest)
	}
}

func (l *lexer) word() {
	j := l.i
	for j < len(l.src) && (l.isLetter(l.src[j]) || isDigit(l.src[j])) {
		j++
	}
	if j < len(l.src) && (l.src[j] == '"' || l.src[j] == '\'') {
		l.fail(l.src[l.i:j+1], "a string without a prefix")
	}
	l.add(name, j-l.i)
}

func (l *lexer) mark(rest string) {
	single, long := "{}[]()<>|&;:,?=-*", []string{"..."}
	if l.python {
		single, long = "{}[]()|:,=@*.", []string{"...", "->", "**"}
	}
	for _, m := range long {
		if strings.HasPrefix(rest, m) {
			l.add(mark, len(m))
			return
		}
	}
	if strings.IndexByte(single+"-", rest[0]) < 0 {
		_, size := utf8.DecodeRuneInString(rest)
		l.fail(rest[:size], "code of a generated file")
		return
	}
	switch rest[0] {
	case '(', '[', '{':
		l.open++
	case ')', ']', '}':
		if l.open--; l.open < 0 {
			l.fail(rest[:1], "brackets that match")
		}
	}
	l.add(mark, 1)
}

// tsComment skips a comment of TypeScript.
func (l *lexer) tsComment() {
	rest := l.src[l.i:]
	n := strings.IndexByte(rest, '\n')
	if n < 0 {
		n = len(rest)
	}
	switch {
	case strings.HasPrefix(rest, "//"):
	case strings.HasPrefix(rest, "/*"):
		if n = strings.Index(rest[2:], "*/") + 4; n < 4 {
			l.fail("/*", "a comment that ends")
			return
		}
	default:
		l.fail("/", "a comment")
		return
	}
	if found := tsDirective(rest[:n]); found != "" {
		l.fail(found, "no directive to a compiler in a comment")
	}
	l.row += strings.Count(rest[:n], "\n")
	l.i += n
}

// tsDirective returns the part of a comment that a compiler or bundler would obey.
func tsDirective(comment string) string {
	if strings.HasPrefix(comment, "///") {
		return "///"
	}
	for i := range len(comment) {
		if c := comment[i]; c != '@' && c != '#' {
			continue
		}
		rest := comment[i+1:]
		if foldPrefix(rest, "ts-") || foldPrefix(rest, "__") || foldPrefix(strings.TrimLeft(rest, " "), "sourcemappingurl") {
			return comment[i:]
		}
	}
	return ""
}

// pyComment skips a comment of Python, up to the end of its line, and records a directive.
func (l *lexer) pyComment() {
	comment, _, _ := strings.Cut(l.src[l.i:], "\n")
	if pyDirective(comment) {
		l.directives = append(l.directives, token{kind: name, line: l.row, text: comment})
	}
	l.comments++
	l.i += len(comment)
}

// pyDirective reports whether type checkers obey a comment: "type: ignore" and similar, at its beginning or after a further # in it.
func pyDirective(comment string) bool {
	for part := range strings.SplitSeq(comment, "#") {
		part = strings.TrimLeft(part, " ")
		for _, tool := range []string{"type", "pyright", "mypy", "pyre"} {
			if foldPrefix(part, tool) && strings.HasPrefix(strings.TrimLeft(part[len(tool):], " "), ":") {
				return true
			}
		}
	}
	return false
}

// encoding reports whether a line declares the encoding of the file (PEP 263).
func encoding(line string) bool {
	return strings.Contains(line, "coding:") || strings.Contains(line, "coding=")
}

// string reads a string literal. It is in double quotation marks; in Python also in single ones, or in triple double ones over several
// lines.
func (l *lexer) string(quote byte) {
	rest := l.src[l.i:]
	t := token{kind: text, quote: quote, line: l.row}
	closing, n := rest[:1], 1
	if l.python && strings.HasPrefix(rest, `"""`) {
		t.quote, closing, n = 'd', `"""`, 3
	}
	start := n
	for ; n < len(rest) && !strings.HasPrefix(rest[n:], closing); n++ {
		switch {
		case rest[n] == '\n' && len(closing) == 1:
			l.fail(rest[:n], "a string that ends on its line")
			return
		case rest[n] == '\n':
			l.row++
		case rest[n] == '\\':
			t.escaped = true
			n++
		}
	}
	if n >= len(rest) {
		l.err = fail(t.line, closing, "a string that ends")
		return
	}
	t.text = rest[start:n]
	l.i += n + len(closing)
	t.end = l.i
	escapes := tsEscapes
	if l.python {
		escapes = pyEscapes
	}
	if t.escaped && !escapes.MatchString(t.text) {
		l.fail(t.text, "escapes of a generated file")
	}
	if l.python && l.i < len(l.src) && (l.src[l.i] == '"' || l.src[l.i] == '\'') {
		l.fail(l.src[l.i:l.i+1], "one string, not two in a row")
	}
	l.tokens = append(l.tokens, t)
}

// endLine ends a logical line of Python, if one has begun.
func (l *lexer) endLine() {
	if n := len(l.tokens); n > 0 && l.tokens[n-1].kind != line && l.tokens[n-1].kind != indent && l.tokens[n-1].kind != dedent {
		l.add(line, 0)
	}
}

// indentation reads the blanks at the beginning of a line of Python. A line without code has no indentation.
func (l *lexer) indentation() {
	rest := strings.TrimLeft(l.src[l.i:], " ")
	width := len(l.src) - l.i - len(rest)
	l.i += width
	if rest == "" || rest[0] == '\n' || rest[0] == '#' {
		if comment, _, _ := strings.Cut(rest, "\n"); l.row <= 2 && encoding(comment) {
			l.fail(comment, "no encoding in a comment")
		}
		return
	}
	if width > l.levels[len(l.levels)-1] {
		l.levels = append(l.levels, width)
		l.add(indent, 0)
	}
	for width < l.levels[len(l.levels)-1] {
		l.levels = l.levels[:len(l.levels)-1]
		l.add(dedent, 0)
	}
	if width != l.levels[len(l.levels)-1] {
		l.fail("indentation", "the indentation of a line above")
	}
}

// isLetter reports whether c may begin an identifier.
func (l *lexer) isLetter(c byte) bool {
	return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '$' && !l.python
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// foldPrefix reports whether s begins with prefix, ignoring the case of s. prefix must be in lower case.
func foldPrefix(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}
