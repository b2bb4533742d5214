package verify

import "strings"

// pyLexer splits a file into tokens, logical lines and indentation included.
type pyLexer struct {
	src    string
	i      int
	row    int
	open   int   // brackets
	levels []int // of indentation
	tokens []token
	// comments counts them all; orders are those that mean something to others.
	comments int
	orders   []token
}

func lexPython(src string) (*pyLexer, *Error) {
	l := &pyLexer{src: src, row: 1, levels: []int{0}, tokens: make([]token, 0, len(src)/6+8)}
	for l.i < len(l.src) {
		if l.open == 0 && (l.i == 0 || l.src[l.i-1] == '\n') {
			blank, err := l.indentation()
			if err != nil {
				return nil, err
			}
			if blank {
				continue
			}
		}
		if err := l.token(); err != nil {
			return nil, err
		}
	}
	l.endLine()
	for range l.levels[1:] {
		l.add(dedent, "")
	}
	l.add(end, "")
	return l, nil
}

func (l *pyLexer) add(k kind, s string) {
	l.tokens = append(l.tokens, token{kind: k, line: l.row, text: s})
}

// endLine ends a logical line, where there is one.
func (l *pyLexer) endLine() {
	if n := len(l.tokens); n > 0 {
		switch l.tokens[n-1].kind {
		case line, indent, dedent:
		default:
			l.add(line, "")
		}
	}
}

// indentation reads the blanks at the beginning of a line. blank says that nothing but a comment follows them.
func (l *pyLexer) indentation() (blank bool, err *Error) {
	start := l.i
	for l.i < len(l.src) && l.src[l.i] == ' ' {
		l.i++
	}
	if l.i == len(l.src) || l.src[l.i] == '\n' || l.src[l.i] == '#' {
		if rest, _, _ := strings.Cut(l.src[l.i:], "\n"); l.row <= 2 && encoding(rest) {
			return false, fail(l.row, rest, "no encoding in a comment")
		}
		l.comment()
		if l.i < len(l.src) {
			l.i++
			l.row++
		}
		return true, nil
	}
	width, now := l.i-start, l.levels[len(l.levels)-1]
	switch {
	case width > now:
		l.levels = append(l.levels, width)
		l.add(indent, "")
	case width < now:
		for l.levels[len(l.levels)-1] > width {
			l.levels = l.levels[:len(l.levels)-1]
			l.add(dedent, "")
		}
		if l.levels[len(l.levels)-1] != width {
			return false, fail(l.row, "indentation", "that of a line above")
		}
	}
	return false, nil
}

func (l *pyLexer) token() *Error {
	switch c := l.src[l.i]; {
	case c == '\n':
		if l.open == 0 {
			l.endLine()
		}
		l.i++
		l.row++
	case c == ' ':
		l.i++
	case c == '#':
		l.comment()
	case c == '"' || c == '\'':
		return l.string(c)
	case isLetter(c):
		j := l.i + 1
		for j < len(l.src) && (isLetter(l.src[j]) || isDigit(l.src[j])) {
			j++
		}
		if j < len(l.src) && (l.src[j] == '"' || l.src[j] == '\'') {
			return fail(l.row, l.src[l.i:j+1], "a string without a prefix")
		}
		l.add(name, l.src[l.i:j])
		l.i = j
	case isDigit(c):
		j := scanNumber(l.src, l.i)
		if j < len(l.src) && (isLetter(l.src[j]) || l.src[j] == '.') {
			return fail(l.row, l.src[l.i:j+1], "a number")
		}
		l.add(number, l.src[l.i:j])
		l.i = j
	default:
		return l.punctuation(c)
	}
	return nil
}

func (l *pyLexer) punctuation(c byte) *Error {
	rest := l.src[l.i:]
	n := 1
	switch {
	case strings.HasPrefix(rest, "..."):
		n = 3
	case strings.HasPrefix(rest, "->"), strings.HasPrefix(rest, "**"):
		n = 2
	case strings.IndexByte("{}[]()|:,=@*/-.", c) < 0:
		size := 1
		for size < len(rest) && rest[size]&0xC0 == 0x80 {
			size++
		}
		return fail(l.row, rest[:size], "code of ours")
	}
	switch c {
	case '(', '[', '{':
		l.open++
	case ')', ']', '}':
		if l.open--; l.open < 0 {
			return fail(l.row, rest[:1], "brackets that match")
		}
	}
	l.add(mark, rest[:n])
	l.i += n
	return nil
}

// comment skips a comment up to the end of its line.
func (l *pyLexer) comment() {
	rest, _, _ := strings.Cut(l.src[l.i:], "\n")
	l.i += len(rest)
	if rest != "" {
		l.comments++
	}
	if pyOrder(rest) {
		l.orders = append(l.orders, token{line: l.row, text: rest})
	}
}

// encoding reports whether a comment, alone on one of the first two lines, says how the file is encoded (PEP 263).
func encoding(comment string) bool {
	for at := comment; ; {
		i := strings.Index(at, "coding")
		if i < 0 {
			return false
		}
		if at = at[i+len("coding"):]; at != "" && (at[0] == ':' || at[0] == '=') {
			return true
		}
	}
}

// pyOrder reports whether a comment holds what type checkers obey: "type: ignore" and its kin, at its beginning or
// after a # in it.
func pyOrder(comment string) bool {
	for i := 0; i < len(comment); i++ {
		if comment[i] != '#' {
			continue
		}
		word := strings.TrimLeft(comment[i+1:], " ")
		for _, tool := range [...]string{"type", "pyright", "mypy", "pyre"} {
			if foldPrefix(word, tool) && strings.HasPrefix(strings.TrimLeft(word[len(tool):], " "), ":") {
				return true
			}
		}
	}
	return false
}

// string reads a string: in single quotation marks, in double ones, or in three double ones over several lines.
func (l *pyLexer) string(quote byte) *Error {
	rest := l.src[l.i:]
	long := strings.HasPrefix(rest, `"""`)
	if strings.HasPrefix(rest, "'''") {
		return fail(l.row, "'''", "a string in quotation marks of ours")
	}
	t := token{kind: text, quote: quote, line: l.row}
	i := 1
	if long {
		t.quote, i = 'd', 3
	}
	for start := i; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == '\n' && !long:
			return fail(t.line, rest[:i], "a string that ends on its line")
		case c == '\n':
			l.row++
		case c == '\\':
			t.escaped = true
			n := escapeLength(rest[i:], false)
			if n == 0 {
				return fail(l.row, rest[i:min(i+2, len(rest))], "an escape of ours")
			}
			i += n - 1
		case c == quote && (!long || strings.HasPrefix(rest[i:], `"""`)):
			t.text = rest[start:i]
			if i++; long {
				i += 2
			}
			if i < len(rest) && (rest[i] == '"' || rest[i] == '\'') {
				return fail(l.row, rest[i:i+1], "one string, not two in a row")
			}
			l.i += i
			l.tokens = append(l.tokens, t)
			return nil
		}
	}
	return fail(t.line, string(quote), "a string that ends")
}

func pyKeyword(s string) bool {
	switch s {
	case "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
		"elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
		"not", "or", "pass", "raise", "return", "try", "while", "with", "yield":
		return true
	}
	return false
}
