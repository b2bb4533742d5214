package python

import (
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/ir"
)

// closed reports whether an object has no properties other than the declared ones.
func closed(t ir.Object) bool {
	_, never := t.Extra.(ir.Never)
	return never
}

// isClass reports whether an object is printed as a TypedDict, which is the case if it declares properties or forbids all.
func (p *printer) isClass(t ir.Object) bool {
	named := slices.ContainsFunc(t.Fields, func(f ir.Field) bool { return validKey(f.Name) })
	return named || (p.input && len(t.Fields) == 0 && closed(t))
}

// object prints an object, and declares it if it is a class.
func (p *printer) object(t ir.Object, hint string) []string {
	if !p.isClass(t) {
		return []string{p.mapping(ir.Unknown{}, hint)}
	}
	name := hint
	if hint == p.root && !p.rootDone && p.rootNamed {
		p.rootDone = true // the root's own name was reserved for it
		p.class(name, t, "")
	} else {
		name = p.className(hint)
		p.class(name, t, "")
		name = p.once(name)
	}
	return append([]string{name}, p.openness(t)...)
}

// once removes the class that was declared last if it equals an earlier one, and returns the name of the class to use.
func (p *printer) once(name string) string {
	last := len(p.declarations) - 1
	text, ok := strings.CutPrefix(p.declarations[last], "class "+name+"(")
	if !ok {
		return name
	}
	equal, known := p.classes[text]
	if !known {
		p.classes[text] = name
		return name
	}
	p.declarations = p.declarations[:last]
	delete(p.types, name)
	return equal
}

// className returns a name for a class: its own hint; if that is taken, the hint combined with the name of the enclosing class; and only
// then with a number.
func (p *printer) className(hint string) string {
	if p.types[hint] {
		hint = p.around + hint
	}
	return p.types.Name(hint)
}

// openness prints what is beside a class for the properties that it does not declare.
//
// If these may have any type, the class has the base Open, and Extra is beside it. pyright sees what else Open accepts, and an Extra that
// no value fits. mypy does not know Open, and accepts as Extra what the class rejects.
func (p *printer) openness(t ir.Object) []string {
	switch {
	case !p.input || p.sealed(t):
		return nil
	case p.based(t):
		return []string{p.word("Extra")}
	}
	var fields []ir.Type
	for _, f := range t.Fields {
		fields = append(fields, f.Type)
	}
	notScalar := func(t ir.Type) bool { return !scalar(t) }
	if t.Extra == nil || !scalar(t.Extra) || slices.ContainsFunc(fields, notScalar) {
		return []string{p.openMapping(t)}
	}
	return []string{p.mapping(ir.NewUnion(t.Extra, ir.NewPlainUnion(fields...)), "")}
}

// openMapping prints the mapping that accepts all properties of an object. Its values may have any type; the type of undeclared properties
// is beside it.
func (p *printer) openMapping(t ir.Object) string {
	var values ir.Type = ir.Unknown{}
	if t.Extra != nil && ir.Described(t.Extra) {
		values = ir.NewUnion(t.Extra, values)
	}
	key := ir.Key(t)
	text, known := p.mappings[key]
	if !known {
		p.mappings[key] = p.mapping(ir.Unknown{}, "") // for an object that contains itself
		text = p.mapping(values, "Value")
		p.mappings[key] = text
	}
	return text
}

// sealed reports whether a class describes all properties of an object.
func (p *printer) sealed(t ir.Object) bool {
	return closed(t) && !slices.ContainsFunc(t.Fields, func(f ir.Field) bool { return !validKey(f.Name) })
}

// based reports whether a class for t has the base Open.
func (p *printer) based(t ir.Object) bool {
	_, any := t.Extra.(ir.Unknown)
	if !p.input || (t.Extra != nil && !any) || slices.ContainsFunc(t.Fields, func(f ir.Field) bool { return !validKey(f.Name) }) {
		return false
	}
	// Fields with unusual names are in a base that is created by a call and must not be recursive.
	called, _ := p.needCall(t.Fields)
	return len(called) == 0 || !p.recursive(t, called)
}

// recursive reports whether fields of t lead, through definitions, back to t.
func (p *printer) recursive(t ir.Object, fields []ir.Field) bool {
	key := ir.Key(t)
	seen := map[string]bool{}
	var reaches func(refs []string) bool
	reaches = func(refs []string) bool {
		for _, name := range refs {
			if seen[name] {
				continue
			}
			seen[name] = true
			def := p.made(name)
			// The type printed for an intersection has no key of its own, and may be any type.
			if def.meets || strings.Contains(def.key, key) || reaches(def.refs) {
				return true
			}
		}
		return false
	}
	return reaches(refsOf(ir.Object{Fields: fields}))
}

// makeup describes what a definition consists of.
type makeup struct {
	key   string
	refs  []string // the definitions to which it refers
	meets bool     // it contains an intersection
}

// made returns the makeup of the definition with that name, and caches it.
func (p *printer) made(name string) *makeup {
	m := p.makeups[name]
	if m == nil {
		t := p.schema.Resolve(ir.Ref{Name: name})
		m = &makeup{key: ir.Key(t), refs: refsOf(t)}
		m.meets = strings.Contains(m.key, "&(")
		p.makeups[name] = m
	}
	return m
}

// refsOf lists the definitions to which t refers.
func refsOf(t ir.Type) []string {
	var out []string
	ir.Walk(t, func(t ir.Type) bool {
		if ref, ok := t.(ir.Ref); ok {
			out = appendNew(out, ref.Name)
		}
		return true
	})
	return out
}

// scalar reports whether t is printed without a declaration.
func scalar(t ir.Type) bool {
	switch t := t.(type) {
	case ir.Null, ir.Bool, ir.String, ir.Number, ir.Literal:
		return true
	case ir.Union:
		return !slices.ContainsFunc(t.Members, func(m ir.Type) bool { return !scalar(m) })
	}
	return false
}

// class declares a TypedDict.
func (p *printer) class(name string, t ir.Object, doc string) {
	total := len(t.Fields) == 0 || slices.ContainsFunc(t.Fields, func(f ir.Field) bool { return f.Required })
	exprs := make([]string, len(t.Fields))
	before, around := p.forward, p.around
	p.forward, p.around = false, name
	for i, f := range t.Fields {
		exprs[i] = p.inside(f.Type, ident.Pascal(f.Name))
		below := p.below(exprs[i])
		if below >= maxBelow {
			exprs[i], below = p.anything(), 0
		}
		p.depths[name] = max(p.depths[name], below+1)
		if total && !f.Required {
			exprs[i] = p.word("NotRequired") + "[" + exprs[i] + "]"
		}
	}
	later := p.forward
	p.forward, p.around = p.forward || before, around
	option, base := "", p.word("TypedDict")
	if !total {
		option = ", total=False"
	}
	if p.based(t) {
		base = p.word("Open")
	}
	var text string
	if p.classSyntax(t.Fields, exprs) {
		text = "class " + name + "(" + p.place(base) + option + "):\n" + docComment("    ", doc) + p.members(t.Fields, exprs)
	} else {
		text = p.called(name, t, exprs, option, later, doc)
	}
	p.declarations = append(p.declarations, strings.TrimSuffix(text, "\n"))
}

// members prints the fields of a class.
func (p *printer) members(fields []ir.Field, exprs []string) string {
	if len(fields) == 0 {
		return "    pass\n"
	}
	var b strings.Builder
	for i, f := range fields {
		line, _ := commented("    ", f.Name+": "+p.place(exprs[i]), p.fieldDoc(f))
		b.WriteString(line + "\n")
	}
	return b.String()
}

// called prints a TypedDict whose keys are not identifiers, as a call. If it is to have the base Open, it is itself a base, and its
// recursive fields are declared in the class.
func (p *printer) called(name string, t ir.Object, exprs []string, option string, later bool, doc string) string {
	made, open := name, ""
	inCall := func(ir.Field) bool { return true }
	if p.based(t) {
		made = p.types.Name(name + "Keys")
		var fields []ir.Field
		var types []string
		if p.recursive(t, t.Fields) {
			_, fields = p.needCall(t.Fields)
			inCall = func(f ir.Field) bool {
				return !slices.ContainsFunc(fields, func(g ir.Field) bool { return f.Name == g.Name })
			}
			for i, f := range t.Fields {
				if !inCall(f) {
					types = append(types, exprs[i])
				}
			}
		}
		own := option
		if len(fields) == 0 {
			own = ""
		}
		open = "\n\nclass " + name + "(" + made + ", " + p.place(p.word("Open")) + own + "):\n" + docComment("    ", doc) + p.members(fields, types)
	}
	var b strings.Builder
	if lines := comment(doc); open == "" && len(lines) > 0 {
		b.WriteString("# " + strings.Join(lines, "\n# ") + "\n")
	}
	b.WriteString(made + " = " + p.place(p.word("TypedDict")) + "(" + quote(made) + ", {\n")
	for i, f := range t.Fields {
		if !validKey(f.Name) || !inCall(f) {
			continue // a TypedDict cannot have it, or the class declares it
		}
		expr := exprs[i]
		if later {
			expr = p.later(expr, name)
		}
		line, _ := commented("    ", quote(f.Name)+": "+p.place(expr)+",", p.fieldDoc(f))
		b.WriteString(line + "\n")
	}
	b.WriteString("}" + option + ")\n")
	return b.String() + open
}

// classSyntax reports whether all fields can be written as members of a class: their names are identifiers, and none of them hides a name
// that the types of the others use.
func (p *printer) classSyntax(fields []ir.Field, exprs []string) bool {
	used := map[string]bool{}
	for _, expr := range exprs {
		for _, word := range words(expr) {
			used[word] = true
		}
	}
	return !slices.ContainsFunc(fields, func(f ir.Field) bool { return !plainName(f.Name) || used[f.Name] })
}

// place records what a type that is put into the module needs to import, and returns the type.
func (p *printer) place(text string) string {
	for _, word := range words(text) {
		p.used[word] = true
	}
	p.code = p.code || holdsCode(text)
	return text
}

// later puts a type in quotation marks, so that it can refer to what is declared later. Types in quotation marks cannot contain escapes, so
// literals with escapes get a name of their own.
func (p *printer) later(text, name string) string {
	text = literalTypes.ReplaceAllStringFunc(text, func(literal string) string {
		if !strings.ContainsAny(literal, `'\#`) { // mypy looks for directives after a #
			return literal
		}
		alias := p.types.Name(name + "Literal")
		p.declarations = append(p.declarations, alias+": "+p.place(p.word("TypeAlias"))+" = "+p.place(literal))
		return alias
	})
	return "'" + text + "'"
}
