package diff

import "slices"

// notes compares keywords that refuse no value.
func (c *comparer) notes(p place, a, b fields) {
	for _, key := range unionKeys(a, b) {
		x, inA := a[key]
		y, inB := b[key]
		if isConstraint(key) || slices.Contains(structural, key) {
			continue
		}
		if !c.limits.spend(textCost(x, y)) {
			return
		}
		old, okOld := x.(string)
		now, okNew := y.(string)
		switch {
		case inA && inB && text(x) == text(y):
		case isWords(key) && (okOld || !inA) && (okNew || !inB):
			c.out.add(textItem(key, "#"+p.pointer, p.name, old, now))
		case key == "default":
			c.item(p, key, Changed, Compatible, textOf(x, inA), textOf(y, inB), "%s", transition(key, textOf(x, inA), textOf(y, inB)))
		default:
			c.item(p, key, Changed, NoImpact, textOf(x, inA), textOf(y, inB), "%s", transition(key, textOf(x, inA), textOf(y, inB)))
		}
	}
}

// textCost is about the work of writing values down.
func textCost(values ...any) int {
	n := 1
	for _, v := range values {
		switch v := v.(type) {
		case map[string]any:
			for _, inner := range v {
				n += 1 + textCost(inner)
			}
		case []any:
			n += textCost(v...)
		case string:
			n += len(v) / 1024
		default:
			n++
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
		message = keyword + " added: " + cut(new, maxText)
	case new == "":
		message = keyword + " removed: " + cut(old, maxText)
	}
	return Item{
		Path: path, Place: name, Keyword: keyword, Op: Text, Impact: NoImpact,
		Old: cut(old, maxStretch), New: cut(new, maxStretch), Edits: edits, Message: message,
	}
}

func textOf(v any, there bool) string {
	if !there {
		return ""
	}
	return text(v)
}
