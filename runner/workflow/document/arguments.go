package document

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/cel"
	"go.yaml.in/yaml/v3"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/config/node"
	"github.com/mcpgen/mcpgen/gen/config/shape"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/jsonschema"
	"github.com/mcpgen/mcpgen/gen/schema/validate"
)

// plain returns a value of a document as JSON, with null in the place of texts that have expressions, and the paths of these in the value as
// validate writes them.
func (c *compiler) plain(n *yaml.Node, path string) (out any, holes []string) {
	n = follow(n)
	switch n.Kind {
	case yaml.MappingNode:
		object := map[string]any{}
		for key, v := range node.Pairs(n) {
			value, more := c.plain(v, node.Join(path, key.Value))
			object[key.Value] = value
			holes = append(holes, more...)
		}
		return object, holes
	case yaml.SequenceNode:
		list := []any{}
		for i, v := range n.Content {
			value, more := c.plain(v, fmt.Sprintf("%s[%d]", path, i))
			list = append(list, value)
			holes = append(holes, more...)
		}
		return list, holes
	}
	if shape.KindOf(n) != "string" {
		return json.RawMessage(c.literal(n)), nil
	}
	parts, ok := c.template(n)
	if !ok || slices.ContainsFunc(parts, func(p part) bool { return p.IsExpression }) {
		return nil, []string{path}
	}
	return joined(parts), nil
}

// literal returns a number, a boolean or null as JSON.
func (c *compiler) literal(n *yaml.Node) string {
	var v any
	if err := n.Decode(&v); err == nil {
		if raw, err := json.Marshal(v); err == nil {
			return string(raw)
		}
	}
	c.wrong(n, fmt.Sprintf("%q cannot be written as JSON", n.Value), "write it in quotes, or as another number")
	return "null"
}

// arguments checks what a call gives a tool against its input schema, to the extent that it is known before the workflow runs. with may be nil.
func (c *compiler) arguments(call, with *yaml.Node, tool *catalog.Tool, types map[string]*cel.Type) {
	input, err := jsonschema.Parse(tool.Input, jsonschema.Limits{})
	if err != nil {
		return // a sync has warned, and the call is not checked either
	}
	at := with
	if at == nil {
		at = call
	}
	given := map[string]bool{}
	for key := range node.Pairs(with) {
		given[key.Value] = true
	}
	for _, name := range jsonschema.RequiredNames(input) {
		if !given[name] {
			c.wrong(at, fmt.Sprintf("the argument %s of %s is missing", name, tool.ID), "write it below with:")
		}
	}
	validator, err := validate.Compile(tool.Input)
	if err != nil {
		return
	}
	value, holes := any(map[string]any{}), []string(nil)
	if with != nil {
		value, holes = c.plain(with, "")
	}
	instance, err := json.Marshal(value)
	if err != nil {
		return
	}
	undeclared, known := validator.Undeclared(instance)
	if properties := input.Get("properties").Sorted(); input.Is("additionalProperties", false) && !input.Has("patternProperties") {
		undeclared, known = slices.Collect(maps.Keys(given)), nil
		for _, p := range properties {
			known = append(known, p.Key)
		}
		undeclared = slices.DeleteFunc(undeclared, func(name string) bool { return slices.Contains(known, name) })
	}
	for key := range node.Pairs(with) {
		if !slices.Contains(undeclared, key.Value) {
			continue
		}
		hint := "it has: " + ident.List(known)
		if near := ident.Nearest(key.Value, known, 1); len(near) > 0 {
			hint = fmt.Sprintf("did you mean %s?", near[0])
		}
		c.wrong(key, fmt.Sprintf("%s has no argument %q", tool.ID, key.Value), hint)
	}
	c.literals(validator, instance, with, holes, tool)
	c.argumentTypes(input, with, types, tool)
}

// literals reports literal arguments of the wrong type. A problem at or above an expression may be due to the null in its place.
func (c *compiler) literals(validator *validate.Validator, instance []byte, with *yaml.Node, holes []string, tool *catalog.Tool) {
	bad, ok := errors.AsType[*validate.ValidationError](validator.Validate(instance))
	if !ok {
		return
	}
	for _, p := range bad.Problems {
		affected := slices.ContainsFunc(holes, func(hole string) bool { return within(p.Path, hole) || within(hole, p.Path) })
		if p.Path != "" && !affected { // what is missing or unknown at the top was reported
			c.wrong(locate(with, p.Path), fmt.Sprintf("an argument of %s does not fit: %s", tool.ID, p.Message), "")
		}
	}
	if len(c.problems.List) == 0 && len(holes) == 0 && bad.Problems[0].Path == "" {
		c.wrong(with, fmt.Sprintf("the arguments of %s do not fit: %s", tool.ID, bad.Problems[0].Message), "")
	}
}

// within reports whether a path is another one or leads on from it.
func within(outer, path string) bool {
	rest, ok := strings.CutPrefix(path, outer)
	return ok && (rest == "" || outer == "" || rest[0] == '.' || rest[0] == '[')
}

// locate returns the node at a path, as validate writes it, or the last one on the way that there is.
func locate(n *yaml.Node, path string) *yaml.Node {
	for n = follow(n); path != "" && n != nil; {
		var next *yaml.Node
		var rest string
		if strings.HasPrefix(path, "[") {
			number, after, _ := strings.Cut(path[1:], "]")
			if i, err := strconv.Atoi(number); err == nil && i < len(items(n)) {
				next, rest = items(n)[i], after
			}
		}
		for key, v := range node.Pairs(n) {
			if after, ok := strings.CutPrefix(strings.TrimPrefix(path, "."), key.Value); ok && (after == "" || after[0] == '.' || after[0] == '[') {
				next, rest = v, after
			}
		}
		if next == nil {
			return n
		}
		n, path = follow(next), rest
	}
	return n
}

// argumentTypes reports arguments that are expressions whose type the tool does not accept.
func (c *compiler) argumentTypes(input *jsonschema.Value, with *yaml.Node, types map[string]*cel.Type, tool *catalog.Tool) {
	for key, v := range node.Pairs(with) {
		t, property := types[key.Value], input.Get("properties").Get(key.Value)
		wanted, named := jsonschema.TypesOf(property)
		if t == nil || !named || typesOf(t)&wanted != 0 {
			continue
		}
		c.wrong(v, fmt.Sprintf("%s of %s is %s, and the expression gives %s", key.Value, tool.ID, strings.Join(wanted.Names(), " or "), strings.Join(typesOf(t).Names(), " or ")), "")
	}
}
