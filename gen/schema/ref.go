package schema

import (
	"net/url"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ir"
)

// reference converts the value of a $ref. Only references within the document are followed; nothing is ever read.
func (c *converter) reference(ref *value, p place) ir.Type {
	var names []string
	seen := map[*value]bool{}
	for ref != nil {
		if ref.kind != kindString {
			c.note(p.at("$ref").pointer, "the reference is not a string; any value is accepted")
			return ir.Unknown{}
		}
		target, path, base := c.resolve(ref.text, p.base)
		if target == nil {
			c.note(p.at("$ref").pointer, "the reference does not lead to a place in the same schema; any value is accepted")
			return ir.Unknown{}
		}
		if seen[target] {
			c.note(p.at("$ref").pointer, "the reference leads back to itself; any value is accepted")
			return ir.Unknown{}
		}
		seen[target] = true
		p = place{base: base, pointer: pointerOf(path), kinds: kAll}
		names = path
		if ref = onlyRef(target); ref == nil {
			return c.named(target, names, p)
		}
	}
	return ir.Unknown{}
}

// onlyRef returns the $ref of a schema that is nothing else.
func onlyRef(v *value) *value {
	ref := v.get("$ref")
	if ref == nil {
		return nil
	}
	for _, m := range v.members {
		switch m.key {
		case "$ref", "title", "description", "$comment", "$defs", "definitions":
		default:
			return nil
		}
	}
	return ref
}

// named returns a reference to target, making it a definition at the first one. Plain scalars are repeated instead.
func (c *converter) named(target *value, path []string, p place) ir.Type {
	if target == c.root {
		return ir.Ref{}
	}
	if name, ok := c.names[target]; ok {
		return ir.Ref{Name: name}
	}
	if simple(target) {
		return c.schema(target, p)
	}
	name := defName(path)
	for n := 2; c.taken[name]; n++ {
		name = defName(path) + " " + itoa(n)
	}
	c.taken[name] = true
	c.names[target] = name
	c.queue = append(c.queue, pendingDef{target: target, place: p})
	return ir.Ref{Name: name}
}

// simple reports whether a schema converts to a type that is shorter than a name for it.
func simple(v *value) bool {
	if v.kind != kindObject {
		return true
	}
	for _, keyword := range []string{"enum", "$ref", "$dynamicRef", "$recursiveRef", "allOf", "anyOf", "oneOf"} {
		if v.get(keyword) != nil {
			return false
		}
	}
	return !hasAny(v, objectKeywords) && !hasAny(v, arrayKeywords)
}

// defName makes a name of a path into a schema: the words that authors chose, without the keywords between them.
func defName(path []string) string {
	var words []string
	for i := 0; i < len(path); i++ {
		switch path[i] {
		case "$defs", "definitions", "components", "schemas":
			words = nil
		case "properties", "patternProperties":
			// the next token is a name, whatever it is
		case "items", "additionalProperties", "prefixItems":
			words = append(words, "item")
			continue
		default:
			words = append(words, path[i])
			continue
		}
		if i+1 < len(path) {
			i++
			words = append(words, path[i])
		}
	}
	if name := strings.Join(words, " "); name != "" {
		return name
	}
	return "definition"
}

// resolve follows a reference from the resource base. It returns nil where the reference leads elsewhere.
func (c *converter) resolve(ref string, base *value) (target *value, path []string, at *value) {
	if id := base.str("$id"); id != "" {
		ref = strings.TrimPrefix(ref, strings.TrimSuffix(id, "#"))
		if ref == "" {
			ref = "#"
		}
	}
	fragment, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, nil, nil
	}
	fragment, err := url.PathUnescape(fragment)
	if err != nil {
		return nil, nil, nil
	}
	if fragment == "" {
		return base, nil, base
	}
	if !strings.HasPrefix(fragment, "/") {
		return findAnchor(base, fragment), []string{fragment}, base
	}
	target, at = base, base
	for _, token := range strings.Split(fragment[1:], "/") {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		path = append(path, token)
		if target = child(target, token); target == nil {
			return nil, nil, nil
		}
		if id := target.str("$id"); id != "" && !strings.HasPrefix(id, "#") {
			at = target
		}
	}
	return target, path, at
}

func child(v *value, token string) *value {
	if v.kind != kindArray {
		return v.get(token)
	}
	for i, item := range v.items {
		if itoa(i) == token {
			return item
		}
	}
	return nil
}

// findAnchor searches a resource for a plain-name fragment.
func findAnchor(v *value, name string) *value {
	if v.str("$anchor") == name || v.str("$dynamicAnchor") == name || v.str("$id") == "#"+name {
		return v
	}
	for _, item := range v.items {
		if found := findAnchor(item, name); found != nil {
			return found
		}
	}
	for _, m := range v.members {
		if found := findAnchor(m.value, name); found != nil {
			return found
		}
	}
	return nil
}

func pointerOf(path []string) string { return place{}.at(path...).pointer }
