package schema

import "strings"

// defName makes a name for a schema that is referred to, of the words on the way to it that its author chose. It
// depends on nothing but that way, unless another one has the name already.
func (c *converter) defName(v *value) string {
	path := c.source.pathOf(v)
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
		if candidate := name + " " + itoa(n); c.byName[candidate] == nil {
			return candidate
		}
	}
}

func lastWords(words []string, n int) string {
	return strings.Join(words[max(0, len(words)-n):], " ")
}

// words picks the names out of a path: of properties and definitions, and "item" for the elements of a list. With
// short set, a definition's name stands for the whole way to it.
func words(path []string, short bool) []string {
	var out []string
	for i := 0; i < len(path); i++ {
		switch token := path[i]; token {
		case "$defs", "definitions", "schemas":
			if short {
				out = nil
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
			i++ // which of them says nothing
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

// lastOfAddress is the part of an address that tells what it is about: bundlers name definitions by where they were.
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
