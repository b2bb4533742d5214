package catalog

import (
	"fmt"
	"strings"
)

// properties compares what objects may and must hold.
func (c *comparer) properties(p place, a, b fields, handled map[string]bool) {
	for _, key := range []string{"properties", "required", "additionalProperties", "patternProperties"} {
		handled[key] = true
	}
	x, _ := a["properties"].(map[string]any)
	y, _ := b["properties"].(map[string]any)
	mustOld, mustNew := required(a), required(b)
	for _, name := range unionKeys(x, y) {
		old, inA := x[name]
		now, inB := y[name]
		at := p.property(name)
		switch {
		case !inA:
			c.propertyAdded(at, now, mustNew[name])
			if mustOld[name] && !mustNew[name] {
				c.requirement(at, false)
			}
		case !inB:
			c.propertyRemoved(at, old, mustOld[name])
			if mustNew[name] && !mustOld[name] {
				c.requirement(at, true)
			}
		default:
			if mustOld[name] != mustNew[name] {
				c.requirement(at, mustNew[name])
			}
			c.compare(at, old, now)
		}
	}
	for _, name := range unionKeys(mustOld, mustNew) { // names that are no property
		_, inA := x[name]
		_, inB := y[name]
		if !inA && !inB && mustOld[name] != mustNew[name] {
			c.requirement(p.property(name), mustNew[name])
		}
	}
	c.patterns(p, a, b)
	c.compare(p.at("/additionalProperties", "{others}"), rest(a), rest(b))
}

// rest is the schema of undeclared properties. What is not said is anything.
func rest(shape fields) any {
	if v, ok := shape["additionalProperties"]; ok {
		return v
	}
	return true
}

// propertyAdded: callers need not give an optional one, and may ignore one that a server gives.
func (c *comparer) propertyAdded(p place, schema any, must bool) {
	impact, what := Compatible, c.kindOf(c.new, schema)+", optional"
	if c.overlapping > 0 {
		impact = Breaking
	}
	if must {
		what = c.kindOf(c.new, schema) + ", required"
		if c.who == inputRole {
			impact = Breaking
		}
	}
	c.item(p, "property", Added, impact, "", what, "added: %s", what)
}

// propertyRemoved: who gave or read it can't any longer.
func (c *comparer) propertyRemoved(p place, schema any, must bool) {
	what := c.kindOf(c.old, schema)
	if must {
		what += ", required"
	} else {
		what += ", optional"
	}
	c.item(p, "property", Removed, Breaking, what, "", "removed (was %s)", what)
}

// requirement: callers must give what is required of an input; they may rely on what is required of an output.
func (c *comparer) requirement(p place, must bool) {
	if must {
		c.item(p, "required", Required, c.who.impact(c.certain(Narrowed)), "false", "true", "now required")
		return
	}
	c.item(p, "required", Optional, c.who.impact(c.certain(Widened)), "true", "false", "no longer required")
}

// kindOf is a short word for what a schema accepts.
func (c *comparer) kindOf(w viewer, schema any) string {
	v := w.view(schema)
	what := typesText(v)
	for _, kind := range []string{"string", "number"} {
		if shapes := v.shapes[kind]; len(shapes) == 1 {
			if enum, ok := shapes[0]["enum"].([]any); ok {
				what += " (" + list(texts(enum)) + ")"
			}
		}
	}
	if shapes := v.shapes["array"]; len(shapes) == 1 && strings.Contains(what, "array") {
		if items, ok := shapes[0]["items"]; ok {
			if inner := typesText(w.view(items)); !strings.Contains(inner, "|") && inner != "anything" {
				what = strings.Replace(what, "array", inner+"[]", 1)
			}
		}
	}
	return cut(what, maxText)
}

func (c *comparer) patterns(p place, a, b fields) {
	x, _ := a["patternProperties"].(map[string]any)
	y, _ := b["patternProperties"].(map[string]any)
	for _, pattern := range unionKeys(x, y) {
		old, inA := x[pattern]
		now, inB := y[pattern]
		at := p.at("/patternProperties/"+pointerEscape(pattern), fmt.Sprintf("{/%s/}", cut(pattern, maxText)))
		switch {
		case !inA:
			c.values(at, "patternProperties", Changed, "", c.kindOf(c.new, now))
		case !inB:
			c.values(at, "patternProperties", Changed, c.kindOf(c.old, old), "")
		default:
			c.compare(at, old, now)
		}
	}
}

func required(schema fields) map[string]bool {
	names := map[string]bool{}
	list, _ := schema["required"].([]any)
	for _, item := range list {
		if name, ok := item.(string); ok {
			names[name] = true
		}
	}
	return names
}
