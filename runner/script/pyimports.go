package script

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// pythonImport is one module that Python code imports.
type pythonImport struct {
	level  int      // dots before the name
	module []string // the name's parts
	names  []string // what is imported from it: attributes or modules
	line   int      // from 1
}

// maxPythonImports bounds how many imports of one file are followed.
const maxPythonImports = 5000

// pythonImports finds the import statements of code, wherever they stand, and importlib.import_module with a name that
// is written out. Text in strings and comments is none.
func pythonImports(code string) []pythonImport {
	s := &pyScanner{code: code, line: 1}
	p := &pyImports{next: s.next}
	p.advance()
	for p.tok.kind != pyEnd && len(p.found) < maxPythonImports {
		t := p.tok
		switch {
		case t.kind == pyName && t.text == "import" && p.beginsStatement():
			p.importStatement(t.line)
		case t.kind == pyName && t.text == "from" && p.beginsStatement():
			p.fromStatement(t.line)
		case t.kind == pyName && (t.text == "import_module" || t.text == "__import__"):
			p.call(t.line)
		default:
			p.advance()
		}
	}
	return p.found
}

type pyImports struct {
	next      func() pyToken
	tok, last pyToken // last is the one before tok
	found     []pythonImport
}

func (p *pyImports) advance() {
	p.last = p.tok
	p.tok = p.next()
}

// beginsStatement tells whether a statement can begin with the token at hand.
func (p *pyImports) beginsStatement() bool {
	l := p.last
	return l.kind == pyEnd || l.kind == pyNewline || l.kind == pyOther && l.depth == 0 && (l.text == ";" || l.text == ":")
}

func (p *pyImports) is(text string) bool { return p.tok.kind != pyString && p.tok.text == text }

// importStatement reads: import a.b as c, d
func (p *pyImports) importStatement(line int) {
	for {
		p.advance()
		name := p.dotted()
		if len(name) == 0 {
			return
		}
		p.found = append(p.found, pythonImport{module: name, line: line})
		if p.is("as") {
			p.advance()
			p.advance()
		}
		if !p.is(",") {
			return
		}
	}
}

// fromStatement reads: from ..a.b import (c as d, e)
func (p *pyImports) fromStatement(line int) {
	found := pythonImport{line: line}
	for p.advance(); p.is("."); p.advance() {
		found.level++
	}
	found.module = p.dotted()
	if !p.is("import") || found.level == 0 && len(found.module) == 0 {
		return
	}
	p.advance()
	if p.is("(") {
		p.advance()
	}
	for p.tok.kind == pyName || p.is("*") {
		found.names = append(found.names, p.tok.text)
		p.advance()
		if p.is("as") {
			p.advance()
			p.advance()
		}
		if !p.is(",") {
			break
		}
		p.advance()
	}
	if p.is(")") {
		p.advance()
	}
	p.found = append(p.found, found)
}

// dotted reads a name with dots.
func (p *pyImports) dotted() []string {
	var parts []string
	for p.tok.kind == pyName && !p.is("import") {
		parts = append(parts, p.tok.text)
		p.advance()
		if !p.is(".") {
			break
		}
		p.advance()
	}
	return parts
}

// call reads: import_module("a.b")
func (p *pyImports) call(line int) {
	p.advance()
	if !p.is("(") {
		return
	}
	p.advance()
	if p.tok.kind != pyString || p.tok.text == "" {
		return
	}
	parts := strings.Split(p.tok.text, ".")
	for _, part := range parts {
		if !isPythonName(part) {
			return
		}
	}
	p.found = append(p.found, pythonImport{module: parts, line: line})
}

func isPythonName(s string) bool {
	for i, r := range s {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return false
		}
	}
	return s != "" && len(s) <= 255
}

// pyKind sorts tokens of Python.
type pyKind int

const (
	pyEnd pyKind = iota
	pyNewline
	pyName
	pyString // text is what is between the quotes of a plain string; empty for others
	pyOther  // one character
)

type pyToken struct {
	kind  pyKind
	text  string
	line  int
	depth int // of brackets around it
}

// pyScanner splits Python code into tokens, as far as finding imports needs it.
type pyScanner struct {
	code        string
	at          int
	line, depth int
}

func (s *pyScanner) next() pyToken {
	for s.at < len(s.code) {
		c := s.code[s.at]
		t := pyToken{line: s.line, depth: s.depth}
		switch {
		case c == '#':
			s.skipLine()
		case c == '\\' && s.newlineAt(s.at+1) > 0:
			s.at += 1 + s.newlineAt(s.at+1)
			s.line++
		case s.newlineAt(s.at) > 0:
			s.at += s.newlineAt(s.at)
			s.line++
			if s.depth == 0 {
				t.kind, t.text = pyNewline, "\n"
				return t
			}
		case c == ' ' || c == '\t' || c == '\f':
			s.at++
		case c == '"' || c == '\'':
			t.kind, t.text = pyString, s.str("")
			return t
		default:
			return s.word(t)
		}
	}
	return pyToken{kind: pyEnd, line: s.line}
}

func (s *pyScanner) newlineAt(at int) int {
	switch {
	case strings.HasPrefix(s.code[min(at, len(s.code)):], "\r\n"):
		return 2
	case at < len(s.code) && (s.code[at] == '\n' || s.code[at] == '\r'):
		return 1
	}
	return 0
}

func (s *pyScanner) skipLine() {
	for s.at < len(s.code) && s.newlineAt(s.at) == 0 {
		s.at++
	}
}

// word reads a name, a string with a prefix, or one character.
func (s *pyScanner) word(t pyToken) pyToken {
	start := s.at
	for s.at < len(s.code) {
		r, n := utf8.DecodeRuneInString(s.code[s.at:])
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r) {
			break
		}
		s.at += n
	}
	text := s.code[start:s.at]
	if text == "" {
		_, n := utf8.DecodeRuneInString(s.code[s.at:])
		s.at += n
		t.kind, t.text = pyOther, s.code[start:s.at]
		switch t.text {
		case "(", "[", "{":
			s.depth++
		case ")", "]", "}":
			s.depth = max(0, s.depth-1)
			t.depth = s.depth
		}
		return t
	}
	if s.at < len(s.code) && (s.code[s.at] == '"' || s.code[s.at] == '\'') && len(text) <= 2 && strings.Trim(strings.ToLower(text), "rbuft") == "" {
		t.kind, t.text = pyString, s.str(strings.ToLower(text))
		return t
	}
	t.kind, t.text = pyName, text
	return t
}

// str reads a string from its first quote. It returns what is in a plain one.
func (s *pyScanner) str(prefix string) string {
	quote := s.code[s.at : s.at+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(s.code[s.at:], triple) {
		quote = triple
	}
	s.at += len(quote)
	start := s.at
	formatted := strings.ContainsAny(prefix, "ft")
	plain := prefix == ""
	for s.at < len(s.code) {
		rest := s.code[s.at:]
		switch {
		case strings.HasPrefix(rest, quote):
			text := s.code[start:s.at]
			s.at += len(quote)
			if !plain {
				return ""
			}
			return text
		case rest[0] == '\\':
			plain = false
			s.at++
			if n := s.newlineAt(s.at); n > 0 {
				s.line++
				s.at += n
			} else if s.at < len(s.code) {
				s.at++
			}
		case s.newlineAt(s.at) > 0:
			if len(quote) == 1 {
				return "" // not closed: an error, which the interpreter shows
			}
			s.line++
			s.at += s.newlineAt(s.at)
		case formatted && strings.HasPrefix(rest, "{{"):
			s.at += 2
		case formatted && rest[0] == '{':
			s.field(quote)
		default:
			s.at++
		}
	}
	return ""
}

// field passes over a replacement field of a formatted string, which may hold strings with the same quotes.
func (s *pyScanner) field(quote string) {
	for depth := 0; s.at < len(s.code); {
		switch c := s.code[s.at]; {
		case c == '{' || c == '[' || c == '(':
			depth++
			s.at++
		case c == '}' || c == ']' || c == ')':
			depth--
			s.at++
			if depth <= 0 {
				return
			}
		case s.newlineAt(s.at) > 0:
			if len(quote) == 1 && depth <= 1 {
				return
			}
			s.line++
			s.at += s.newlineAt(s.at)
		case c == '#' && len(quote) == 3:
			s.skipLine()
		case strings.HasPrefix(s.code[s.at:], quote) && depth <= 1 && s.closes(quote):
			return // the string ends in the middle of the field: an error, or a format
		case c == '"' || c == '\'':
			s.str("")
		default:
			s.at++
		}
	}
}

// closes tells whether the quote at hand ends the string rather than beginning one in a field: none comes after it in the
// same line.
func (s *pyScanner) closes(quote string) bool {
	before, _, found := strings.Cut(s.code[s.at+len(quote):], quote) // and no further: of a line of a megabyte this is asked often
	return !found || len(quote) == 1 && strings.ContainsAny(before, "\r\n")
}

// BeyondPackage finds relative imports with more dots than there are folders between the script's and the file's, and
// more than one: they lead out of the script's folder, or do where there is a package. It returns their lines.
func BeyondPackage(code string, depth int) []int {
	var lines []int
	for _, im := range pythonImports(code) {
		if im.level > max(depth, 1) {
			lines = append(lines, im.line)
		}
	}
	return lines
}
