package diff

import (
	"fmt"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/jsonschema"
)

// maxRaw bounds the places that rawChanges names.
const maxRaw = 5

// rawChanges returns the JSON pointers of the places where the texts of two JSON values differ.
func rawChanges(a, b node) []string {
	var out []string
	walkChanges("#", a, b, func(path string, _, _ node) {
		if len(out) < maxRaw {
			out = append(out, ident.Shorten(path, maxText))
		} else if len(out) == maxRaw {
			out = append(out, "…")
		}
	})
	return out
}

// rawItems returns the differences between two JSON values that are not schemas.
func rawItems(a, b node) result {
	var out result
	walkChanges("#", a, b, func(path string, x, y node) {
		item := Item{Path: path, Keyword: lastToken(path), Impact: NoImpact, Old: ident.Shorten(textOf(x), maxText), New: ident.Shorten(textOf(y), maxText)}
		switch {
		case x == nil:
			item.Op, item.Message = Added, "added: "+item.New
		case y == nil:
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

// walkChanges calls differs for each place that exists on one side only, or holds different values.
func walkChanges(path string, a, b node, differs func(path string, x, y node)) {
	switch {
	case isObject(a) && isObject(b):
		for _, key := range unionOfKeys(a, b) {
			x, y := a.Get(key), b.Get(key)
			at := shortened(path+"/"+pointerEscape(key), maxPlace)
			if x != nil && y != nil {
				walkChanges(at, x, y, differs)
			} else {
				differs(at, x, y)
			}
		}
	case isList(a) && isList(b) && len(a.Items) == len(b.Items):
		for i := range a.Items {
			walkChanges(shortened(fmt.Sprintf("%s/%d", path, i), maxPlace), a.Items[i], b.Items[i], differs)
		}
	case !jsonschema.Equal(a, b):
		differs(path, a, b)
	}
}
