package render

import (
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/ir"
)

// tsNoFields is an object without properties; tsAnyObject is one with any.
const (
	tsNoFields  = "Record<string, never>"
	tsAnyObject = "Record<string, unknown>"
)

// tsPrinter prints the types of one schema.
type tsPrinter struct {
	schema *ir.Schema
	root   string
	names  map[string]string // of definitions
	// refersToRoot is set once the root was referred to by name.
	refersToRoot bool
}

func newTSPrinter(s *ir.Schema, root string, types *allocator) *tsPrinter {
	p := &tsPrinter{schema: s, root: root, names: map[string]string{}}
	for _, def := range s.Defs {
		p.names[def.Name] = types.name(ident.Pascal(def.Name))
	}
	return p
}

// definitions prints the schema's named types.
func (p *tsPrinter) definitions() []string {
	var out []string
	for _, def := range p.schema.Defs {
		text := tsDoc("", fieldText(def.Name, def.Doc, def.Type, typeScript))
		out = append(out, text+"export type "+p.names[def.Name]+" = "+p.typ(def.Type, "")+";")
	}
	return out
}

// typ prints t for a place with that indentation. Objects are anonymous types and not interfaces, because only those
// can be given where a map is wanted.
func (p *tsPrinter) typ(t ir.Type, indent string) string {
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
		return tsLiteral(t)
	case ir.Array:
		return p.operand(t.Elem, indent) + "[]"
	case ir.Tuple:
		return p.tuple(t, indent)
	case ir.Map:
		return p.mapping(t, indent)
	case ir.Object:
		return p.object(t, indent)
	case ir.Union:
		return p.joined(t.Members, " | ", indent)
	case ir.Intersection:
		return p.joined(t.Members, " & ", indent)
	case ir.Ref:
		return p.ref(t)
	}
	return "unknown"
}

func (p *tsPrinter) ref(t ir.Ref) string {
	if t.Name == "" {
		p.refersToRoot = true
		return p.root
	}
	if name, ok := p.names[t.Name]; ok {
		return name
	}
	return "unknown"
}

func tsLiteral(l ir.Literal) string {
	switch {
	case l.Kind == ir.LiteralString:
		return quote(typeScript, l.Text)
	case l.Kind == ir.LiteralNumber:
		return l.Text
	case l.Bool:
		return "true"
	}
	return "false"
}

// operand prints t so that [] or & may stand beside it.
func (p *tsPrinter) operand(t ir.Type, indent string) string {
	text := p.typ(t, indent)
	switch t.(type) {
	case ir.Union, ir.Intersection:
		return "(" + text + ")"
	}
	return text
}

func (p *tsPrinter) joined(types []ir.Type, operator, indent string) string {
	out := make([]string, len(types))
	for i, t := range types {
		out[i] = p.operand(t, indent)
	}
	if len(types) > 2 && allLiterals(types) {
		operator = strings.TrimSpace(operator) // long enumerations cost a model less without the blanks
	}
	return strings.Join(out, operator)
}

func allLiterals(types []ir.Type) bool {
	for _, t := range types {
		switch t.(type) {
		case ir.Literal, ir.Null:
		default:
			return false
		}
	}
	return true
}

func (p *tsPrinter) tuple(t ir.Tuple, indent string) string {
	var out []string
	for i, item := range t.Items {
		text := p.operand(item, indent)
		if i >= t.Required {
			text += "?"
		}
		out = append(out, text)
	}
	if _, closed := t.Rest.(ir.Never); !closed {
		out = append(out, "..."+p.operand(t.Rest, indent)+"[]")
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// mapping prints a map. Where the value refers to a definition Record would make a recursive one circular.
func (p *tsPrinter) mapping(t ir.Map, indent string) string {
	value := p.typ(t.Value, indent)
	if refers(t.Value) {
		return "{ [key: string]: " + value + " }"
	}
	return "Record<string, " + value + ">"
}

// refers reports whether t holds a reference.
func refers(t ir.Type) bool {
	any := func(types []ir.Type) bool {
		for _, m := range types {
			if refers(m) {
				return true
			}
		}
		return false
	}
	switch t := t.(type) {
	case ir.Ref:
		return true
	case ir.Array:
		return refers(t.Elem)
	case ir.Tuple:
		return any(t.Items) || refers(t.Rest)
	case ir.Map:
		return refers(t.Value)
	case ir.Object:
		for _, f := range t.Fields {
			if refers(f.Type) {
				return true
			}
		}
	case ir.Union:
		return any(t.Members)
	case ir.Intersection:
		return any(t.Members)
	}
	return false
}

// maxInline is how long an object type may be to stand on one line.
const maxInline = 80

func (p *tsPrinter) object(t ir.Object, indent string) string {
	_, closed := t.Extra.(ir.Never)
	if len(t.Fields) == 0 {
		if closed {
			return tsNoFields
		}
		return tsAnyObject
	}
	inner := indent + "  "
	var lines []string
	documented := false
	for _, f := range t.Fields {
		doc := tsDoc(inner, fieldText(f.Name, f.Doc, f.Type, typeScript))
		documented = documented || doc != ""
		lines = append(lines, doc+inner+p.field(f, inner))
	}
	if t.Extra != nil && !closed {
		// Declared properties must fit an index signature too, so it cannot say more than this.
		lines = append(lines, inner+"[key: string]: unknown;")
	}
	if !documented {
		short := make([]string, len(lines))
		for i, line := range lines {
			short[i] = strings.TrimSpace(line)
		}
		text := "{ " + strings.TrimSuffix(strings.Join(short, " "), ";") + " }"
		if len(text) <= maxInline && !strings.Contains(text, "\n") {
			return text
		}
	}
	return "{\n" + strings.Join(lines, "\n") + "\n" + indent + "}"
}

func (p *tsPrinter) field(f ir.Field, indent string) string {
	typ := p.typ(f.Type, indent)
	name := f.Name
	if !plainKey(name) {
		name = quote(typeScript, name)
	}
	if f.Required {
		return name + ": " + typ + ";"
	}
	if inherited(f.Name) {
		// Every object has it, as a function: a type that forbade that would refuse objects without the property.
		typ = "unknown"
	}
	return name + "?: " + typ + ";"
}

func plainKey(name string) bool {
	for i, c := range []byte(name) {
		letter := c == '_' || c == '$' || (c|0x20 >= 'a' && c|0x20 <= 'z')
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != "" && name != "__proto__"
}

// inherited reports whether TypeScript takes a property to be there on every object.
func inherited(name string) bool {
	switch name {
	case "constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf":
		return true
	}
	return false
}
