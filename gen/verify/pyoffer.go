package verify

// contentNames are what the file of a server's resources or prompts gets by importing everything from _content.
var contentNames = []string{
	"Any", "Literal", "Mapping", "MCPPromptResult", "NotRequired", "ServerPrompts", "ServerResources", "TypedDict", "overload",
}

// offer reads what stands for a server's resources or prompts:
//
//	resources = ServerResources("docs")
//	prompts = Prompts("docs")
func (p *pyParser) offer() *Error {
	start := p.next()
	maker := "ServerResources"
	if start.text == "prompts" {
		maker = "Prompts"
	}
	if p.out.offer != "" || p.known[maker] == "" || (maker == "Prompts") != p.prompts {
		return fail(start.line, start.text, "an import, a type or a wrapper")
	}
	if err := p.all("=", maker, "("); err != nil {
		return err
	}
	server, err := p.expectKind(text, "a server's folder")
	if err != nil {
		return err
	}
	if !isFolder(server) {
		return fail(server.line, server.text, "a server's folder")
	}
	p.out.offer, p.out.server, p.out.offerLine = start.text, server.text, start.line
	if err := p.expect(")"); err != nil {
		return err
	}
	if err := p.endOfLine(); err != nil {
		return err
	}
	if p.peek().kind != end {
		return p.unexpected("the end of the file")
	}
	return nil
}

// promptsClass reads the class of a server's prompts, behind "class Prompts(ServerPrompts": the types of its one method,
// one for each prompt, and what it does.
func (p *pyParser) promptsClass(class token) *Error {
	if class.text != "Prompts" || p.prompts {
		return fail(class.line, class.text, "the class Prompts")
	}
	if err := p.declare(class); err != nil {
		return err
	}
	p.prompts = true
	if err := p.all(")", ":"); err != nil {
		return err
	}
	if err := p.endOfLine(); err != nil {
		return err
	}
	if _, err := p.expectKind(indent, "an indented line"); err != nil {
		return err
	}
	if p.accept("pass") {
		if err := p.endOfLine(); err != nil {
			return err
		}
	} else if err := p.promptMethods(); err != nil {
		return err
	}
	_, err := p.expectKind(dedent, "the end of the class")
	return err
}

func (p *pyParser) promptMethods() *Error {
	for p.accept("@") {
		if p.known["overload"] == "" {
			return p.unexpected("no decorator")
		}
		if err := p.expect("overload"); err != nil {
			return err
		}
		if err := p.endOfLine(); err != nil {
			return err
		}
		if err := p.signature(); err != nil {
			return err
		}
		if err := p.suite(nil); err != nil {
			return err
		}
	}
	if err := p.signature(); err != nil {
		return err
	}
	if err := p.endOfLine(); err != nil {
		return err
	}
	if _, err := p.expectKind(indent, "an indented line"); err != nil {
		return err
	}
	if err := p.docstring(); err != nil {
		return err
	}
	if err := p.all("return", "self", ".", "_get", "(", "name", ",", "args", ")"); err != nil {
		return err
	}
	if err := p.endOfLine(); err != nil {
		return err
	}
	_, err := p.expectKind(dedent, "the end of the method")
	return err
}

// signature reads the head of the method: def get(self, name: TYPE, args: TYPE = None) -> MCPPromptResult:
func (p *pyParser) signature() *Error {
	if err := p.all("def", "get", "(", "self", ",", "name", ":"); err != nil {
		return err
	}
	if err := p.typ(); err != nil {
		return err
	}
	if err := p.all(",", "args", ":"); err != nil {
		return err
	}
	if err := p.typ(); err != nil {
		return err
	}
	if p.accept("=") {
		if err := p.expect("None"); err != nil {
			return err
		}
	}
	return p.all(")", "->", "MCPPromptResult", ":")
}
