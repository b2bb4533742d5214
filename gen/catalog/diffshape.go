package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
)

// shape compares one alternative of a type with another, keyword by keyword.
func (c *comparer) shape(p place, kind string, a, b fields) {
	handled := map[string]bool{"enum": true, integerOnly: true}
	c.enum(p, a, b)
	switch kind {
	case "number":
		c.limit(p, a, b, "minimum", "exclusiveMinimum", 1, handled)
		c.limit(p, a, b, "maximum", "exclusiveMaximum", -1, handled)
		c.multiple(p, a, b, handled)
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
	rest := func(s fields) fields {
		s = maps.Clone(s)
		maps.DeleteFunc(s, func(key string, _ any) bool { return handled[key] })
		return s
	}
	c.constraints(p, rest(a), rest(b))
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

// compareNumbers orders two JSON numbers; false when one is none, or is out of all proportion.
func compareNumbers(x, y any) (int, bool) {
	a, okA := number(x)
	b, okB := number(y)
	if !okA || !okB {
		return 0, false
	}
	return a.Cmp(b), true
}

func number(v any) (*big.Float, bool) {
	if typeOf(v) != "number" {
		return nil, false
	}
	s := text(v)
	if len(s) > 400 {
		return nil, false
	}
	if _, exponent, ok := strings.Cut(strings.ToLower(s), "e"); ok && len(exponent) > 6 {
		return nil, false
	}
	f, _, err := big.ParseFloat(s, 10, 1500, big.ToNearestEven)
	return f, err == nil
}

// constraints compares keywords that the comparison does not look into: one that comes accepts less, one that goes
// more. What a branch of a union says of itself is among them.
func (c *comparer) constraints(p place, a, b fields) {
	for _, key := range unionKeys(a, b) {
		x, inA := a[key]
		y, inB := b[key]
		if !c.limits.spend(textCost(x, y)) {
			return
		}
		old, now := textOf(x, inA), textOf(y, inB)
		switch {
		case old == now && inA == inB:
		case !isTyped(key) && !isLogic(key):
			c.notes(p, only(key, x, inA), only(key, y, inB))
		case key == "allOf":
			c.conditions(p, x, y)
		case key == "if" || key == "then" || key == "else" || inA && inB && key != "uniqueItems":
			c.values(p, key, Changed, old, now)
		case y == false || !inB || y == nil: // uniqueItems
			c.values(p, key, Widened, old, now)
		default:
			c.values(p, key, Narrowed, old, now)
		}
	}
}

func only(key string, v any, there bool) fields {
	if !there {
		return nil
	}
	return fields{key: v}
}

// conditions compares what is left of allOf.
func (c *comparer) conditions(p place, a, b any) {
	x, _ := a.([]any)
	y, _ := b.([]any)
	gone, come := without(texts(x), texts(y)), without(texts(y), texts(x))
	op := Changed
	switch {
	case gone == nil && come == nil:
		return
	case gone == nil:
		op = Narrowed
	case come == nil:
		op = Widened
	}
	c.values(p, "allOf", op, list(gone), list(come))
}

// elements compares the items of arrays, position by position and then the rest.
func (c *comparer) elements(p place, a, b fields, handled map[string]bool) {
	for _, key := range []string{"items", "prefixItems", "additionalItems"} {
		handled[key] = true
	}
	x, _ := a["prefixItems"].([]any)
	y, _ := b["prefixItems"].([]any)
	restA, restB := restOf(a), restOf(b)
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

// restOf is the schema of the items after the prefix. What is not said is anything.
func restOf(shape fields) any {
	for _, key := range []string{"items", "additionalItems"} {
		if v, ok := shape[key]; ok {
			return v
		}
	}
	return true
}

// shapes compares the alternatives of one type, each with the one that is most likely the same.
func (c *comparer) shapes(p place, kind string, a, b []fields) {
	if len(a) == 1 && len(b) == 1 {
		c.shape(p, kind, a[0], b[0])
		return
	}
	if !c.limits.spend(textCost(anys(a)...) + textCost(anys(b)...)) {
		return
	}
	used := make([]bool, len(b))
	labelsA, labelsB := c.labels(c.old, a), c.labels(c.new, b)
	pair := equals(a, b, used)
	for i := range a {
		for j := range b {
			if pair[i] < 0 && !used[j] && labelsA[i] == labelsB[j] && labelsA[i] != "" {
				pair[i], used[j] = j, true
			}
		}
	}
	free := func() int { return slices.Index(used, false) }
	for i := range a { // those that nothing tells apart: in their order
		if j := free(); pair[i] < 0 && j >= 0 && labelsA[i] == "" && labelsB[j] == "" {
			pair[i], used[j] = j, true
		}
	}
	for i := range a {
		name := fmt.Sprintf("<%s>", cmp.Or(labelsA[i], fmt.Sprintf("%s %d", kind, i+1)))
		if pair[i] < 0 {
			c.values(p.at(fmt.Sprintf("/anyOf/%d", i), name), "alternative", Narrowed, brief(a[i]), "")
			continue
		}
		at, other := p.at(fmt.Sprintf("/anyOf/%d", pair[i]), name), b[pair[i]]
		switch x, y := a[i][integerOnly] == true, other[integerOnly] == true; {
		case x && !y:
			c.values(at, "type", Widened, "integer", "number")
		case y && !x:
			c.values(at, "type", Narrowed, "number", "integer")
		}
		c.shape(at, kind, a[i], other)
	}
	for j := range b {
		if !used[j] {
			name := fmt.Sprintf("<%s>", cmp.Or(labelsB[j], fmt.Sprintf("%s %d", kind, j+1)))
			c.values(p.at(fmt.Sprintf("/anyOf/%d", j), name), "alternative", Widened, "", brief(b[j]))
		}
	}
}

// equals finds the alternatives that did not change: for each of a the one of b, or -1.
func equals(a, b []fields, used []bool) []int {
	at := map[string][]int{}
	for j, shape := range b {
		at[text(shape)] = append(at[text(shape)], j)
	}
	pair := make([]int, len(a))
	for i, shape := range a {
		pair[i] = -1
		if same := at[text(shape)]; len(same) > 0 {
			pair[i], used[same[0]] = same[0], true
			at[text(shape)] = same[1:]
		}
	}
	return pair
}

func anys(list []fields) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}

// labels name the alternatives that tell themselves apart: by a property with one value, or by a title.
func (c *comparer) labels(w viewer, shapes []fields) []string {
	out := make([]string, len(shapes))
	count := map[string]int{}
	for i, shape := range shapes {
		out[i] = c.label(w, shape)
		count[out[i]]++
	}
	for i, label := range out {
		if count[label] > 1 {
			out[i] = ""
		}
	}
	return out
}

func (c *comparer) label(w viewer, shape fields) string {
	if name, value, ok := c.tag(w, shape); ok {
		return cut(displayName(name)+"="+strings.Trim(value, `"`), maxText)
	}
	title, _ := shape["title"].(string)
	return cut(title, maxText)
}

// tag is the property of an alternative that has one value only.
func (c *comparer) tag(w viewer, shape fields) (name, value string, ok bool) {
	properties, _ := shape["properties"].(map[string]any)
	for _, name := range sortedKeys(properties) {
		if !c.limits.spend(1) {
			break
		}
		if enum, ok := w.flat(properties[name], 0)["enum"].([]any); ok && len(enum) == 1 {
			return name, text(enum[0]), true
		}
	}
	return "", "", false
}

// disjoint reports whether no value can fit two of the alternatives of a type: there is one only, or each requires
// another value of the same property.
func (c *comparer) disjoint(w viewer, shapes []fields) bool {
	if len(shapes) == 1 {
		return true
	}
	property, seen := "", map[string]bool{}
	for _, shape := range shapes {
		name, value, ok := c.tag(w, shape)
		if !ok || seen[value] || property != "" && name != property || !required(shape)[name] {
			return false
		}
		property, seen[value] = name, true
	}
	return true
}

func brief(shape fields) string { return cut(text(shape), maxText) }
