package verify

import (
	"slices"
	"strings"
)

// tsParser reads a TypeScript file.
type tsParser struct {
	parser
	known    map[string]bool // types of the language and in the file
	imported string          // the function imported from the client
}

// tsTypes are the types of the language that generated files use.
const tsTypes = "string number boolean bigint null undefined any unknown never object void true false " +
	"Record Array ReadonlyArray Readonly Promise Partial Required Omit Exclude Function"

// tsReserved are words that, in a type, mean something other than the name of a type.
const tsReserved = "infer keyof typeof asserts is import new unique extends symbol this readonly"

func readTypeScript(src []byte) (*module, *Error) {
	if err := checkBytes(src, "//"); err != nil {
		return nil, err
	}
	l := newLexer(string(src), false)
	if l.err != nil {
		return nil, l.err
	}
	p := &tsParser{parser: parser{tokens: l.tokens}, known: map[string]bool{}}
	for word := range strings.FieldsSeq(tsTypes) {
		p.known[word] = true
	}
	for p.peek().kind != end {
		p.statement()
	}
	for _, t := range p.used {
		p.require(p.known[t.text], t, "a type that the file declares")
	}
	return &p.out, p.err
}

func (p *tsParser) statement() {
	if p.is("import") {
		p.importClient()
		return
	}
	export := p.accept("export")
	switch {
	case p.is("type", "interface") && !p.peekAt(1).is("{"):
		p.declaration()
	case !export:
		p.unexpected("a type, a wrapper or an export")
	case p.is("const"):
		p.offer()
	case p.is("async", "function"):
		p.function()
	default:
		p.reexport()
	}
}

// importClient reads the only import of a wrapper or an offer.
func (p *tsParser) importClient() {
	if p.imported != "" || p.out.function.text != "" || len(p.out.types) > 0 || len(p.out.exports) > 0 {
		p.unexpected("no import here")
	}
	p.expect("import {")
	if !p.is("callMCPTool", "serverResources", "serverPrompts") {
		p.unexpected("`callMCPTool`")
	}
	p.imported = p.next().text
	if p.accept(",") {
		p.expect("type")
		t := p.take(name, "a type of the client")
		p.require(t.is("AnyUndeclared", "TextOrContent"), t, "a type of the client")
		p.known[t.text] = true
	}
	p.expect("} from")
	from := p.take(text, `"../client.ts"`)
	p.require(from.text == "../client.ts", from, `"../client.ts"`)
	p.expect(";")
}

// reexport reads a line of an index, after export: everything in a wrapper's module, one function and types in it, types in a module above,
// or nothing at all.
func (p *tsParser) reexport() {
	start := p.peek()
	p.require(p.imported == "" && p.out.function.text == "" && len(p.out.types) == 0, start, "no export of another module here")
	typesOnly, function := p.accept("type"), ""
	switch {
	case !typesOnly && p.accept("*"):
	case p.accept("{") && !typesOnly && p.accept("}"):
		p.expect(";")
		return
	case typesOnly:
		p.take(name, "a type's name")
		p.expect("}")
	default:
		function = p.take(name, "a function's name").text
		for p.accept(",") {
			p.expect("type")
			p.take(name, "a type's name")
		}
		p.expect("}")
	}
	p.expect("from")
	from := p.take(text, "a module beside the index")
	module := strings.TrimSuffix(strings.TrimPrefix(from.text, "./"), ".ts")
	p.require(from.text == "./"+module+".ts" && isIdentifier(module) && (function == "" || function == module), from, "a module beside the index")
	from.text = module
	if !typesOnly {
		p.out.exports = append(p.out.exports, from)
	} else {
		p.require(slices.ContainsFunc(p.out.exports, func(t token) bool { return t.text == module }), from, "a module that is exported above")
	}
	p.expect(";")
}

// isIdentifier reports whether s is a single name.
func isIdentifier(s string) bool {
	l := newLexer(s, false)
	return l.err == nil && l.tokens[0].kind == name && l.tokens[0].text == s
}

// declaration reads a type alias or an interface.
func (p *tsParser) declaration() {
	keyword, t := p.next().text, p.take(name, "a type's name")
	reserved := slices.Contains(strings.Fields(tsReserved), t.text) || p.known[t.text] && t.text[0] >= 'a'
	redeclared := slices.ContainsFunc(p.out.types, func(other token) bool { return other.text == t.text })
	p.require(!reserved && !redeclared && len(p.out.exports) == 0, t, "a new type's name")
	p.known[t.text] = true
	p.out.types = append(p.out.types, t)
	if keyword == "type" {
		p.expect("=")
		p.typ()
		p.expect(";")
		return
	}
	if !p.is("{") {
		p.unexpected("`{`")
	}
	p.typ()
	p.accept(";")
}

// function reads the wrapper, after export. Its only statement is the call, which passes on the only parameter.
func (p *tsParser) function() {
	p.accept("async")
	p.expect("function")
	p.require(p.out.function.text == "" && len(p.out.exports) == 0 && p.imported == "callMCPTool", p.peek(), "one wrapper with its import")
	p.out.function = p.take(name, "a function's name")
	p.expect("( input")
	p.accept("?")
	p.expect(":")
	p.typ()
	if p.accept("=") {
		p.expect("{ }")
	}
	p.expect(")")
	if p.accept(":") {
		p.typ()
	}
	p.expect("{ return callMCPTool (")
	p.out.id = p.id("a tool's id")
	p.expect(", input ) ; }")
}

// offer reads the object for a server's resources or prompts, after export:
//
//	const prompts = serverPrompts<Prompts>("docs");
func (p *tsParser) offer() {
	p.expect("const")
	t := p.next()
	made, ok := map[string]string{"resources": "serverResources", "prompts": "serverPrompts"}[t.text]
	p.require(ok && made == p.imported && p.out.function.text == "" && len(p.out.exports) == 0, t, "a type, a wrapper or an export")
	p.expect("= " + made)
	if t.text == "prompts" {
		p.require(p.known["Prompts"], t, "a type Prompts")
		p.expect("< Prompts >")
	}
	p.expect("(")
	p.out.offer, p.out.server = t, p.id("a server's folder")
	p.expect(") ;")
	if p.peek().kind != end {
		p.unexpected("the end of the file")
	}
}

// typ reads a type, up to the first token outside brackets that cannot belong to it.
func (p *tsParser) typ() {
	var in brackets
	operand, member := false, false // an operand was read; a member of an object type must begin
	for p.peek().kind != end {
		t, inner := p.peek(), in.innermost()
		literal := t.kind == text || t.kind == number
		switch {
		case member && inner == "{" && !t.is("}"):
			p.member()
			operand, member = false, false
			continue
		case member || operand && in.closes(t), !operand && inner == "[" && t.is("]"):
			in.pop()
			operand, member = true, false
		case operand && inner == "" && !t.is("|", "&", "[", "<"):
			return
		case operand && inner == "{" && t.is(";", ","):
			member = true
		case operand && inner == "{" && t.line > p.last().line && !t.is("|", "&"):
			member = true // a line end also separates members
			continue
		case operand && (t.is("|", "&") || t.is(",") && (inner == "[" || inner == "<")):
			operand = false
		case operand && t.is("["):
			p.expect("[ ]")
			continue
		case operand && t.is("<") && p.last().kind == name, !operand && t.is("(", "[", "{"):
			p.require(in.push(t.text), t, "types nested less deep")
			operand, member = false, t.is("{")
		case operand && inner == "[" && t.is("?"), !operand && inner == "[" && t.is("..."):
		case !operand && t.is("-"):
			p.require(p.peekAt(1).kind == number, t, "a number")
		case !operand && t.is("readonly") && p.peekAt(1).kind == name:
		case !operand && (literal || t.kind == name):
			if !literal {
				p.used = append(p.used, t)
			}
			operand = true
		default:
			p.unexpected("a type")
		}
		p.next()
	}
}

// member reads the name of a property, or the head of an index signature, up to the colon.
func (p *tsParser) member() {
	if p.is("readonly") && !p.peekAt(1).is(":", "?") {
		p.next()
	}
	if p.accept("[") {
		p.take(name, "a key's name")
		p.expect(": string ]")
	} else {
		t := p.next()
		p.require(t.kind == name || t.kind == text || t.kind == number, t, "a property's name")
		p.accept("?")
	}
	p.expect(":")
}
