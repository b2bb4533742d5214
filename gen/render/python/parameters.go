package python

import (
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/render"
)

// plainObject returns an input whose properties can be keyword arguments: a single object that is not a map, because a map's keys are data.
func plainObject(s *ir.Schema) (ir.Object, bool) {
	object, ok := flatten(s, s.Resolve(s.Root)).(ir.Object)
	if !ok || (len(object.Fields) == 0 && object.Extra != nil && !closed(object)) {
		return ir.Object{}, false
	}
	return object, true
}

// parameters prints keyword-only parameters, and a mapping for those that have other names on the wire.
//
// An optional parameter always accepts None. Its default says what None means: if the default is None, None is a value like any other and
// is sent; if the default is ..., None leaves the argument out. Undeclared properties, if allowed, are further keyword arguments.
func parameters(p *printer, object ir.Object) (parameters, wire string) {
	fields := object.Fields
	names := parameterNames(fields)
	var lines []string
	documented := false
	for i, f := range fields {
		parts, end := p.parts(f.Type, ident.Pascal(f.Name)), ""
		switch {
		case f.Required:
		case p.schema.Nullable(f.Type) || p.join(parts) == p.anything():
			end = " = None"
		default:
			parts, end = appendNew(parts, "None"), " = ..."
		}
		code := names[i] + ": " + p.place(p.join(parts)) + end + ","
		line, doc := commented("    ", code, p.fieldDoc(f))
		documented = documented || doc
		lines = append(lines, line)
	}
	if !closed(object) {
		lines = append(lines, "    **"+extraName(names)+": "+p.extra(object)+",")
	}
	return parameterList(lines, len(fields) > 0, documented), wireNames(fields, names)
}

// extra prints the type of an undeclared property.
func (p *printer) extra(object ir.Object) string {
	if object.Extra == nil {
		return p.place(p.anything())
	}
	return p.place(p.expr(object.Extra, "Extra"))
}

// extraName returns a name for the parameter that accepts undeclared properties.
func extraName(names []string) string {
	used := render.NewScope(names...)
	return used.Name("extra")
}

func parameterList(lines []string, keywords, documented bool) string {
	star := ""
	if keywords {
		star = "*,"
	}
	if documented || len(strings.Join(lines, "")) > 100 {
		return star + "\n" + strings.Join(lines, "\n") + "\n"
	}
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(strings.TrimSpace(line), ",")
	}
	if keywords {
		lines = append([]string{"*"}, lines...)
	}
	return strings.Join(lines, ", ")
}

// wireNames prints the mapping from parameters to their names on the wire.
func wireNames(fields []ir.Field, names []string) string {
	dashed, same := true, true
	wire := ""
	for i, f := range fields {
		dashed = dashed && strings.ReplaceAll(names[i], "_", "-") == f.Name
		same = same && names[i] == f.Name
		if names[i] != f.Name {
			wire += ", " + names[i] + "=" + quote(f.Name)
		}
	}
	if dashed && !same {
		return `, "-"`
	}
	return wire
}

// parameterNames maps property names to parameter names. A property name that is an identifier stays as it is.
func parameterNames(fields []ir.Field) []string {
	wire := make([]string, len(fields))
	exact := map[string]bool{}
	for i, f := range fields {
		wire[i] = f.Name
		exact[f.Name] = plainName(f.Name)
	}
	// Mapped names must not equal one that stays. Names that differ only in case are different parameters.
	mapped := ident.Unique(wire, ident.Snake, func(s string) bool { return exact[s] || ident.PythonKeyword(s) })
	for i, name := range wire {
		if exact[name] {
			mapped[i] = name
		}
	}
	used := render.NewScope()
	for i, name := range mapped {
		if !exact[wire[i]] {
			continue
		}
		used[name] = true
	}
	for i, name := range mapped {
		if !exact[wire[i]] {
			mapped[i] = used.Name(name)
		}
	}
	return mapped
}

// plainName reports whether a property can be a parameter, or a field of a class, with its own name.
func plainName(name string) bool {
	for i, c := range []byte(name) {
		letter := c == '_' || (c|0x20 >= 'a' && c|0x20 <= 'z')
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != "" && name != "_" && !strings.HasPrefix(name, "__") && !ident.PythonKeyword(name)
}
