package form

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/config/node"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/jsonschema"
	"github.com/mcpgen/mcpgen/runner/internal/expr"
)

// Check checks the form against the tools of a tree: its tool exists, what the tool requires is always given, and what is given the tool knows.
// It sets Tool to the tool's id. The error is a [*node.FileError], unless the tree cannot be read.
func (f *Form) Check(tree *gen.Tree) error {
	bad := func(line int, key, problem, remedy string) error {
		return &node.FileError{File: f.File, Line: line, Key: key, Problem: problem, Remedy: remedy}
	}
	found, err := tree.Find(f.Tool)
	if unknown, ok := errors.AsType[*gen.UnknownToolError](err); ok {
		return bad(f.toolLine, "submit.tool", unknown.Error(), unknown.Hint())
	}
	if err != nil {
		return err
	}
	tool := found.Tool
	f.Tool = tool.ID
	input, err := jsonschema.Parse(tool.Input, jsonschema.Unlimited)
	if err != nil {
		return bad(f.toolLine, "submit.tool", "its input schema cannot be read", "name another tool")
	}
	given := f.given()
	for _, name := range jsonschema.RequiredNames(input) {
		g, ok := given[name]
		switch {
		case !ok && f.arguments == nil:
			return bad(f.toolLine, "submit.tool", fmt.Sprintf("%s requires %q, which is not a field", tool.ID, name), "add the field, or write submit.with")
		case !ok:
			return bad(f.arguments.line, "submit.with", fmt.Sprintf("%s requires %q, which is not given", tool.ID, name), "add "+name+": …")
		case !g.always:
			return bad(g.line, node.Join("submit.with", name), fmt.Sprintf("%s requires %q, and a field that it reads may be without a value", tool.ID, name), "require the field in the schema, or give it a default")
		}
	}
	properties := input.Get("properties")
	if !input.Is("additionalProperties", false) || properties == nil {
		return nil
	}
	for name, g := range given {
		if !properties.Has(name) {
			return bad(g.line, node.Join("submit.with", name), fmt.Sprintf("%s takes no argument %q", tool.ID, name), "it takes "+ident.List(keys(properties)))
		}
	}
	return nil
}

func keys(v *jsonschema.Value) []string {
	var out []string
	for _, m := range v.Members {
		out = append(out, m.Key)
	}
	return out
}

// argument is what a form gives a tool.
type argument struct {
	line   int
	always bool // it has a value if the form is complete
}

// given returns the arguments by name.
func (f *Form) given() map[string]argument {
	out := map[string]argument{}
	if f.arguments == nil {
		for i := range f.Fields {
			field := &f.Fields[i]
			out[field.Name] = argument{f.toolLine, f.always(field)}
		}
		return out
	}
	for _, m := range f.arguments.members {
		out[m.name] = argument{m.line, m.value.expression == nil || f.evaluates(m.value)}
	}
	return out
}

func (f *Form) always(field *Field) bool { return field.Required || field.value != nil }

// evaluates reports whether an expression has a value if only the fields that always have one do. One that fails on made-up values for another
// reason may have one.
func (f *Form) evaluates(t *template) bool {
	values := []byte{'{'}
	for i := range f.Fields {
		if field := &f.Fields[i]; f.always(field) {
			values = appendMember(values, field.Name, sample(field))
		}
	}
	_, err := (&Form{arguments: t}).Arguments(append(values, '}'))
	return !errors.Is(err, expr.ErrNoValue)
}

// sample returns a value of a field's type.
func sample(f *Field) json.RawMessage {
	types, _ := jsonschema.TypesOf(f.schema)
	for _, each := range []struct {
		of   jsonschema.Types
		json string
	}{{jsonschema.String, `"x"`}, {jsonschema.Number, "1"}, {jsonschema.Integer, "1"}, {jsonschema.Boolean, "true"}, {jsonschema.Array, "[]"}, {jsonschema.Object, "{}"}} {
		if types&each.of != 0 {
			return json.RawMessage(each.json)
		}
	}
	return json.RawMessage(`"x"`)
}
