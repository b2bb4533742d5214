package diff

import (
	"slices"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/jsonschema"
)

// notes compares keywords that refuse no value.
func (c *comparer) notes(p place, a, b node) {
	for _, key := range unionOfKeys(a, b) {
		x, y := a.Get(key), b.Get(key)
		if jsonschema.IsConstraint(key) || jsonschema.IsStructure(key) {
			continue
		}
		if !c.limits.spend(textCost(x, y)) {
			return
		}
		old, now := textOf(x), textOf(y)
		isText := func(v node) bool { return v == nil || v.Kind == jsonschema.KindString }
		switch {
		case old == now:
		case isWords(key) && isText(x) && isText(y):
			c.out.add(textItem(key, "#"+p.pointer, p.name, a.Str(key), b.Str(key)))
		case key == "default":
			c.item(p, key, Changed, Compatible, old, now, "%s", transition(key, old, now))
		default:
			c.item(p, key, Changed, NoImpact, old, now, "%s", transition(key, old, now))
		}
	}
}

// textCost estimates the work of writing values as text.
func textCost(values ...node) int {
	n := 1
	for _, v := range values {
		if n++; v != nil {
			n += len(v.Text) / 1024
			for _, m := range v.Members {
				n += 1 + textCost(m.Value)
			}
			n += textCost(v.Items...)
		}
	}
	return n
}

// isWords reports whether a keyword holds text for people.
func isWords(key string) bool {
	return slices.Contains([]string{"title", "description", "$comment"}, key)
}

func textItem(keyword, path, name, old, new string) Item {
	edits := wordDiff(old, new)
	message := keyword + ": " + FormatEdits(edits)
	switch {
	case old == "":
		message = keyword + " added: " + ident.Shorten(new, maxText)
	case new == "":
		message = keyword + " removed: " + ident.Shorten(old, maxText)
	}
	return Item{
		Path: path, Place: name, Keyword: keyword, Op: Text, Impact: NoImpact,
		Old: ident.Shorten(old, maxStretch), New: ident.Shorten(new, maxStretch), Edits: edits, Message: message,
	}
}

// textOf returns a value as JSON, or nothing if there is none.
func textOf(v node) string {
	if v == nil {
		return ""
	}
	return text(v)
}
