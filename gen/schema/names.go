package schema

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpgen/mcpgen/gen/jsonschema"
)

// numbered matches the keys of definitions that a program made up.
var numbered = regexp.MustCompile(`^(?i:_*(?:anonymous|def|definition|model|ref|schema|type)?_*[0-9]+)$`)

// defName returns the name of a definition, made of the words in its path that the schema's author chose. It depends on
// nothing but the path, unless another definition has the name, or its key is a number: then it is named after the place
// of the first reference to it.
func (c *converter) defName(v *jsonschema.Value, from place) string {
	path := c.source.PathOf(v)
	if len(path) > 1 && numbered.MatchString(path[len(path)-1]) && slices.Contains([]string{"$defs", "definitions"}, path[len(path)-2]) {
		user := slices.Collect(jsontext.Pointer(from.pointer).Tokens())
		if user = user[:max(0, len(user)-1)]; len(words(user, true)) > 0 {
			path = user
		}
	}
	name := lastWords(words(path, true), 2)
	for _, candidate := range []string{name, strings.Join(words(path, true), " "), strings.Join(words(path, false), " ")} {
		if candidate != "" && c.byName[candidate] == nil {
			return candidate
		}
	}
	if name == "" {
		name = "definition"
	}
	for n := 2; ; n++ {
		if candidate := name + " " + strconv.Itoa(n); c.byName[candidate] == nil {
			return candidate
		}
	}
}

func lastWords(words []string, n int) string {
	return strings.Join(words[max(0, len(words)-n):], " ")
}

// words returns the names in a path: those of properties and definitions, and "item" for the elements of a list. If short is
// set, the name of a definition replaces the path to it.
func words(path []string, short bool) []string {
	var out []string
	for i := 0; i < len(path); i++ {
		switch token := path[i]; token {
		case "$defs", "definitions", "schemas":
			if short {
				out = nil
			}
			if short && i+1 < len(path) && numbered.MatchString(path[i+1]) && i+2 < len(path) {
				i++ // names of what is in it say more
				continue
			}
			if short && i+1 < len(path) && strings.Contains(path[i+1], "://") {
				i++
				out = append(out, lastOfAddress(path[i]))
				continue
			}
		case "properties", "patternProperties", "dependentSchemas":
			// the next token is a name, whatever it is
		case "items", "additionalProperties", "prefixItems", "unevaluatedItems", "contains":
			if len(out) == 0 || out[len(out)-1] != "item" || !short {
				out = append(out, "item")
			}
			continue
		case "components":
			continue
		case "anyOf", "oneOf", "allOf":
			i++ // the number of the branch means nothing
			if !short && i < len(path) {
				out = append(out, path[i])
			}
			continue
		default:
			if token != "" && strings.Trim(token, "0123456789") == "" && short {
				continue
			}
			out = append(out, token)
			continue
		}
		if i+1 < len(path) {
			i++
			out = append(out, path[i])
		}
	}
	return out
}

// lastOfAddress returns the last part of an address without its extension. Bundlers name definitions by their addresses.
func lastOfAddress(address string) string {
	bare := strings.TrimRight(address, "/#")
	name := bare[strings.LastIndexByte(bare, '/')+1:]
	for _, ending := range []string{".json", ".schema"} {
		name = strings.TrimSuffix(name, ending)
	}
	if name == "" {
		return address
	}
	return name
}
