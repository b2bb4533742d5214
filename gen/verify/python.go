package verify

import (
	"bytes"
	"maps"
	"slices"
	"strings"
)

// pyParser reads a Python file.
type pyParser struct {
	parser
	// known maps each known name to its meaning: a name of Python's, of typing's or of the client's, or itself if the file
	// declares it.
	known map[string]string
	code  bool // a statement other than an import was read
	// preludes are the first and last lines of the blocks that tell type checkers apart.
	preludes [][2]int
}

const (
	pyBuiltins = "str int float bool object list dict tuple None"
	pyKeywords = " False None True and as assert async await break class continue def del elif else except finally for from " +
		"global if import in is lambda nonlocal not or pass raise return try while with yield "
	clientNames = "UNSET Any Extra Literal Mapping NoValue NotRequired OneOf Open Sequence TextOrContent TypeAlias TypedDict tool"
)

// pyModules are the modules that generated files import from, and the names that they may import.
var pyModules = map[string]string{
	"__future__":        "annotations",
	"collections.abc":   "Callable Mapping Sequence",
	"typing":            "TYPE_CHECKING Any Literal Never NotRequired Required TypeAlias TypedDict TypeVar Union",
	"typing_extensions": "ReadOnly",
	"..client":          clientNames + " any_tool",
	".._content":        "Any Literal Mapping MCPPromptResult NotRequired ServerPrompts ServerResources TypedDict overload",
}

func readPython(src []byte) (*module, *Error) {
	if err := checkBytes(src, "#"); err != nil {
		return nil, err
	}
	l := newLexer(string(src), true)
	if l.err != nil {
		return nil, l.err
	}
	p := &pyParser{parser: parser{tokens: l.tokens}, known: make(map[string]string, 32)}
	for word := range strings.FieldsSeq(pyBuiltins) {
		p.known[word] = word
	}
	p.docstring()
	for p.peek().kind != end {
		p.statement()
	}
	p.require(p.known["Prompts"] != "ServerPrompts" || p.out.offer.text != "", token{line: 1}, "the prompts of a server")
	for _, t := range p.used {
		p.require(p.known[t.text] != "", t, "a type that the file imports or declares")
	}
	for _, directive := range l.directives {
		p.require(p.expected(directive), directive, "no directive to a type checker in a comment")
	}
	// mypy obeys lines without looking whether they stand in a string.
	for i, l := range bytes.Split(src, []byte("\n")) {
		directive := token{kind: name, line: i + 1, text: string(l)}
		p.require(!bytes.HasPrefix(l, []byte("# mypy:")) || p.expected(directive), directive, "no directive to a type checker")
	}
	return &p.out, p.err
}

// expected reports whether a directive to type checkers is one that generated files need: for mypy on the second line,
// and in the blocks that tell type checkers apart.
func (p *pyParser) expected(directive token) bool {
	switch directive.text {
	case "# mypy: disable-error-code=empty-body", `# mypy: disable-error-code="attr-defined,call-arg"`:
		return directive.line == 2
	case "# type: ignore", "# pyright: ignore[reportMissingModuleSource]":
		return slices.ContainsFunc(p.preludes, func(lines [2]int) bool { return lines[0] <= directive.line && directive.line <= lines[1] })
	}
	return false
}

// docstring skips a string that is a statement of its own.
func (p *pyParser) docstring() {
	if p.peek().kind == text {
		p.next()
		p.endOfLine()
	}
}

func (p *pyParser) endOfLine() { p.take(line, "the end of the line") }

// indented begins an indented block.
func (p *pyParser) indented() {
	p.endOfLine()
	p.take(indent, "an indented line")
}

// word takes a name that is not a keyword.
func (p *pyParser) word(want string) token {
	t := p.take(name, want)
	p.require(!isKeyword(t.text), t, want)
	return t
}

func isKeyword(s string) bool { return strings.Contains(pyKeywords, " "+s+" ") }

func (p *pyParser) statement() {
	if !p.is("from") {
		p.code = true
		if len(p.out.exports) > 0 || p.out.function.text != "" {
			p.unexpected("the end of the file")
		}
	}
	switch {
	case p.is("from"):
		p.imports()
	case p.is("class"):
		p.class()
	case p.is("if"):
		p.prelude()
	case p.is("@"):
		p.wrapper()
	case p.is("resources", "prompts") && p.peekAt(1).is("="):
		p.offer()
	default:
		p.alias()
	}
}

// imports reads an import: of the names that types need, of the client, or, in an index, of one function from its
// module.
func (p *pyParser) imports() {
	start := p.next()
	p.require(!p.code, start, "no import here")
	module := ""
	for p.peek().kind != end && !p.is("import") {
		t := p.next()
		p.require(t.kind == name || t.is(".", "..."), t, "a module of a generated file")
		module += t.text
	}
	p.expect("import")
	known, ok := pyModules[module]
	if !ok {
		p.reexport(start, module)
		return
	}
	p.require(len(p.out.exports) == 0, start, "an import of a tool")
	names := strings.Fields(known)
	if strings.HasPrefix(module, "..") && p.accept("*") {
		for _, n := range names {
			if n != "any_tool" { // the client does not export it to a star import
				p.known[n] = n
			}
		}
		p.endOfLine()
		return
	}
	for more := true; more; more = p.accept(",") {
		t := p.take(name, "a name")
		p.require(slices.Contains(names, t.text), t, "an import of a generated file")
		called := t
		if p.accept("as") {
			called = p.word("a name")
		}
		p.require(p.known[called.text] == "" || p.known[called.text] == t.text, called, "a new name")
		p.known[called.text] = t.text
	}
	p.endOfLine()
}

// reexport reads the rest of a line of an index: from .name import name as name.
func (p *pyParser) reexport(start token, module string) {
	function := strings.TrimPrefix(module, ".")
	ok := module == "."+function && isIdentifier(function) && !isKeyword(function) && len(p.known) == len(strings.Fields(pyBuiltins))
	p.require(ok, start, "a module of a generated file")
	p.expect(function)
	if p.accept("as") {
		p.expect(function)
	}
	start.text = function
	p.out.exports = append(p.out.exports, start)
	p.endOfLine()
}

// declare notes a new type.
func (p *pyParser) declare(t token) {
	p.require(p.known[t.text] == "" && !isKeyword(t.text), t, "a new type's name")
	p.known[t.text] = t.text
	p.out.types = append(p.out.types, t)
}

// declared reports whether the file itself declares a type.
func (p *pyParser) declared(name string) bool {
	return slices.ContainsFunc(p.out.types, func(t token) bool { return t.text == name })
}

// class reads a class of fields, with a TypedDict or classes of the file as bases; or an empty one.
func (p *pyParser) class() {
	p.next()
	t := p.take(name, "a class's name")
	if p.accept("(") {
		if p.known[p.peek().text] == "ServerPrompts" {
			p.promptsClass(t)
			return
		}
		for more := true; more; more = !p.peekAt(2).is("=") && p.accept(",") {
			base := p.take(name, "a class of the file")
			meaning := p.known[base.text]
			p.require(meaning == "TypedDict" || meaning == "Open" || p.declared(base.text), base, "a class of the file")
		}
		p.options()
	}
	p.declare(t)
	p.expect(":")
	p.body(func() {
		p.word("a field")
		p.expect(":")
		p.typ()
		p.endOfLine()
	})
}

// options reads what may follow a TypedDict's base or fields, up to the closing bracket.
func (p *pyParser) options() {
	for p.accept(",") {
		switch t := p.next(); {
		case t.is("total"):
			p.expect("=")
			if !p.accept("True") {
				p.expect("False")
			}
		case t.is("extra_items"):
			p.expect("=")
			p.typ()
		default:
			p.require(false, t, "an option of TypedDict")
		}
	}
	p.expect(")")
}

// body reads the body of a class or function, behind its colon: an ellipsis or docstring on the same line, or a block of
// a docstring and members. member may be nil.
func (p *pyParser) body(member func()) {
	switch {
	case p.accept("..."):
		p.endOfLine()
		return
	case p.peek().kind == text:
		p.docstring()
		return
	}
	p.indented()
	p.docstring()
	for p.peek().kind != dedent && p.err == nil {
		switch {
		case p.accept("..."), p.accept("pass"):
			p.endOfLine()
		case member == nil:
			p.unexpected("`...`")
		default:
			member()
		}
	}
	p.next()
}

// alias reads a type alias, or a TypedDict or TypeVar that is made by a call.
func (p *pyParser) alias() {
	t := p.take(name, "an import, a type or a wrapper")
	p.declare(t)
	if p.accept(":") {
		a := p.next()
		p.require(a.kind == name && p.known[a.text] == "TypeAlias", a, "TypeAlias")
	}
	p.expect("=")
	maker := p.known[p.peek().text]
	if maker != "TypedDict" && maker != "TypeVar" {
		p.typ()
		p.endOfLine()
		return
	}
	p.next()
	p.expect("(")
	s := p.take(text, "the type's own name")
	p.require(s.text == t.text, s, "the type's own name")
	if maker == "TypeVar" {
		p.expect(")")
	} else {
		p.expect(", {")
		p.mapping(p.typ)
		p.options()
	}
	p.endOfLine()
}

// mapping reads a mapping of strings to values, behind its brace.
func (p *pyParser) mapping(value func()) {
	for p.err == nil && !p.accept("}") {
		p.take(text, "a string")
		p.expect(":")
		value()
		if !p.is("}") {
			p.expect(",")
		}
	}
}

// prelude reads a block that says one thing to one type checker and another to the others:
//
//	if TYPE_CHECKING:      if 0:
//	    …                      …
//	else:                  else:
//	    …                      …
//
// The branches hold imports, classes and aliases; both may declare the same names.
func (p *pyParser) prelude() {
	start := p.next()
	condition := p.next()
	p.require(condition.text == "0" || p.known[condition.text] == "TYPE_CHECKING", condition, "TYPE_CHECKING or 0")
	before := maps.Clone(p.known)
	p.branch()
	p.expect("else")
	first := p.known
	p.known = before
	p.branch()
	maps.Copy(p.known, first)
	p.preludes = append(p.preludes, [2]int{start.line, p.last().line})
}

func (p *pyParser) branch() {
	p.expect(":")
	p.indented()
	for p.peek().kind != dedent && p.err == nil {
		switch {
		case p.is("from"):
			p.code = false // imports may stand here
			p.imports()
			p.code = true
		case p.is("class"):
			p.class()
		case p.accept("pass"):
			p.endOfLine()
		default:
			p.alias()
		}
	}
	p.next()
}

// wrapper reads the decorated function of a tool. Its body is empty: the decorator makes the call. After the id, the
// decorator has strings only.
func (p *pyParser) wrapper() {
	p.expect("@")
	decorator := p.next()
	p.require(decorator.is("tool", "any_tool") && p.known[decorator.text] == decorator.text, decorator, "tool, imported above")
	p.expect("(")
	p.out.id = p.id("a tool's id")
	for p.accept(",") {
		if p.peek().kind == name {
			p.next()
			p.expect("=")
		}
		p.take(text, "a string")
	}
	p.expect(")")
	p.endOfLine()
	p.expect("def")
	p.out.function = p.word("a function's name")
	p.require(!p.declared(p.out.function.text), p.out.function, "a function's name")
	p.expect("(")
	for p.err == nil && !p.accept(")") {
		p.parameter()
		if !p.is(")") {
			p.expect(",")
		}
	}
	p.expect("->")
	p.typ()
	p.expect(":")
	p.body(nil)
}

func (p *pyParser) parameter() {
	if p.accept("*") {
		return
	}
	p.accept("**")
	p.word("a parameter")
	p.expect(":")
	p.typ()
	if p.accept("=") && !p.accept("...") && !p.accept("UNSET") {
		p.expect("None")
	}
}

// offer reads the object for a server's resources or prompts:
//
//	resources = ServerResources("docs")
//	prompts = Prompts("docs")
func (p *pyParser) offer() {
	p.out.offer = p.next()
	maker := map[string]string{"resources": "ServerResources", "prompts": "Prompts"}[p.out.offer.text]
	meaning := map[string]string{"resources": "ServerResources", "prompts": "ServerPrompts"}[p.out.offer.text]
	p.require(p.known[maker] == meaning, p.out.offer, "an import, a type or a wrapper")
	p.expect("= " + maker + " (")
	p.out.server = p.id("a server's folder")
	p.expect(")")
	p.endOfLine()
	if p.peek().kind != end {
		p.unexpected("the end of the file")
	}
}

// promptsClass reads the class of a server's prompts, behind "class Prompts(": overloads of its one method, one for each
// prompt, and the method.
func (p *pyParser) promptsClass(t token) {
	p.require(t.text == "Prompts", t, "the class Prompts")
	p.declare(t)
	p.known[t.text] = "ServerPrompts"
	p.next()
	p.expect(") :")
	p.indented()
	if p.accept("pass") {
		p.endOfLine()
	} else {
		for p.accept("@") {
			p.require(p.known["overload"] != "", p.peek(), "no decorator")
			p.expect("overload")
			p.endOfLine()
			p.signature()
			p.body(nil)
		}
		p.signature()
		p.indented()
		p.docstring()
		p.expect("return self . _get ( name , args )")
		p.endOfLine()
		p.take(dedent, "the end of the method")
	}
	p.take(dedent, "the end of the class")
}

// signature reads the head of the method.
func (p *pyParser) signature() {
	p.expect("def get ( self , name :")
	p.typ()
	p.expect(", args :")
	p.typ()
	if p.accept("=") {
		p.expect("None")
	}
	p.expect(") -> MCPPromptResult :")
}

// typ reads a type, up to the first token outside of brackets that cannot belong to it.
func (p *pyParser) typ() {
	var in brackets
	operand := false
	literal := 0 // how many brackets are open where the innermost Literal begins; 0 outside of one
	for p.peek().kind != end {
		t := p.peek()
		inner := in.innermost()
		value := t.kind == text || t.kind == number || t.is("None", "True", "False")
		switch {
		case operand && in.closes(t), p.last().is(",") && inner == "[" && t.is("]"):
			if len(in.open) == literal {
				literal = 0
			}
			in.pop()
			operand = true
		case operand && inner == "" && !t.is("|", "["):
			return
		case operand && (t.is("|") && literal == 0 || t.is(",") && inner == "["):
			operand = false
		case operand && t.is("[") && p.last().kind == name, !operand && literal == 0 && (t.is("(") || t.is("[") && inner == "["):
			p.require(in.push(t.text), t, "types nested less deep")
			if operand && p.known[p.last().text] == "Literal" {
				literal = len(in.open)
			}
			operand = false
		case !operand && literal > 0 && t.is("-"):
			p.require(p.peekAt(1).kind == number, t, "a number")
		case !operand && literal > 0 && value:
			p.require(t.quote != 'd', t, "the value of a literal")
			operand = true
		case !operand && literal == 0 && t.kind == text:
			p.quoted(t)
			operand = true
		case !operand && literal == 0 && t.kind == name && (t.text == "None" || !isKeyword(t.text)):
			p.used = append(p.used, t)
			operand = true
		case !operand && inner == "[" && literal == 0 && t.is("..."):
			operand = true
		default:
			p.unexpected("a type")
		}
		p.next()
	}
}

// quoted reads a type in quotation marks, as a type checker will.
func (p *pyParser) quoted(t token) {
	l := newLexer(t.text, true)
	p.require(!t.escaped && t.quote != 'd' && l.err == nil && l.comments == 0, t, "a type in plain quotation marks")
	if p.err != nil {
		return
	}
	inner := &pyParser{parser: parser{tokens: l.tokens}, known: p.known}
	inner.typ()
	inner.endOfLine()
	p.require(inner.err == nil && inner.peek().kind == end, t, "one type in quotation marks")
	for _, used := range inner.used {
		used.line = t.line
		p.used = append(p.used, used)
	}
}
