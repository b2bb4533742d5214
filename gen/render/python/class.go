package python

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/ir"
)

// closed reports whether an object takes no properties but the declared ones.
func closed(t ir.Object) bool {
	_, never := t.Extra.(ir.Never)
	return never
}

// isClass reports whether an object is printed as a TypedDict: one that declares properties or forbids all.
func (p *printer) isClass(t ir.Object) bool {
	named := slices.ContainsFunc(t.Fields, func(f ir.Field) bool { return validKey(f.Name) })
	return named || (p.input && len(t.Fields) == 0 && closed(t))
}

// object prints an object, and declares it where it is a class.
func (p *printer) object(t ir.Object, hint string) []string {
	if !p.isClass(t) {
		return []string{p.mapping(ir.Unknown{}, hint)}
	}
	name := hint
	if hint == p.root && !p.rootDone && p.rootNamed {
		p.rootDone = true // the root's own name was kept for it
		p.class(name, t, "")
	} else {
		name = p.className(hint)
		p.class(name, t, "")
		name = p.once(name)
	}
	return append([]string{name}, p.openness(t)...)
}

// once takes the class that was declared last back if it is equal to an earlier one, and returns the name of that.
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

// className returns a name for a class: what it is called where it stands, where another is called so with the class
// around it, and only then a number.
func (p *printer) className(hint string) string {
	if p.types[hint] {
		hint = p.around + hint
	}
	return p.types.Name(hint)
}

// openness prints what stands beside a class for the properties that it does not declare.
//
// Where anything may be there, the class has the base Open and Extra stands beside it: pyright sees what else Open
// takes, and an Extra that nothing fits; mypy does not know of it, and takes what the class refuses as Extra.
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

// openMapping prints the mapping that takes all properties of an object. Its values may be anything; what is said of
// undeclared ones stands beside that.
func (p *printer) openMapping(t ir.Object) string {
	var values ir.Type = ir.Unknown{}
	if t.Extra != nil && ir.Described(t.Extra) {
		values = ir.NewUnion(t.Extra, values)
	}
	key := ir.Key(t)
	text, known := p.mappings[key]
	if !known {
		p.mappings[key] = p.mapping(ir.Unknown{}, "") // for an object that holds itself
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
	// Fields with names of other kinds are in a base that is made by a call, which must not be recursive.
	odd, _ := p.odd(t.Fields)
	return len(odd) == 0 || !p.recursive(t, odd)
}

// recursive reports whether a definition that fields of t refer to, or one that those refer to, holds t.
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
			// The type printed for an intersection has no key of its own, and may be anything.
			if def.meets || strings.Contains(def.key, key) || reaches(def.refs) {
				return true
			}
		}
		return false
	}
	return reaches(refsOf(ir.Object{Fields: fields}))
}

// makeup is what a definition is made of.
type makeup struct {
	key   string
	refs  []string // the definitions that it names
	meets bool     // it has an intersection in it
}

// made returns what the definition of that name is made of, and remembers it.
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

// refsOf lists the definitions that t names.
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

// scalar reports whether t is printed without declaring anything.
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

// called prints a TypedDict whose keys are no names, by a call of it. Where that is to have the base Open it is a base
// itself, and what is recursive in it is declared in the class.
func (p *printer) called(name string, t ir.Object, exprs []string, option string, later bool, doc string) string {
	made, open := name, ""
	inCall := func(ir.Field) bool { return true }
	if p.based(t) {
		made = p.types.Name(name + "Keys")
		var fields []ir.Field
		var types []string
		if p.recursive(t, t.Fields) {
			_, fields = p.odd(t.Fields)
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
			continue // a TypedDict cannot have it, or the class does
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

// classSyntax reports whether all fields can be written as members of a class: their names are identifiers, and none
// hides a name that the types of the others use.
func (p *printer) classSyntax(fields []ir.Field, exprs []string) bool {
	used := map[string]bool{}
	for _, expr := range exprs {
		for _, word := range words(expr) {
			used[word] = true
		}
	}
	return !slices.ContainsFunc(fields, func(f ir.Field) bool { return !plainName(f.Name) || used[f.Name] })
}

var (
	// stringLiterals finds string literals in a type, which may hold words that look like names.
	stringLiterals = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	// literalTypes finds the Literal types in a type.
	literalTypes = regexp.MustCompile(`Literal_*\[(?:[^"\]]|"(?:[^"\\]|\\.)*")*\]`)
)

// words returns the names in a type.
func words(expr string) []string {
	bare := stringLiterals.ReplaceAllString(expr, "")
	return strings.FieldsFunc(bare, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' })
}

// place notes what a type that is put into the module needs to import, and returns it.
func (p *printer) place(text string) string {
	for _, word := range words(text) {
		p.used[word] = true
	}
	p.code = p.code || holdsCode(text)
	return text
}

// later puts a type in quotation marks, so that it may name what is declared later. Types in quotation marks can't
// hold escapes; literals that have some get a name of their own.
func (p *printer) later(text, name string) string {
	text = literalTypes.ReplaceAllStringFunc(text, func(literal string) string {
		if !strings.ContainsAny(literal, `'\#`) { // mypy looks for orders behind a #
			return literal
		}
		alias := p.types.Name(name + "Literal")
		p.declarations = append(p.declarations, alias+": "+p.place(p.word("TypeAlias"))+" = "+p.place(literal))
		return alias
	})
	return "'" + text + "'"
}
