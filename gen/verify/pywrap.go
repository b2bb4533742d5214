package verify

import "strings"

// wrapper reads the decorated function of a tool. Its body is empty: the decorator makes the call.
func (p *pyParser) wrapper() *Error {
	if err := p.decorator(); err != nil {
		return err
	}
	if err := p.expect("def"); err != nil {
		return err
	}
	f, err := p.expectKind(name, "a function's name")
	if err != nil {
		return err
	}
	if pyKeyword(f.text) || p.own[f.text] {
		return fail(f.line, f.text, "a function's name")
	}
	p.out.function, p.out.functionLine = f.text, f.line
	if err := p.expect("("); err != nil {
		return err
	}
	if err := p.parameters(); err != nil {
		return err
	}
	if err := p.expect("->"); err != nil {
		return err
	}
	if err := p.typ(); err != nil {
		return err
	}
	if err := p.expect(":"); err != nil {
		return err
	}
	return p.suite(nil)
}

// decorator reads @tool(id, …), or @any_tool(id, …): after the id come strings only, by name, by position or in a mapping.
func (p *pyParser) decorator() *Error {
	p.next()
	made := p.next()
	if made.kind != name || (made.text != "tool" && made.text != "any_tool") {
		return fail(made.line, made.show(), "tool")
	}
	if p.known[made.text] != made.text {
		return fail(made.line, made.show(), "an import of it before it")
	}
	if err := p.expect("("); err != nil {
		return err
	}
	id, err := p.expectKind(text, "a tool's id")
	if err != nil {
		return err
	}
	if id.escaped || strings.Trim(id.text, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return fail(id.line, id.text, "a tool's id")
	}
	p.out.id = id.text
	for p.accept(",") {
		if p.is(")") {
			break
		}
		if p.peek().kind == name {
			p.next()
			if err := p.expect("="); err != nil {
				return err
			}
		}
		if err := p.wire(); err != nil {
			return err
		}
	}
	if err := p.expect(")"); err != nil {
		return err
	}
	return p.endOfLine()
}

// wire reads a string, or a mapping of strings.
func (p *pyParser) wire() *Error {
	if !p.accept("{") {
		_, err := p.expectKind(text, "a string")
		return err
	}
	for !p.accept("}") {
		if _, err := p.expectKind(text, "a string"); err != nil {
			return err
		}
		if err := p.expect(":"); err != nil {
			return err
		}
		if _, err := p.expectKind(text, "a string"); err != nil {
			return err
		}
		if !p.is("}") {
			if err := p.expect(","); err != nil {
				return err
			}
		}
	}
	return nil
}

// parameters reads a function's parameters up to the closing bracket.
func (p *pyParser) parameters() *Error {
	for !p.accept(")") {
		if !p.accept("*") && !p.accept("/") {
			p.accept("**")
			if err := p.parameter(); err != nil {
				return err
			}
		}
		if !p.is(")") {
			if err := p.expect(","); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *pyParser) parameter() *Error {
	if t := p.next(); t.kind != name || pyKeyword(t.text) {
		return fail(t.line, t.show(), "a parameter")
	}
	if err := p.expect(":"); err != nil {
		return err
	}
	if err := p.typ(); err != nil {
		return err
	}
	if !p.accept("=") {
		return nil
	}
	switch t := p.next(); {
	case t.kind == name && t.text == "UNSET" && p.known["UNSET"] != "":
	case t.kind == name && (t.text == "None" || t.text == "True" || t.text == "False"):
	case t.kind == mark && t.text == "...":
	default:
		return fail(t.line, t.show(), "None or UNSET")
	}
	return nil
}

// typ reads a type: a union of names with arguments, and of types in quotation marks.
func (p *pyParser) typ() *Error {
	if err := p.deeper(); err != nil {
		return err
	}
	defer func() { p.depth-- }()
	for {
		switch t := p.peek(); {
		case t.kind == text:
			if err := p.later(t); err != nil {
				return err
			}
			p.next()
		case p.accept("("):
			if err := p.typ(); err != nil {
				return err
			}
			if err := p.expect(")"); err != nil {
				return err
			}
		case t.kind == name && (t.text == "None" || !pyKeyword(t.text)):
			p.next()
			p.used = append(p.used, t)
			if err := p.arguments(t); err != nil {
				return err
			}
		default:
			return p.unexpected("a type")
		}
		if !p.accept("|") {
			return nil
		}
	}
}

// later reads a type that stands in quotation marks, as a type checker will.
func (p *pyParser) later(t token) *Error {
	if t.escaped || t.quote == 'd' || strings.Contains(t.text, "\n") {
		return fail(t.line, t.show(), "a type in plain quotation marks")
	}
	lexed, err := lexPython(t.text)
	if err != nil || lexed.comments > 0 {
		return fail(t.line, t.show(), "a type in quotation marks")
	}
	inner := &pyParser{cursor: cursor{tokens: lexed.tokens, depth: p.depth}, known: p.known, used: p.used}
	if err := inner.typ(); err != nil {
		return fail(t.line, t.show(), "a type in quotation marks")
	}
	inner.next() // the end of the line
	if inner.peek().kind != end {
		return fail(t.line, t.show(), "one type in quotation marks")
	}
	for i := len(p.used); i < len(inner.used); i++ {
		inner.used[i].line = t.line
	}
	p.used = inner.used
	return nil
}

// arguments reads what stands in brackets after a type: types, or the values of a Literal.
func (p *pyParser) arguments(of token) *Error {
	if !p.accept("[") {
		return nil
	}
	for {
		var err *Error
		switch {
		case p.known[of.text] == "Literal":
			err = p.literal()
		case p.accept("..."):
		case p.accept("["):
			err = p.group()
		default:
			err = p.typ()
		}
		if err != nil {
			return err
		}
		if p.accept(",") && !p.is("]") {
			continue
		}
		return p.expect("]")
	}
}

// group reads a list of types after its bracket: the parameters of a Callable.
func (p *pyParser) group() *Error {
	for !p.accept("]") {
		if err := p.typ(); err != nil {
			return err
		}
		if !p.is("]") {
			if err := p.expect(","); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *pyParser) literal() *Error {
	t := p.next()
	if t.text == "-" && t.kind == mark {
		t = p.next()
		if t.kind == number {
			return nil
		}
	}
	if t.kind == text && t.quote != 'd' || t.kind == number || t.kind == name && (t.text == "None" || t.text == "True" || t.text == "False") {
		return nil
	}
	return fail(t.line, t.show(), "the value of a literal")
}
