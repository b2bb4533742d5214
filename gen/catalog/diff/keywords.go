package diff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/jsonschema"
)

// constraints returns the keywords of a node that refuse values.
func constraints(flat node) node {
	return jsonschema.Record(slices.DeleteFunc(slices.Clone(flat.Members), func(m jsonschema.Member) bool { return !jsonschema.IsConstraint(m.Key) })...)
}

// only reports whether key is the one constraint of a node.
func only(flat node, key string) bool { return flat.Has(key) && len(constraints(flat).Members) == 1 }

// typed compares the keywords for values of one type.
func (c *comparer) typed(p place, kind jsonschema.Types, a, b node, handled map[string]bool) {
	switch kind {
	case jsonschema.Number:
		c.limit(p, a, b, "minimum", "exclusiveMinimum", 1, handled)
		c.limit(p, a, b, "maximum", "exclusiveMaximum", -1, handled)
	case jsonschema.String:
		c.limit(p, a, b, "minLength", "", 1, handled)
		c.limit(p, a, b, "maxLength", "", -1, handled)
	case jsonschema.Array:
		for _, key := range []string{"minItems", "minContains"} {
			c.limit(p, a, b, key, "", 1, handled)
		}
		for _, key := range []string{"maxItems", "maxContains"} {
			c.limit(p, a, b, key, "", -1, handled)
		}
		c.elements(p, a, b, handled)
	case jsonschema.Object:
		c.limit(p, a, b, "minProperties", "", 1, handled)
		c.limit(p, a, b, "maxProperties", "", -1, handled)
		c.properties(p, a, b, handled)
	}
}

// enum compares lists of values. A missing list allows every value.
func (c *comparer) enum(p place, a, b node) {
	x, y := a.Get("enum"), b.Get("enum")
	inA, inB := isList(x), isList(y)
	old, now := texts(x.Elements()), texts(y.Elements())
	switch {
	case !inA && !inB:
	case !inA:
		c.values(p, "enum", Narrowed, "", list(now))
	case !inB:
		c.values(p, "enum", Widened, list(old), "")
	default:
		gone, come := without(old, now), without(now, old)
		op, message := Changed, ""
		switch {
		case gone == nil && come == nil:
			return
		case gone == nil:
			op, message = Widened, "also "+list(come)
		case come == nil:
			op, message = Narrowed, "no longer "+list(gone)
		default:
			message = "no longer " + list(gone) + ", now " + list(come)
		}
		op = c.certain(op)
		c.item(p, "enum", op, c.who.impact(op), list(old), list(now), "%s: %s", op, message)
	}
}

func without(a, b []string) []string {
	in := make(map[string]bool, len(b))
	for _, v := range b {
		in[v] = true
	}
	var out []string
	for _, v := range a {
		if !in[v] {
			out = append(out, v)
		}
	}
	return out
}

func list(values []string) string {
	const most = 12
	text := strings.Join(values[:min(most, len(values))], ", ")
	if len(values) > most {
		text = fmt.Sprintf("%s and %d more", ident.Shorten(text, 2*maxText), len(values)-most)
	}
	return ident.Shorten(text, 2*maxText)
}

// limit compares a bound, and its exclusive form if it has one. sign is 1 where a larger bound accepts less.
func (c *comparer) limit(p place, a, b node, key, exclusive string, sign int, handled map[string]bool) {
	handled[key], handled[exclusive] = true, exclusive != ""
	oldKey, old := bound(a, key, exclusive, sign)
	newKey, now := bound(b, key, exclusive, sign)
	x, y := limitText(oldKey, key, old), limitText(newKey, key, now)
	op := Changed
	switch order, ok := compareNumbers(old, now); {
	case x == y:
		return
	case old == nil:
		op = Narrowed
	case now == nil:
		op = Widened
	case !ok:
	case order == 0 && oldKey == newKey: // 1 and 1.0
		return
	case order*sign < 0, order == 0 && newKey == exclusive:
		op = Narrowed
	default:
		op = Widened
	}
	c.values(p, key, op, x, y)
}

// bound returns the stricter of a bound and its exclusive form.
func bound(shape node, key, exclusive string, sign int) (string, node) {
	x, y := shape.Get(key), shape.Get(exclusive)
	if exclusive == "" || y == nil {
		return key, x
	}
	if order, ok := compareNumbers(x, y); x != nil && ok && order*sign > 0 {
		return key, x
	}
	return exclusive, y
}

func limitText(key, inclusive string, v node) string {
	switch {
	case v == nil:
		return ""
	case key != inclusive:
		return text(v) + " (exclusive)"
	}
	return text(v)
}

// compareNumbers orders two JSON numbers. It reports false if one is not a number, or is too long to read.
func compareNumbers(x, y node) (int, bool) {
	a, okA := x.Rat()
	b, okB := y.Rat()
	if !okA || !okB {
		return 0, false
	}
	return a.Cmp(b), true
}

// rest compares the remaining keywords as a whole: adding one narrows the schema, removing one widens it.
func (c *comparer) rest(p place, a, b node, handled map[string]bool) {
	for _, key := range unionOfKeys(a, b) {
		x, y := a.Get(key), b.Get(key)
		if handled[key] || !jsonschema.IsConstraint(key) {
			continue
		}
		if !c.limits.spend(textCost(x, y)) {
			return
		}
		old, now := textOf(x), textOf(y)
		switch {
		case old == now:
			if strings.Contains(old, `ef":`) && !c.sameDefinitions() {
				c.values(p, key, Changed, old, now)
			}
		case key == "if" || key == "then" || key == "else" || x != nil && y != nil && key != "uniqueItems":
			c.values(p, key, Changed, old, now)
		case y == nil || isFalse(y): // uniqueItems
			c.values(p, key, Widened, old, now)
		default:
			c.values(p, key, Narrowed, old, now)
		}
	}
}

// sameDefinitions reports whether the two documents have the same definitions.
func (c *comparer) sameDefinitions() bool {
	x, y := c.old.root, c.new.root
	return jsonschema.Equal(x.Get("$defs"), y.Get("$defs")) && jsonschema.Equal(x.Get("definitions"), y.Get("definitions"))
}

// elements compares the items of arrays, position by position and then the rest.
func (c *comparer) elements(p place, a, b node, handled map[string]bool) {
	handled["items"], handled["prefixItems"] = true, true
	x, restA := jsonschema.Tuple(a)
	y, restB := jsonschema.Tuple(b)
	for i := range max(len(x), len(y)) {
		old, now := restA, restB
		if i < len(x) {
			old = x[i]
		}
		if i < len(y) {
			now = y[i]
		}
		c.compare(p.at(fmt.Sprintf("/prefixItems/%d", i), fmt.Sprintf("[%d]", i)), old, now)
	}
	name := "[]"
	if len(x)+len(y) > 0 {
		name = "[…]"
	}
	c.compare(p.at("/items", name), restA, restB)
}

// properties compares what objects may and must hold.
func (c *comparer) properties(p place, a, b node, handled map[string]bool) {
	for _, key := range []string{"properties", "required", "additionalProperties", "patternProperties"} {
		handled[key] = true
	}
	x, y := a.Get("properties"), b.Get("properties")
	mustOld, mustNew := required(a), required(b)
	for _, name := range unionOfKeys(x, y) {
		old, now := x.Get(name), y.Get(name)
		at := p.property(name)
		switch {
		case old == nil:
			c.propertyAdded(at, now, mustNew[name])
			if mustOld[name] && !mustNew[name] {
				c.requirement(at, false)
			}
		case now == nil:
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
		if !x.Has(name) && !y.Has(name) && mustOld[name] != mustNew[name] {
			c.requirement(p.property(name), mustNew[name])
		}
	}
	c.patterns(p, a, b)
	c.compare(p.at("/additionalProperties", "{others}"), a.Get("additionalProperties"), b.Get("additionalProperties"))
}

// propertyAdded reports a new property. Callers may omit an optional input, and may ignore an output.
func (c *comparer) propertyAdded(p place, schema node, must bool) {
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

// propertyRemoved reports a property that is gone, so that code can no longer send or read it.
func (c *comparer) propertyRemoved(p place, schema node, must bool) {
	what := c.kindOf(c.old, schema)
	if must {
		what += ", required"
	} else {
		what += ", optional"
	}
	c.item(p, "property", Removed, Breaking, what, "", "removed (was %s)", what)
}

// requirement reports that a property became required or optional. Callers must supply a required input, and may rely on a required output.
func (c *comparer) requirement(p place, must bool) {
	if must {
		c.item(p, "required", Required, c.who.impact(c.certain(Narrowed)), "false", "true", "now required")
		return
	}
	c.item(p, "required", Optional, c.who.impact(c.certain(Widened)), "true", "false", "no longer required")
}

// kindOf describes in a few words which values a schema accepts.
func (c *comparer) kindOf(d document, schema node) string {
	flat := d.flat(schema)
	types := d.types(flat, 0)
	what := typesText(types)
	if items := flat.Get("items"); items != nil && types&jsonschema.Array != 0 {
		if inner := typesText(d.types(d.flat(items), 0)); !strings.Contains(inner, "|") && inner != "anything" {
			what = strings.Replace(what, "array", inner+"[]", 1)
		}
	}
	if enum := flat.Get("enum"); isList(enum) {
		what += " (" + list(texts(enum.Items)) + ")"
	}
	return ident.Shorten(what, maxText)
}

func (c *comparer) patterns(p place, a, b node) {
	x, y := a.Get("patternProperties"), b.Get("patternProperties")
	for _, pattern := range unionOfKeys(x, y) {
		old, now := x.Get(pattern), y.Get(pattern)
		at := p.at("/patternProperties/"+pointerEscape(pattern), fmt.Sprintf("{/%s/}", ident.Shorten(pattern, maxText)))
		switch {
		case old == nil:
			c.values(at, "patternProperties", Changed, "", c.kindOf(c.new, now))
		case now == nil:
			c.values(at, "patternProperties", Changed, c.kindOf(c.old, old), "")
		default:
			c.compare(at, old, now)
		}
	}
}

func required(schema node) map[string]bool {
	names := map[string]bool{}
	for _, name := range jsonschema.RequiredNames(schema) {
		names[name] = true
	}
	return names
}
