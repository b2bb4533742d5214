package diff

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/gen/catalog"
)

const (
	// maxItems bounds the items of one change; what is left is counted.
	maxItems = 200
	// maxText bounds one quoted value in characters.
	maxText = 160
	// maxAlso bounds the further places of one item.
	maxAlso = 10
	// maxPlace bounds a place, and maxToken one name in it, in bytes.
	maxPlace, maxToken = 2000, 500
	// maxCompareDepth bounds the nesting of what is compared, references followed.
	maxCompareDepth = 500
)

// role says whether a schema is that of an input, whose values callers make, or of an output, whose values the server makes.
type role bool

const (
	inputRole  role = false
	outputRole role = true
)

// impact returns what a change of the accepted values means to callers.
func (r role) impact(op Op) Impact {
	switch op {
	case Widened:
		if r == outputRole {
			return Breaking
		}
		return Compatible
	case Narrowed:
		if r == inputRole {
			return Breaking
		}
		return Compatible
	case Changed:
		return Breaking
	}
	return NoImpact
}

// result collects the items of one change.
type result struct {
	items     []Item
	more      int
	impact    Impact
	important bool
}

func (r *result) add(item Item) {
	r.impact = cmp.Or(r.impact, NoImpact).Worse(item.Impact)
	r.important = r.important || item.Important
	same := func(i Item) bool { return i.Path == item.Path && i.Message == item.Message }
	if last := r.items[max(0, len(r.items)-12):]; slices.ContainsFunc(last, same) {
		return
	}
	if len(r.items) == maxItems {
		r.more++
		return
	}
	r.items = append(r.items, item)
}

// diffSchema compares two schemas by the values they accept. It returns no items only if both have the same meaning and the same
// text, apart from the order of keys. limits bounds its work.
func diffSchema(a, b json.RawMessage, who role, limits *budget) result {
	if bytes.Equal(a, b) {
		return result{}
	}
	x, errX := catalog.Decode(a)
	y, errY := catalog.Decode(b)
	if errX != nil || errY != nil { // NewServer has read both before
		return result{items: []Item{{Op: Changed, Impact: Breaking, Message: "changed"}}, impact: Breaking}
	}
	limits.start()
	c := &comparer{
		who: who, limits: limits, done: map[[2]uintptr]*compared{},
		old: newDocument(x, limits), new: newDocument(y, limits), plain: !mayRefer(a) && !mayRefer(b),
	}
	c.compare(place{}, x, y)
	if len(c.out.items) > 0 && !limits.out {
		return c.out
	}
	where := strings.Join(rawChanges(x, y), ", ")
	var other result
	switch {
	case where == "":
	case limits.out: // what was found so far may be wrong
		other.add(Item{Op: Changed, Impact: Breaking, Message: "changed, and too complex to say how: " + where})
	default:
		other.add(Item{Op: Respelled, Impact: NoImpact, Message: "written differently, with the same meaning: " + where})
	}
	return other
}

// place is a place in a schema, as a JSON pointer and as a name for people.
type place struct {
	pointer, name string
	depth         int
}

func (p place) at(pointer, name string) place {
	return place{shortened(p.pointer+pointer, maxPlace), shortened(p.name+name, maxPlace), p.depth + 1}
}

func (p place) property(name string) place {
	shown := displayName(name)
	if p.name != "" {
		shown = "." + shown
	}
	return p.at("/properties/"+pointerEscape(name), shown)
}

// displayName quotes a name that could be misread.
func displayName(name string) string {
	if name == "" || strings.ContainsAny(name, ".[]<>{}\"") || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return strconv.Quote(shortened(name, maxToken))
	}
	return cut(name, maxText)
}

// compared is a pair of schemas that was compared, with its place and the range of its items.
type compared struct {
	place       place
	finished    bool
	first, last int
}

type comparer struct {
	who      role
	old, new document
	limits   *budget
	done     map[[2]uintptr]*compared
	// plain reports that neither schema has references, so that equal text means the same.
	plain bool
	// overlapping counts the enclosing oneOf unions whose alternatives overlap. In one, a value may be refused because an
	// alternative accepts more than before.
	overlapping int
	out         result
}

// certain returns op if it holds for the whole schema, and Changed if that is not certain.
func (c *comparer) certain(op Op) Op {
	if c.overlapping > 0 && (op == Widened || op == Narrowed) {
		return Changed
	}
	return op
}

// mayRefer reports whether a schema may have a $ref, $dynamicRef or $recursiveRef.
func mayRefer(raw []byte) bool {
	return bytes.Contains(raw, []byte(`ef"`)) || bytes.Contains(raw, []byte(`\u`))
}

func (c *comparer) item(p place, keyword string, op Op, impact Impact, old, new, format string, args ...any) {
	pointer := "#" + p.pointer
	c.out.add(Item{
		Path: pointer, Place: p.name, Keyword: keyword, Op: op, Impact: impact,
		Old: cut(old, maxText), New: cut(new, maxText), Message: fmt.Sprintf(format, args...),
	})
}

// values adds an item for a place that accepts other values than before.
func (c *comparer) values(p place, keyword string, op Op, old, new string) {
	op = c.certain(op)
	c.item(p, keyword, op, c.who.impact(op), old, new, "%s: %s", op, transition(keyword, old, new))
}

// transition describes the change of a keyword's value; an empty side means that there is none.
func transition(keyword, old, new string) string {
	switch {
	case old == "":
		return keyword + " " + cut(new, maxText)
	case new == "":
		return "no " + keyword + " (was " + cut(old, maxText) + ")"
	}
	return keyword + " " + cut(old, maxText) + " → " + cut(new, maxText)
}

func (c *comparer) compare(p place, a, b any) {
	if acceptsAll(a) && acceptsAll(b) || a == false && b == false {
		return // stops the recursion: an absent schema accepts anything, and so do its parts
	}
	if c.plain && equal(a, b) {
		return
	}
	if p.depth > maxCompareDepth {
		c.limits.overrun()
		return
	}
	if !c.limits.spend(1) {
		return
	}
	a, b = c.old.target(a), c.new.target(b)
	key := [2]uintptr{identity(a), identity(b)}
	if key[0] != 0 && key[1] != 0 {
		if met, ok := c.done[key]; ok {
			c.again(p, met)
			return
		}
		met := &compared{place: p, first: len(c.out.items)}
		c.done[key] = met
		defer func() { met.finished, met.last = true, len(c.out.items) }()
	}
	c.flat(p, c.old.flat(a), c.new.flat(b))
}

func acceptsAll(schema any) bool {
	node, ok := schema.(map[string]any)
	return ok && len(node) == 0 || schema == true
}

// again adds a further place to the items of a pair that was already compared. It does nothing for a recursive reference.
func (c *comparer) again(p place, met *compared) {
	if !met.finished {
		return
	}
	for i := range c.out.items[met.first:met.last] {
		item := &c.out.items[met.first+i]
		if rest, ok := strings.CutPrefix(item.Place, met.place.name); ok && len(item.Also) < maxAlso {
			item.Also = append(item.Also, p.name+rest)
		}
	}
}

// flat compares two schemas in their common form.
func (c *comparer) flat(p place, x, y fields) {
	c.notes(p, x, y)
	before, now := c.old.types(x, 0), c.new.types(y, 0)
	if x["enum"] == nil || y["enum"] == nil {
		c.types(p, before, now)
	}
	if key := unionOf(x, y); key != "" {
		c.union(p, key, alternatives(x, key), alternatives(y, key), before, now)
		return
	}
	handled := map[string]bool{"type": true, "enum": true}
	c.enum(p, x, y)
	for _, key := range []string{"anyOf", "oneOf"} {
		a, inA := x[key].([]any)
		b, inB := y[key].([]any)
		if handled[key] = inA && inB; inA && inB {
			c.union(p, key, a, b, before, now)
		}
	}
	c.conjunction(p, x, y, handled)
	applies := map[string]bool{}
	for _, kind := range []string{"integer", "string", "array", "object"} {
		both := accepts(before, kind) && accepts(now, kind)
		if both {
			c.typed(p, kind, x, y, handled)
		}
		for _, key := range typeKeywords[kind] {
			applies[key] = applies[key] || both
		}
	}
	for key, does := range applies { // keywords of a type that is not on both sides
		handled[key] = handled[key] || !does
	}
	c.rest(p, x, y, handled)
}

// accepts reports whether types has a kind; integer stands for all numbers.
func accepts(types []string, kind string) bool {
	return slices.Contains(types, kind) || kind == "integer" && slices.Contains(types, "number")
}

// conjunction compares the parts of an allOf.
func (c *comparer) conjunction(p place, x, y fields, handled map[string]bool) {
	a, inA := x["allOf"].([]any)
	b, inB := y["allOf"].([]any)
	if !inA || !inB || len(a) != len(b) {
		return
	}
	handled["allOf"] = true
	for i := range a {
		c.compare(p.at(fmt.Sprintf("/allOf/%d", i), ""), a[i], b[i])
	}
}

// types compares the accepted types.
func (c *comparer) types(p place, before, now []string) {
	gone := slices.ContainsFunc(before, func(t string) bool { return !slices.Contains(now, t) })
	come := slices.ContainsFunc(now, func(t string) bool { return !slices.Contains(before, t) })
	op := Changed
	switch {
	case !gone && !come:
		return
	case !gone:
		op = Widened
	case !come:
		op = Narrowed
	}
	c.values(p, "type", op, typesText(before), typesText(now))
}

// typesText lists types: "string | null".
func typesText(types []string) string {
	var names []string
	for _, name := range jsonTypes {
		if slices.Contains(types, name) && (name != "integer" || !slices.Contains(types, "number")) {
			names = append(names, name)
		}
	}
	switch len(names) {
	case 0:
		return "nothing"
	case len(jsonTypes) - 1:
		return "anything"
	}
	return strings.Join(names, " | ")
}

func text(v any) string { return string(catalog.AppendCanonical(nil, v)) }

func texts(list []any) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = text(v)
	}
	return out
}

func unionKeys[V any](a, b map[string]V) []string {
	all := make(map[string]V, len(a)+len(b))
	maps.Copy(all, a)
	maps.Copy(all, b)
	return sortedKeys(all)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// pointerEscape escapes one token of a JSON pointer (RFC 6901), and bounds it.
func pointerEscape(s string) string {
	s = shortened(s, maxToken)
	if !strings.ContainsAny(s, "~/") {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "~", "~0"), "/", "~1")
}
