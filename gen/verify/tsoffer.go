package verify

import "strings"

// tsOffer returns what a function of the client makes, resources or prompts; empty for any other.
func tsOffer(function string) string {
	switch function {
	case "serverResources":
		return "resources"
	case "serverPrompts":
		return "prompts"
	}
	return ""
}

// offer reads what stands for a server's resources or prompts: export const prompts = serverPrompts<Prompts>("docs");
func (p *tsParser) offer() *Error {
	p.next()
	start := p.peek()
	name := tsOffer(p.imported)
	if name == "" || p.out.offer != "" || p.out.function != "" || len(p.out.exports) > 0 {
		return fail(start.line, start.show(), "a type, a wrapper or an export")
	}
	if err := p.all(name, "=", p.imported); err != nil {
		return err
	}
	if name == "prompts" {
		if err := p.all("<", "Prompts", ">"); err != nil {
			return err
		}
		if !p.declared["Prompts"] {
			return fail(start.line, "Prompts", "a type that the file declares")
		}
	}
	if err := p.expect("("); err != nil {
		return err
	}
	server, err := p.expectKind(text, "a server's folder")
	if err != nil {
		return err
	}
	if !isFolder(server) {
		return fail(server.line, server.text, "a server's folder")
	}
	p.out.offer, p.out.server, p.out.offerLine = name, server.text, start.line
	if err := p.all(")", ";"); err != nil {
		return err
	}
	if p.peek().kind != end {
		return p.unexpected("the end of the file")
	}
	return nil
}

// isFolder reports whether a string is the name of a folder of the tree.
func isFolder(t token) bool {
	return !t.escaped && t.text != "" && strings.Trim(t.text, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}
