package diff

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
)

// jsonTypes are the types of values, in the order in which they are listed. An integer is not a number here.
var jsonTypes = []string{"boolean", "integer", "number", "string", "array", "object", "null"}

// typeKeywords are the keywords that constrain values of one type only. Those of numbers hold of integers too.
var typeKeywords = map[string][]string{
	"integer": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "format"},
	"string":  {"minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType", "contentSchema"},
	"array": {"items", "prefixItems", "unevaluatedItems", "minItems", "maxItems", "uniqueItems", "contains", "minContains",
		"maxContains"},
	"object": {"properties", "patternProperties", "additionalProperties", "unevaluatedProperties", "required", "minProperties",
		"maxProperties", "propertyNames", "dependentRequired", "dependentSchemas", "dependencies"},
}

// constraining are the keywords that refuse values, and structural those that only help to find schemas. All others are
// notes: texts, defaults, and what is unknown.
var (
	constraining = append(slices.Concat(slices.Collect(maps.Values(typeKeywords))...),
		"type", "enum", "nullable", "not", "if", "then", "else", "allOf", "anyOf", "oneOf", "$ref", "$dynamicRef", "$recursiveRef")
	structural = []string{"$defs", "definitions", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary"}
)

func isConstraint(key string) bool { return slices.Contains(constraining, key) }

// constraints returns the keywords of a node that refuse values.
func constraints(node fields) fields {
	out := maps.Clone(node)
	maps.DeleteFunc(out, func(key string, _ any) bool { return !isConstraint(key) })
	return out
}

// only reports whether key is the one constraint of a node.
func only(node fields, key string) bool { return node[key] != nil && len(constraints(node)) == 1 }

// typed compares the keywords for values of one type.
func (c *comparer) typed(p place, kind string, a, b fields, handled map[string]bool) {
	switch kind {
	case "integer":
		c.limit(p, a, b, "minimum", "exclusiveMinimum", 1, handled)
		c.limit(p, a, b, "maximum", "exclusiveMaximum", -1, handled)
	case "string":
		c.limit(p, a, b, "minLength", "", 1, handled)
		c.limit(p, a, b, "maxLength", "", -1, handled)
	case "array":
		for _, key := range []string{"minItems", "minContains"} {
			c.limit(p, a, b, key, "", 1, handled)
		}
		for _, key := range []string{"maxItems", "maxContains"} {
			c.limit(p, a, b, key, "", -1, handled)
		}
		c.elements(p, a, b, handled)
	case "object":
		c.limit(p, a, b, "minProperties", "", 1, handled)
		c.limit(p, a, b, "maxProperties", "", -1, handled)
		c.properties(p, a, b, handled)
	}
}

// enum compares lists of values. No list is every value.
func (c *comparer) enum(p place, a, b fields) {
	x, inA := a["enum"].([]any)
	y, inB := b["enum"].([]any)
	old, now := texts(x), texts(y)
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
		text = fmt.Sprintf("%s and %d more", cut(text, 2*maxText), len(values)-most)
	}
	return cut(text, 2*maxText)
}

// limit compares a bound, and its exclusive form if it has one. sign is 1 where a larger bound accepts less.
func (c *comparer) limit(p place, a, b fields, key, exclusive string, sign int, handled map[string]bool) {
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

// bound is the bound that holds of a pair.
func bound(shape fields, key, exclusive string, sign int) (string, any) {
	x, y := shape[key], shape[exclusive]
	if exclusive == "" || y == nil {
		return key, x
	}
	if order, ok := compareNumbers(x, y); x != nil && ok && order*sign > 0 {
		return key, x
	}
	return exclusive, y
}

func limitText(key, inclusive string, v any) string {
	switch {
	case v == nil:
		return ""
	case key != inclusive:
		return text(v) + " (exclusive)"
	}
	return text(v)
}

// compareNumbers orders two JSON numbers; false when one is no number, or is too long to read.
func compareNumbers(x, y any) (int, bool) {
	a, okA := number(x)
	b, okB := number(y)
	if !okA || !okB {
		return 0, false
	}
	return a.Cmp(b), true
}

func number(v any) (*big.Float, bool) {
	s, ok := v.(json.Number)
	if !ok || len(s) > 400 {
		return nil, false
	}
	if _, exponent, ok := strings.Cut(strings.ToLower(string(s)), "e"); ok && len(exponent) > 6 {
		return nil, false
	}
	f, _, err := big.ParseFloat(string(s), 10, 1500, big.ToNearestEven)
	return f, err == nil
}

// rest compares keywords that the comparison does not look into: one that comes accepts less, one that goes more.
func (c *comparer) rest(p place, a, b fields, handled map[string]bool) {
	for _, key := range unionKeys(a, b) {
		x, inA := a[key]
		y, inB := b[key]
		if handled[key] || !isConstraint(key) {
			continue
		}
		if !c.limits.spend(textCost(x, y)) {
			return
		}
		old, now := textOf(x, inA), textOf(y, inB)
		switch {
		case old == now && inA == inB:
			if strings.Contains(old, `ef":`) && !c.sameDefinitions() {
				c.values(p, key, Changed, old, now)
			}
		case key == "if" || key == "then" || key == "else" || inA && inB && key != "uniqueItems":
			c.values(p, key, Changed, old, now)
		case y == false || !inB || y == nil: // uniqueItems
			c.values(p, key, Widened, old, now)
		default:
			c.values(p, key, Narrowed, old, now)
		}
	}
}

// sameDefinitions reports whether what the two documents define beside their schemas is the same.
func (c *comparer) sameDefinitions() bool {
	x, _ := c.old.root.(map[string]any)
	y, _ := c.new.root.(map[string]any)
	return equal(x["$defs"], y["$defs"]) && equal(x["definitions"], y["definitions"])
}

// elements compares the items of arrays, position by position and then the rest.
func (c *comparer) elements(p place, a, b fields, handled map[string]bool) {
	handled["items"], handled["prefixItems"] = true, true
	x, _ := a["prefixItems"].([]any)
	y, _ := b["prefixItems"].([]any)
	restA, restB := orAnything(a, "items"), orAnything(b, "items")
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
	c.compare(p.at("/additionalProperties", "{others}"), orAnything(a, "additionalProperties"), orAnything(b, "additionalProperties"))
}

// orAnything returns the schema of what other keywords do not describe. Without one it is anything.
func orAnything(node fields, key string) any {
	if v, ok := node[key]; ok {
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

// propertyRemoved: code that gave or read it can't any longer.
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
func (c *comparer) kindOf(d document, schema any) string {
	node := d.flat(schema)
	types := d.types(node, 0)
	what := typesText(types)
	if items, ok := node["items"]; ok && slices.Contains(types, "array") {
		if inner := typesText(d.types(d.flat(items), 0)); !strings.Contains(inner, "|") && inner != "anything" {
			what = strings.Replace(what, "array", inner+"[]", 1)
		}
	}
	if enum, ok := node["enum"].([]any); ok {
		what += " (" + list(texts(enum)) + ")"
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
