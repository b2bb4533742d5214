package typescript

import (
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/render/internal/text"
)

// soleDef returns the definition to which the root is a mere reference. It takes the root's name.
func (p *printer) soleDef() (string, ir.Def) {
	ref, ok := p.schema.Root.(ir.Ref)
	if !ok || ref.Name == "" {
		return "", ir.Def{}
	}
	for _, def := range p.schema.Defs {
		if def.Name == ref.Name {
			return def.Name, def
		}
	}
	return "", ir.Def{}
}

// rootType prints the type for which the root's name stands.
func (p *printer) rootType() string { return p.typ(p.named(), "") }

// named returns the type for which the root's name stands.
func (p *printer) named() ir.Type {
	if name, def := p.soleDef(); name != "" {
		return def.Type
	}
	return p.schema.Root
}

// isObject reports whether the root's name stands for one object with properties.
func (p *printer) isObject() bool {
	object, ok := p.named().(ir.Object)
	return ok && len(object.Fields) > 0
}

// definitions prints the declarations of the schema's named types.
func (p *printer) definitions() []declaration {
	sole, _ := p.soleDef()
	var out []declaration
	for _, def := range p.schema.Defs {
		if def.Name == sole {
			continue
		}
		name := p.names[def.Name]
		doc := docComment("", text.Field(def.Name, def.Doc, p.mode == accept && text.IsInteger(def.Type), p.stored))
		out = append(out, declaration{name, alias(name, p.typ(def.Type, "")), doc})
	}
	return out
}

func alias(name, text string) string { return "export type " + name + " = " + text + ";\n" }

// typ prints t for a place with that indentation. Objects are anonymous types and not interfaces, because only anonymous types can be
// passed where a map is expected.
func (p *printer) typ(t ir.Type, indent string) string {
	switch t := t.(type) {
	case ir.Never:
		return "never"
	case ir.Null:
		return "null"
	case ir.Bool:
		return "boolean"
	case ir.String:
		return "string"
	case ir.Number:
		return "number"
	case ir.Literal:
		return literal(t)
	case ir.Array:
		return p.operand(t.Elem, indent) + "[]"
	case ir.Tuple:
		return p.tuple(t, indent)
	case ir.Map:
		return p.mapping(t.Value, indent)
	case ir.Object:
		return p.object(t, indent)
	case ir.Union:
		return p.union(t.Members, indent)
	case ir.Intersection:
		return p.intersection(t.Members, indent)
	case ir.Ref:
		return p.ref(t)
	}
	return p.anything()
}

// anything is the type of any value.
func (p *printer) anything() string {
	if p.learned {
		return "any"
	}
	return "unknown"
}

func (p *printer) ref(t ir.Ref) string {
	if t.Name == "" {
		p.refersToRoot = true
		return p.root
	}
	name, ok := p.names[t.Name]
	if !ok {
		return p.anything()
	}
	p.refersToRoot = p.refersToRoot || name == p.root
	return name
}

func literal(l ir.Literal) string {
	switch {
	case l.Kind == ir.LiteralString:
		return quote(l.Text)
	case l.Kind == ir.LiteralNumber:
		return l.Text
	case l.Bool:
		return "true"
	}
	return "false"
}

// operand prints t so that [] or & may follow or precede it.
func (p *printer) operand(t ir.Type, indent string) string {
	text := p.typ(t, indent)
	switch t.(type) {
	case ir.Union, ir.Intersection:
		return "(" + text + ")"
	}
	return text
}

func (p *printer) union(members []ir.Type, indent string) string {
	var out, constants []string
	at := -1 // position of the constants
	for _, t := range members {
		text := p.typ(t, indent)
		switch t.(type) {
		case ir.Literal:
			if at < 0 {
				at = len(out)
				out = append(out, "")
			}
			if !slices.Contains(constants, text) {
				constants = append(constants, text)
			}
			continue
		case ir.Intersection:
			text = "(" + text + ")"
		}
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	if at >= 0 {
		out[at] = strings.Join(constants, "|") // without the blanks, long enumerations cost a model less
	}
	if allLiterals(members) {
		return strings.Join(out, "|")
	}
	return strings.Join(out, " | ")
}

func allLiterals(types []ir.Type) bool {
	return !slices.ContainsFunc(types, func(t ir.Type) bool {
		switch t.(type) {
		case ir.Literal, ir.Null:
			return false
		}
		return true
	})
}

// maxProduct bounds the number of members into which the compiler multiplies out an intersection of unions. It refuses 100,000.
const maxProduct = 1000

// intersection leaves out members whose product would be too large, which makes the type wider.
func (p *printer) intersection(members []ir.Type, indent string) string {
	var kept []ir.Type
	product := 1
	for _, t := range members {
		if n := p.width(t); product*n <= maxProduct {
			product *= n
			kept = append(kept, t)
		}
	}
	switch len(kept) {
	case 0:
		return p.anything()
	case 1:
		return p.typ(kept[0], indent)
	}
	kept = p.besideFields(kept)
	out := make([]string, len(kept))
	for i, t := range kept {
		out[i] = p.operand(t, indent)
	}
	return strings.Join(out, " & ")
}

// width returns the number of members when the compiler turns t into a union, at most maxProduct+1.
func (p *printer) width(t ir.Type) int {
	n := 1
	switch t := t.(type) {
	case ir.Union:
		n = 0
		for _, m := range t.Members {
			n += p.width(m)
		}
	case ir.Intersection:
		for _, m := range t.Members {
			n = min(n*p.width(m), maxProduct+1)
		}
	case ir.Ref:
		known, ok := p.widths[t.Name]
		if !ok {
			p.widths[t.Name] = 1 // for a reference that leads back here
			known = p.width(p.schema.Resolve(t))
			p.widths[t.Name] = known
		}
		return known
	}
	return min(n, maxProduct+1)
}

func (p *printer) tuple(t ir.Tuple, indent string) string {
	if elem, ok := listOf(t); ok && !p.standalone {
		return p.operand(elem, indent) + "[]"
	}
	var out []string
	for i, item := range t.Items {
		if i < t.Required {
			out = append(out, p.typ(item, indent))
		} else {
			out = append(out, p.operand(item, indent)+"?")
		}
	}
	if _, closed := t.Rest.(ir.Never); !closed {
		out = append(out, "..."+p.operand(t.Rest, indent)+"[]")
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// listOf returns the type of the elements if t only limits the length of a list, and the length may vary.
func listOf(t ir.Tuple) (ir.Type, bool) {
	_, closed := t.Rest.(ir.Never)
	if len(t.Items) == 0 || (closed && t.Required == len(t.Items)) {
		return nil, false
	}
	key := ir.Key(t.Items[0])
	other := func(t ir.Type) bool { return ir.Key(t) != key }
	if slices.ContainsFunc(t.Items[1:], other) || (!closed && other(t.Rest)) {
		return nil, false
	}
	return t.Items[0], true
}

// mapping prints a map. If the value refers to a definition, it does not use Record, which would make a recursive definition circular.
func (p *printer) mapping(value ir.Type, indent string) string {
	text := p.typ(value, indent)
	if refers(value) {
		return "{ [key: string]: " + text + " }"
	}
	return "Record<string, " + text + ">"
}
