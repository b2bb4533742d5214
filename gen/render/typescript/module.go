package typescript

import (
	"fmt"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/render"
	"github.com/mcpgen/mcpgen/gen/render/internal/text"
)

func (files) Types(name string, s ir.Schema) ([]byte, error) {
	if reason := checkTypeName(name); reason != "" {
		return nil, fmt.Errorf("print types: %q cannot name a type in TypeScript: %s", name, reason)
	}
	scope := render.NewScope(globals...)
	scope[name] = true
	p := newPrinter(&s, accept, name, "", scope)
	p.standalone = true
	doc := s.Doc
	if sole, def := p.soleDef(); sole != "" && doc.Description == "" {
		doc = def.Doc
	}
	var b strings.Builder
	b.WriteString(header)
	b.WriteString(docComment("", text.Field(name, doc, text.IsInteger(s.Root), p.stored)))
	b.WriteString(alias(name, p.rootType()))
	for _, d := range p.definitions() {
		b.WriteString(d.doc + d.code)
	}
	return []byte(b.String()), nil
}

// checkTypeName implements [render.Language].
func checkTypeName(name string) string {
	switch {
	case name == "":
		return "it is empty"
	case !plainKey(name) && name != "__proto__":
		return "a name is made of ASCII letters, digits and underscores, and begins with a letter"
	case strings.Trim(name, "_") == "":
		return "names of that form have a meaning of their own"
	case ident.TypeScriptReserved(name):
		return "it is a word of the language"
	}
	switch name {
	case "any", "bigint", "boolean", "never", "number", "object", "string", "symbol", "undefined", "unknown", "globalThis",
		"__proto__", "Array", "Boolean", "Function", "Number", "Object", "Record", "String", "Symbol":
		return "it has a meaning of its own in the declarations"
	// These come before types, or begin declarations.
	case "abstract", "as", "asserts", "async", "declare", "global", "infer", "intrinsic", "is", "keyof", "module", "namespace",
		"readonly", "type", "unique":
		return "it has a meaning of its own in the declarations"
	}
	return ""
}
