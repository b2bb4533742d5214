package verify

// typ reads a type: a union of intersections.
func (p *tsParser) typ() *Error {
	if err := p.deeper(); err != nil {
		return err
	}
	defer func() { p.depth-- }()
	if !p.accept("|") {
		p.accept("&")
	}
	for {
		if err := p.postfix(); err != nil {
			return err
		}
		if !p.accept("|") && !p.accept("&") {
			return nil
		}
	}
}

// postfix reads a type and the brackets that make lists of it.
func (p *tsParser) postfix() *Error {
	p.accept("readonly")
	if err := p.primary(); err != nil {
		return err
	}
	for p.is("[") && p.peekAfter().text == "]" && p.peekAfter().kind == mark {
		p.next()
		p.next()
	}
	return nil
}

func (p *tsParser) primary() *Error {
	t := p.peek()
	switch {
	case t.kind == text || t.kind == number:
		p.next()
		return nil
	case p.accept("-"):
		_, err := p.expectKind(number, "a number")
		return err
	case p.accept("("):
		if err := p.typ(); err != nil {
			return err
		}
		return p.expect(")")
	case p.accept("{"):
		return p.members()
	case p.accept("["):
		return p.tuple()
	case t.kind == name:
		p.next()
		if t.text == "true" || t.text == "false" {
			return nil
		}
		p.used = append(p.used, t)
		if p.is("<") {
			return p.arguments()
		}
		return nil
	}
	return p.unexpected("a type")
}

// arguments reads type arguments.
func (p *tsParser) arguments() *Error {
	if err := p.expect("<"); err != nil {
		return err
	}
	for {
		if err := p.typ(); err != nil {
			return err
		}
		if !p.accept(",") {
			return p.expect(">")
		}
	}
}

// tuple reads a tuple type after its bracket.
func (p *tsParser) tuple() *Error {
	for !p.accept("]") {
		p.accept("...")
		if err := p.typ(); err != nil {
			return err
		}
		p.accept("?")
		if !p.is("]") {
			if err := p.expect(","); err != nil {
				return err
			}
		}
	}
	return nil
}

// members reads an object type after its brace.
func (p *tsParser) members() *Error {
	for !p.accept("}") {
		if err := p.member(); err != nil {
			return err
		}
		if p.accept(";") || p.accept(",") || p.is("}") {
			continue
		}
		if p.peek().line == p.tokens[p.at-1].line { // a line end separates members as well
			return p.unexpected("`;`")
		}
	}
	return nil
}

func (p *tsParser) member() *Error {
	if p.is("readonly") && (p.peekAfter().kind == name || p.peekAfter().kind == text || p.peekAfter().text == "[") {
		p.next()
	}
	if p.accept("[") {
		if err := p.index(); err != nil {
			return err
		}
	} else {
		switch t := p.next(); t.kind {
		case name, text, number:
		default:
			return fail(t.line, t.show(), "a property's name")
		}
		p.accept("?")
	}
	if err := p.expect(":"); err != nil {
		return err
	}
	return p.typ()
}

// index reads the key of an index signature after its bracket.
func (p *tsParser) index() *Error {
	if _, err := p.expectKind(name, "a key's name"); err != nil {
		return err
	}
	return p.all(":", "string", "]")
}
