package diff

import (
	"encoding/json"
	"fmt"
	"slices"
)

// equal compares decoded JSON. Numbers are equal when they are written the same.
func equal(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		if identity(x) == identity(y) {
			return true
		}
		for key, v := range x {
			if w, there := y[key]; !there || !equal(v, w) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, equal)
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

// typeOf returns the type of a value: integer for a number without a fraction.
func typeOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		if n, ok := number(v); ok && !n.IsInt() {
			return "number"
		}
		return "integer"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

// maxRaw bounds the places that rawChanges names.
const maxRaw = 5

// rawChanges are the places where two JSON values differ as they are written, as JSON pointers.
func rawChanges(a, b any) []string {
	var out []string
	walkChanges("#", a, b, func(path string, _, _ any, _, _ bool) {
		if len(out) < maxRaw {
			out = append(out, cut(path, maxText))
		} else if len(out) == maxRaw {
			out = append(out, "…")
		}
	})
	return out
}

// rawItems are the differences of two JSON values that are no schemas.
func rawItems(a, b any) result {
	var out result
	walkChanges("#", a, b, func(path string, x, y any, inA, inB bool) {
		item := Item{Path: path, Keyword: lastToken(path), Impact: NoImpact, Old: cut(textOf(x, inA), maxText), New: cut(textOf(y, inB), maxText)}
		switch {
		case !inA:
			item.Op, item.Message = Added, "added: "+item.New
		case !inB:
			item.Op, item.Message = Removed, "removed: "+item.Old
		default:
			item.Op, item.Message = Changed, item.Old+" → "+item.New
		}
		item.Place = path
		out.add(item)
	})
	return out
}

func lastToken(path string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '/' {
			return path[i+1:]
		}
	}
	return ""
}

// walkChanges calls differs for each place that is on one side only, or holds different plain values.
func walkChanges(path string, a, b any, differs func(path string, x, y any, inA, inB bool)) {
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			for _, key := range unionKeys(x, y) {
				p, inA := x[key]
				q, inB := y[key]
				at := shortened(path+"/"+pointerEscape(key), maxPlace)
				if inA && inB {
					walkChanges(at, p, q, differs)
				} else {
					differs(at, p, q, inA, inB)
				}
			}
			return
		}
	case []any:
		if y, ok := b.([]any); ok && len(x) == len(y) {
			for i := range x {
				walkChanges(shortened(fmt.Sprintf("%s/%d", path, i), maxPlace), x[i], y[i], differs)
			}
			return
		}
	}
	if text(a) != text(b) {
		differs(path, a, b, true, true)
	}
}
