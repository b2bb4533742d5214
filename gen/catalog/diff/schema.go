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

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/jsonschema"
)

const (
	// maxItems bounds the items of one change. Further items are only counted.
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

// role distinguishes schemas of inputs, whose values callers make, from schemas of outputs, whose values the server makes.
type role bool

const (
	inputRole  role = false
	outputRole role = true
)

// impact returns the effect that a change of the accepted values has on callers.
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
	// For a schema: the verdict, and its reason if items do not show it.
	verdict Verdict
	why     string
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
func diffSchema(a, b json.RawMessage, who role, limits *budget) (out result) {
	if bytes.Equal(a, b) {
		return result{}
	}
	x, errX := jsonschema.Parse(a, jsonschema.Unlimited)
	y, errY := jsonschema.Parse(b, jsonschema.Unlimited)
	if errX != nil || errY != nil { // NewServer has read both before
		return result{items: []Item{{Op: Changed, Impact: Breaking, Message: "changed"}}, impact: Breaking, verdict: Undecided}
	}
	defer func() {
		if len(out.items) > 0 {
			out.settle(x, y, who)
		}
	}()
	limits.start()
	c := &comparer{
		who: who, limits: limits, done: map[[2]node]*compared{},
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
	return ident.Shorten(name, maxText)
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
	done     map[[2]node]*compared
	// plain reports that neither schema has references, so that equal text means the same.
	plain bool
	// overlapping counts the enclosing oneOf unions whose alternatives overlap. In one, a value may be refused because an
	// alternative accepts more than before.
	overlapping int
	out         result
}

// certain returns op if it holds for the whole schema, or Changed if that is uncertain.
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
		Old: ident.Shorten(old, maxText), New: ident.Shorten(new, maxText), Message: fmt.Sprintf(format, args...),
	})
}

// values adds an item for a place that accepts other values than before.
func (c *comparer) values(p place, keyword string, op Op, old, new string) {
	op = c.certain(op)
	c.item(p, keyword, op, c.who.impact(op), old, new, "%s: %s", op, transition(keyword, old, new))
}

// transition describes the change of a keyword's value. An empty side means that the keyword is absent.
func transition(keyword, old, new string) string {
	switch {
	case old == "":
		return keyword + " " + ident.Shorten(new, maxText)
	case new == "":
		return "no " + keyword + " (was " + ident.Shorten(old, maxText) + ")"
	}
	return keyword + " " + ident.Shorten(old, maxText) + " → " + ident.Shorten(new, maxText)
}

func (c *comparer) compare(p place, a, b node) {
	if acceptsAll(a) && acceptsAll(b) || isFalse(a) && isFalse(b) {
		return // stops the recursion: an absent schema accepts anything, and so do its parts
	}
	if c.plain && jsonschema.Equal(a, b) {
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
	key := [2]node{a, b}
	if isObject(a) && isObject(b) {
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

// acceptsAll reports whether a schema is true, empty or absent.
func acceptsAll(schema node) bool {
	return schema == nil || isObject(schema) && len(schema.Members) == 0 || schema.Kind == jsonschema.KindBool && schema.Bool
}

func isObject(v node) bool { return v != nil && v.Kind == jsonschema.KindObject }

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
func (c *comparer) flat(p place, x, y node) {
	c.notes(p, x, y)
	before, now := c.old.types(x, 0), c.new.types(y, 0)
	if !x.Has("enum") || !y.Has("enum") {
		c.types(p, before, now)
	}
	if key := unionOf(x, y); key != "" {
		c.union(p, key, alternatives(x, key), alternatives(y, key), before, now)
		return
	}
	handled := map[string]bool{"type": true, "enum": true}
	c.enum(p, x, y)
	for _, key := range []string{"anyOf", "oneOf"} {
		a, b := x.Get(key), y.Get(key)
		if handled[key] = isList(a) && isList(b); handled[key] {
			c.union(p, key, a.Items, b.Items, before, now)
		}
	}
	c.conjunction(p, x, y, handled)
	var both jsonschema.Types
	for _, kind := range []jsonschema.Types{jsonschema.Number, jsonschema.String, jsonschema.Array, jsonschema.Object} {
		if before&kind != 0 && now&kind != 0 {
			both |= kind
			c.typed(p, kind, x, y, handled)
		}
	}
	for _, key := range unionOfKeys(x, y) { // keywords of a type that is not on both sides
		about := jsonschema.About(key)
		handled[key] = handled[key] || about != jsonschema.Any && about&both == 0
	}
	c.rest(p, x, y, handled)
}

// conjunction compares the parts of an allOf.
func (c *comparer) conjunction(p place, x, y node, handled map[string]bool) {
	a, b := x.Get("allOf"), y.Get("allOf")
	if !isList(a) || !isList(b) || len(a.Items) != len(b.Items) {
		return
	}
	handled["allOf"] = true
	for i := range a.Items {
		c.compare(p.at(fmt.Sprintf("/allOf/%d", i), ""), a.Items[i], b.Items[i])
	}
}

// types compares the accepted types.
func (c *comparer) types(p place, before, now jsonschema.Types) {
	gone, come := before&^now != 0, now&^before != 0
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
func typesText(types jsonschema.Types) string {
	switch types {
	case 0:
		return "nothing"
	case jsonschema.Any:
		return "anything"
	}
	return strings.Join(types.Names(), " | ")
}

func text(v node) string { return string(v.AppendCanonical(nil)) }

func texts(list []node) []string {
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

// unionOfKeys returns the keys of two objects, sorted.
func unionOfKeys(a, b node) []string {
	var all []string
	for _, v := range []node{a, b} {
		if v != nil {
			for _, m := range v.Members {
				all = append(all, m.Key)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
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
