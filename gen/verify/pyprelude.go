package verify

// prelude reads a block that says one thing to one type checker and another to the others:
//
//	if TYPE_CHECKING:      if 0:
//	    …                      …
//	else:                  else:
//	    …                      …
//
// Inside stand imports, classes and aliases; both branches may declare the same names.
func (p *pyParser) prelude() *Error {
	start := p.next()
	if t := p.next(); t.text != "0" && p.known[t.text] != "TYPE_CHECKING" {
		return fail(t.line, t.show(), "TYPE_CHECKING or 0")
	}
	before := make(map[string]string, len(p.known))
	for n, meaning := range p.known {
		before[n] = meaning
	}
	if err := p.branch(); err != nil {
		return err
	}
	first := p.known
	p.known = before
	if err := p.expect("else"); err != nil {
		return err
	}
	if err := p.branch(); err != nil {
		return err
	}
	for n, meaning := range first {
		p.known[n] = meaning
	}
	p.preludes = append(p.preludes, [2]int{start.line, p.tokens[p.at-1].line})
	return nil
}

func (p *pyParser) branch() *Error {
	if err := p.expect(":"); err != nil {
		return err
	}
	if err := p.endOfLine(); err != nil {
		return err
	}
	if _, err := p.expectKind(indent, "an indented line"); err != nil {
		return err
	}
	for p.peek().kind != dedent {
		var err *Error
		switch {
		case p.is("from"):
			p.code = false // imports may stand here
			err = p.imports()
			p.code = true
		case p.is("class"):
			err = p.class()
		case p.peek().kind == name && !p.is("if"):
			err = p.alias()
		default:
			err = p.unexpected("an import or a type")
		}
		if err != nil {
			return err
		}
	}
	p.next()
	return nil
}
