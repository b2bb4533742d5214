package typescript

import (
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/render/internal/text"
)

const (
	// maxInline bounds the length of an object type on one line, in bytes.
	maxInline = 80
	// maxIndex bounds the union in an index signature that repeats the types of the declared properties, in bytes.
	maxIndex = 400
	// maxIndexTypes bounds the same union, in the number of types in it.
	maxIndexTypes = 200
	// indentStep is one blank, which a tokenizer joins to the next word. Two blanks are a token of their own.
	indentStep = " "
)

// object prints an object. If its type is short and has no documentation, it is on one line.
func (p *printer) object(t ir.Object, indent string) string {
	if len(t.Fields) == 0 {
		if t.Extra == nil {
			return p.mapping(ir.Unknown{}, indent)
		}
		return p.mapping(t.Extra, indent) // never: an object without properties
	}
	inner := indent + indentStep
	var lines []string
	short := "{"
	documented := false
	for _, f := range t.Fields {
		code, doc := p.field(f, inner), ""
		if !p.bare {
			doc = text.Field(f.Name, f.Doc, p.mode == accept && text.IsInteger(f.Type), p.stored)
		}
		line, hasDoc := p.documented(inner, code, doc)
		documented = documented || hasDoc
		if p.bare || len(short) <= maxInline {
			short += " " + code + ";"
		}
		lines = append(lines, line)
	}
	if index := p.index(t, inner); index != "" {
		short += " [key: string]: " + index + ";"
		lines = append(lines, inner+"[key: string]: "+index)
	}
	short = strings.TrimSuffix(short, ";") + " }"
	if p.bare || (!documented && len(short) <= maxInline && !strings.Contains(short, "\n")) {
		return short
	}
	return "{\n" + strings.Join(lines, "\n") + "\n" + indent + "}"
}

// documented puts text beside code if both are one line, and above it otherwise, or if editors are to show it.
func (p *printer) documented(indent, code, text string) (line string, any bool) {
	lines := comment(text)
	switch {
	case len(lines) == 0:
		return indent + code, false
	case len(lines) == 1 && !p.standalone && !strings.Contains(code, "\n"):
		return indent + code + " // " + lines[0], true
	}
	return docComment(indent, text) + indent + code, true
}

// index prints the type of an object's undeclared properties, or nothing if it has none. The compiler demands that each declared property
// fits it too, so it is a union with their types.
func (p *printer) index(t ir.Object, indent string) string {
	switch t.Extra.(type) {
	case nil:
		if p.mode == result {
			return ""
		}
		return p.anything()
	case ir.Never:
		return ""
	case ir.Unknown:
		return p.anything()
	}
	if p.bare || !small(t, maxIndexTypes) {
		return p.anything() // repeating what itself repeats has no end
	}
	var fields []ir.Type
	optional, function := false, false
	for _, f := range t.Fields {
		fields = append(fields, f.Type)
		optional = optional || !f.Required
		function = function || (!f.Required && inherited(f.Name))
	}
	q := *p
	q.bare = true
	text := q.typ(ir.NewPlainUnion(append([]ir.Type{t.Extra}, fields...)...), "")
	p.refersToRoot = q.refersToRoot
	long := text == p.anything() || len(text) > maxIndex
	if own := p.typ(t.Extra, indent); ir.Described(t.Extra) && !strings.Contains(text, own) {
		switch {
		case long && strings.HasSuffix(own, "| "+p.anything()):
			return own
		case long || len(fields) == 0:
			return own + " | " + p.anything()
		}
		text = own + " | " + q.typ(ir.NewPlainUnion(fields...), "")
	} else if long {
		return p.anything()
	}
	if function {
		text = orInherited(text)
	}
	if optional {
		text += " | undefined"
	}
	return text
}

// small reports whether t holds at most max types.
func small(t ir.Type, max int) bool {
	ir.Walk(t, func(ir.Type) bool {
		max--
		return max >= 0
	})
	return max >= 0
}

func (p *printer) field(f ir.Field, indent string) string {
	name := f.Name
	if !plainKey(name) {
		name = quote(name)
	}
	text := p.typ(f.Type, indent)
	if f.Required {
		return name + ": " + text
	}
	if inherited(f.Name) {
		text = orInherited(text)
	}
	return name + "?: " + text
}

// orInherited widens the type of an optional property that every object inherits as a function. Otherwise the type would reject objects
// without the property.
func orInherited(text string) string {
	if text == "unknown" || text == "any" {
		return text
	}
	return text + " | Function"
}

// plainKey reports whether a property's name needs no quotation marks.
func plainKey(name string) bool {
	for i, c := range []byte(name) {
		letter := c == '_' || c == '$' || (c|0x20 >= 'a' && c|0x20 <= 'z')
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != "" && name != "__proto__"
}

// inherited reports whether TypeScript assumes that every object has the property.
func inherited(name string) bool {
	return slices.Contains([]string{
		"constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf",
	}, name)
}
