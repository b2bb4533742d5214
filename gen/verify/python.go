package verify

import (
	"slices"
	"strings"
)

// pyParser reads a Python file.
type pyParser struct {
	parser
	known map[string]bool // names in Python, in typing and in the client, and those that the file declares
	code  bool            // a statement other than an import has been read
	// prompts reports whether the class of a server's prompts has been read.
	prompts bool
}

const (
	pyBuiltins = "str int float bool object list dict tuple None"
	pyKeywords = " False None True and as assert async await break class continue def del elif else except finally for from " +
		"global if import in is lambda nonlocal not or pass raise return try while with yield "
)

// pyImports are the imports in generated files other than indexes, with the names that each makes known.
var pyImports = map[string]string{
	"from __future__ import annotations":       "",
	"from . . client import *":                 "UNSET Any AnyUndeclared Extra Literal Mapping NoValue NotRequired OneOf Open Sequence TextOrContent TypeAlias TypedDict tool",
	"from . . client import any_tool":          "any_tool",
	"from . . _content import *":               "Any Literal Mapping MCPPromptResult NotRequired ServerPrompts ServerResources TypedDict overload",
	"from . . _content import ServerResources": "ServerResources",
	"from typing import Literal":               "Literal",
}

// mypyDirective is the only directive to a type checker in generated files, on the second line.
const mypyDirective = "# mypy: disable-error-code=empty-body"

func readPython(src []byte) (*module, *Error) {
	if err := checkBytes(src, "#"); err != nil {
		return nil, err
	}
	l := newLexer(string(src), true)
	if l.err != nil {
		return nil, l.err
	}
	p := &pyParser{parser: parser{tokens: l.tokens}, known: make(map[string]bool, 32)}
	p.know(pyBuiltins)
	p.docstring()
	for p.peek().kind != end {
		p.statement()
	}
	p.require(!p.prompts || p.out.offer.text != "", token{line: 1}, "the prompts of a server")
	for _, t := range p.used {
		p.require(p.known[t.text], t, "a type that the file imports or declares")
	}
	for _, directive := range l.directives {
		p.require(directive.line == 2 && directive.text == mypyDirective, directive, "no directive to a type checker in a comment")
	}
	row := 0
	for text := range strings.SplitSeq(string(src), "\n") { // mypy obeys such lines in strings too
		row++
		directive := strings.HasPrefix(text, "# mypy:") && (row != 2 || text != mypyDirective)
		p.require(!directive, token{kind: name, line: row, text: text}, "no directive to a type checker")
	}
	return &p.out, p.err
}

// know adds names to the known ones.
func (p *pyParser) know(names string) {
	for word := range strings.FieldsSeq(names) {
		p.known[word] = true
	}
}

// docstring skips a string that is a statement.
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
	case p.is("@"):
		p.wrapper()
	case p.is("resources", "prompts") && p.peekAt(1).is("="):
		p.offer()
	default:
		p.alias()
	}
}

// imports reads an import: one of pyImports or, in an index, from .name import name as name.
func (p *pyParser) imports() {
	start := p.peek()
	p.require(!p.code, start, "no import here")
	var words []string
	for p.peek().kind == name || p.peek().kind == mark {
		words = append(words, p.next().text)
	}
	p.endOfLine()
	line := strings.Join(words, " ")
	known, ok := pyImports[line]
	p.know(known)
	if ok {
		p.require(len(p.out.exports) == 0, start, "an import of a tool")
		return
	}
	f := token{kind: name, line: start.line}
	if len(words) > 2 {
		f.text = words[2]
	}
	reexport := "from . " + f.text + " import " + f.text
	ok = isIdentifier(f.text) && !isKeyword(f.text) && (line == reexport || line == reexport+" as "+f.text) && len(p.known) == len(strings.Fields(pyBuiltins))
	p.require(ok, start, "an import of a generated file")
	p.out.exports = append(p.out.exports, f)
}

// declare records a new type.
func (p *pyParser) declare(t token) {
	p.require(!p.known[t.text] && !isKeyword(t.text), t, "a new type's name")
	p.known[t.text] = true
	p.out.types = append(p.out.types, t)
}

// declared reports whether the file itself declares a type.
func (p *pyParser) declared(name string) bool {
	return slices.ContainsFunc(p.out.types, func(t token) bool { return t.text == name })
}

// class reads a class of fields, with TypedDict or classes in the file as bases, or an empty one.
func (p *pyParser) class() {
	p.next()
	t := p.take(name, "a class's name")
	if p.accept("(") {
		if p.is("ServerPrompts") && p.known["ServerPrompts"] {
			p.promptsClass(t)
			return
		}
		for more := true; more; more = !p.peekAt(2).is("=") && p.accept(",") {
			base := p.take(name, "a class of the file")
			p.require(p.known[base.text] && base.is("TypedDict", "Open") || p.declared(base.text), base, "a class of the file")
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
	if p.accept(",") {
		p.expect("total =")
		if !p.accept("True") {
			p.expect("False")
		}
	}
	p.expect(")")
}

// body reads the body of a class or function, after its colon: an ellipsis or docstring on the same line, or a block with a docstring and
// members. member may be nil.
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

// alias reads a type alias, or a TypedDict that is created by a call.
func (p *pyParser) alias() {
	t := p.take(name, "an import, a type or a wrapper")
	p.declare(t)
	if p.accept(":") {
		p.require(p.known["TypeAlias"], t, "an import of TypeAlias")
		p.expect("TypeAlias")
	}
	p.expect("=")
	if !p.is("TypedDict") || !p.known["TypedDict"] {
		p.typ()
		p.endOfLine()
		return
	}
	p.expect("TypedDict (")
	s := p.take(text, "the type's own name")
	p.require(s.text == t.text, s, "the type's own name")
	p.expect(", {")
	for p.err == nil && !p.accept("}") {
		p.take(text, "a string")
		p.expect(":")
		p.typ()
		if !p.is("}") {
			p.expect(",")
		}
	}
	p.options()
	p.endOfLine()
}

// wrapper reads the decorated function of a tool. Its body is empty, because the decorator makes the call. After the id, the decorator has
// only strings.
func (p *pyParser) wrapper() {
	p.expect("@")
	decorator := p.next()
	p.require(decorator.is("tool", "any_tool") && p.known[decorator.text] && !p.declared(decorator.text), decorator, "tool, imported above")
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
	p.require(maker == "Prompts" && p.prompts || maker == "ServerResources" && p.known[maker], p.out.offer, "an import, a type or a wrapper")
	p.expect("= " + maker + " (")
	p.out.server = p.id("a server's folder")
	p.expect(")")
	p.endOfLine()
	if p.peek().kind != end {
		p.unexpected("the end of the file")
	}
}

// promptsClass reads the class of a server's prompts, after "class Prompts(": overloads of its only method, one for each prompt, and the
// method.
func (p *pyParser) promptsClass(t token) {
	p.require(t.text == "Prompts", t, "the class Prompts")
	p.prompts = true
	p.declare(t)
	p.next()
	p.expect(") :")
	p.indented()
	if p.accept("pass") {
		p.endOfLine()
	} else {
		for p.accept("@") {
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

// typ reads a type, up to the first token outside brackets that cannot belong to it.
func (p *pyParser) typ() {
	var in brackets
	operand := false
	literal := 0 // number of open brackets where the innermost Literal begins; 0 outside one
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
			if operand && p.last().text == "Literal" && p.known["Literal"] {
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
