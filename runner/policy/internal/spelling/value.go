package spelling

import (
	"maps"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// Words returns the words of an argument's name, in lower case and without digits at their ends.
func Words(name string) []string {
	words := strings.Split(ident.Snake(name), "_")
	for i, word := range words {
		words[i] = strings.TrimRight(word, "0123456789")
	}
	return words
}

// each calls found for every text in a value, with the words of the name of the property that holds it. Elements of a list have the name of
// the list. Within an object, name, address and value have the name of the object. The names of properties are texts too.
func each(value any, name []string, found func(name []string, text string, isName bool)) {
	switch v := value.(type) {
	case string:
		found(name, v, false)
	case []any:
		for _, item := range v {
			each(item, name, found)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			found(name, key, true)
			own := Words(key)
			if slices.Contains([]string{"name", "address", "value"}, key) {
				own = slices.Concat(name, own)
			}
			each(v[key], own, found)
		}
	}
}
