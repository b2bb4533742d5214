package catalog

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
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

// role says who makes the values of a schema: callers those of an input, the server those of an output.
type role bool

const (
	inputRole  role = false
	outputRole role = true
)

// impact says what a difference in the accepted values means to a caller.
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
	if last := r.items[max(0, len(r.items)-2*len(jsonTypes())):]; slices.ContainsFunc(last, same) {
		return // said of another type that the schema accepts
	}
	if len(r.items) == maxItems {
		r.more++
		return
	}
	r.items = append(r.items, item)
}

// diffSchema compares two schemas by what they accept. Nothing is said where both mean the same and read the same;
// otherwise there is at least one item. limits bounds its work.
func diffSchema(a, b json.RawMessage, who role, limits *budget) result {
	if bytes.Equal(a, b) {
		return result{}
	}
	x, errX := decode(a)
	y, errY := decode(b)
	if errX != nil || errY != nil { // NewServer has read both before
		return result{items: []Item{{Op: Changed, Impact: Breaking, Message: "changed"}}, impact: Breaking}
	}
	limits.start()
	c := &comparer{
		who: who, limits: limits, done: map[[2]uintptr]*compared{},
		old: newViewer(x, limits), new: newViewer(y, limits), plain: !mayRefer(a) && !mayRefer(b),
	}
	c.compare(place{}, x, y)
	if len(c.out.items) > 0 && !limits.exhausted() {
		return c.out
	}
	where := strings.Join(rawChanges(x, y), ", ")
	var other result
	switch {
	case where == "":
	case limits.exhausted(): // what was found so far may be wrong
		other.add(Item{Op: Changed, Impact: Breaking, Message: "changed, and too intricate to say how: " + where})
	default:
		other.add(Item{Op: Respelled, Impact: NoImpact, Message: "written differently, with the same meaning: " + where})
	}
	return other
}

// place is where the comparison is: as a JSON pointer, and for people.
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

// displayName quotes a name that could be read as more than one.
func displayName(name string) string {
	if name == "" || strings.ContainsAny(name, ".[]<>{}\"") || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return strconv.Quote(shortened(name, maxToken))
	}
	return cut(name, maxText)
}

// compared is a pair of schemas that was met, where, and its items.
type compared struct {
	place       place
	finished    bool
	first, last int
}

type comparer struct {
	who      role
	old, new viewer
	limits   *budget
	done     map[[2]uintptr]*compared
	// plain says that neither schema refers to another, so that what is written the same means the same.
	plain bool
	// overlapping counts the unions around that one alternative must hold of, and which more may. There a value may be
	// refused because an alternative accepts more than it did.
	overlapping int
	out         result
}

// certain is op where it is certain of the schema as a whole.
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

// values records that a place accepts other values than it did.
func (c *comparer) values(p place, keyword string, op Op, old, new string) {
	op = c.certain(op)
	c.item(p, keyword, op, c.who.impact(op), old, new, "%s: %s", op, transition(keyword, old, new))
}

// transition says from what to what a keyword went; an empty side is none.
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
		return // the end of every comparison: what is not said is anything, all the way down
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
	x, y := c.old.view(a), c.new.view(b)
	c.notes(p, x.notes, y.notes)
	c.constraints(p, x.logic, y.logic)
	c.types(p, x, y)
	for _, kind := range jsonTypes() {
		before, now := x.shapes[kind], y.shapes[kind]
		if len(before) > 0 && len(now) > 0 {
			overlap := x.exclusive && !c.disjoint(c.old, before) || y.exclusive && !c.disjoint(c.new, now)
			if overlap {
				c.overlapping++
			}
			c.shapes(p, kind, before, now)
			if overlap {
				c.overlapping--
			}
		}
	}
	if x.exclusive != y.exclusive && x.several && y.several {
		c.exclusive(p, x, y)
	}
}

func acceptsAll(schema any) bool {
	node, ok := schema.(map[string]any)
	return ok && len(node) == 0 || schema == true
}

// again notes a further place of a pair that was compared. One that is still under way is a recursion.
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

// exclusive reports a union of which one alternative may hold becoming one of which any may, or the other way round.
func (c *comparer) exclusive(p place, x, y view) {
	if y.exclusive {
		c.values(p, "union", Narrowed, "anyOf", "oneOf")
	} else {
		c.values(p, "union", Widened, "oneOf", "anyOf")
	}
}

// types compares which types are accepted. Integers count as a type here.
func (c *comparer) types(p place, x, y view) {
	var gone, come []string
	for _, kind := range jsonTypes() {
		a, b := len(x.shapes[kind]) > 0, len(y.shapes[kind]) > 0
		switch {
		case a && !b:
			gone = append(gone, kind)
		case b && !a:
			come = append(come, kind)
		}
	}
	intA, intB := onlyIntegers(x), onlyIntegers(y)
	if len(x.shapes["number"]) > 0 && len(y.shapes["number"]) > 0 && intA != intB {
		if intA {
			come = append(come, "number")
		} else {
			gone = append(gone, "number")
		}
	}
	op := Changed
	switch {
	case gone == nil && come == nil:
		return
	case gone == nil:
		op = Widened
	case come == nil:
		op = Narrowed
	}
	c.values(p, "type", op, typesText(x), typesText(y))
}

func onlyIntegers(v view) bool {
	return len(v.shapes["number"]) > 0 && !slices.ContainsFunc(v.shapes["number"], func(s fields) bool {
		if s[integerOnly] == true {
			return false
		}
		enum, ok := s["enum"].([]any)
		return !ok || slices.ContainsFunc(enum, func(n any) bool { return strings.ContainsAny(text(n), ".eE") })
	})
}

// typesText says what types a view accepts: "string | null".
func typesText(v view) string {
	var names []string
	for _, kind := range jsonTypes()[1:] {
		if len(v.shapes[kind]) == 0 {
			continue
		}
		if kind == "number" && onlyIntegers(v) {
			kind = "integer"
		}
		names = append(names, kind)
	}
	if len(v.shapes["null"]) > 0 {
		names = append(names, "null")
	}
	switch {
	case len(names) == 0:
		return "nothing"
	case len(names) == len(jsonTypes()) && !onlyIntegers(v):
		return "anything"
	}
	return strings.Join(names, " | ")
}

func text(v any) string { return string(appendCanonical(nil, v)) }

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
