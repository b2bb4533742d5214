package diff

import (
	"maps"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/jsonschema"
)

const (
	// minAlike is the share of words that the descriptions of a renamed tool have in common.
	minAlike = 0.8
	// maxRenamePairs bounds the descriptions that are compared for one pair of schemas.
	maxRenamePairs = 2000
)

// renames pairs tools that are gone from a server with tools that are new: those with equal schemas whose descriptions
// are equal, or nearly. A tool that could be paired with several is not paired. The result maps new names to old ones.
func renames(old, new map[string]*catalog.Tool) map[string]string {
	gone, came := bySchemas(old, new), bySchemas(new, old)
	out := map[string]string{}
	equal := func(a, b *catalog.Tool) bool { return a.Description == b.Description }
	alike := func(a, b *catalog.Tool) bool { return AlikeTexts(a.Description, b.Description) }
	for schemas, before := range gone {
		after := came[schemas]
		if schemas == noSchemas {
			undescribed := func(t *catalog.Tool) bool { return t.Description == "" }
			before, after = slices.DeleteFunc(before, undescribed), slices.DeleteFunc(after, undescribed)
		}
		if len(before)*len(after) <= maxRenamePairs {
			pairUnique(before, after, equal, out)
			pairUnique(before, after, alike, out)
		}
	}
	return out
}

// noSchemas is the key of tools without parameters and without a declared result: their schemas distinguish nothing.
const noSchemas = "\n"

// bySchemas groups the tools that are not in other by their schemas, ignoring the titles of the schemas.
func bySchemas(tools, other map[string]*catalog.Tool) map[string][]*catalog.Tool {
	out := map[string][]*catalog.Tool{}
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		t := tools[name]
		if other[name] != nil || len(t.Input) == 0 { // one that only the lock recalls has no schema
			continue
		}
		input, err1 := jsonschema.Parse(t.Input, jsonschema.Unlimited)
		output, err2 := jsonschema.Parse(orNull(t.Output), jsonschema.Unlimited)
		if err1 != nil || err2 != nil {
			continue
		}
		key := untitled(input) + "\n" + untitled(output)
		if properties := input.Get("properties"); isObject(input) && t.Output == nil && (properties == nil || len(properties.Members) == 0) && !input.Has("$ref") {
			key = noSchemas
		}
		out[key] = append(out[key], t)
	}
	return out
}

// untitled returns a schema without its title, into which FastMCP writes the tool's name.
func untitled(schema node) string {
	if isObject(schema) {
		schema = schema.Without("title")
	}
	return text(schema)
}

func orNull(raw []byte) []byte {
	if raw == nil {
		return []byte("null")
	}
	return raw
}

// pairUnique adds the pairs in which each tool fits no other tool.
func pairUnique(before, after []*catalog.Tool, fits func(a, b *catalog.Tool) bool, out map[string]string) {
	fit, back, paired := map[*catalog.Tool][]*catalog.Tool{}, map[*catalog.Tool]int{}, map[string]bool{}
	for _, name := range out {
		paired[name] = true
	}
	for _, a := range before {
		for _, b := range after {
			if _, done := out[b.Name]; !done && !paired[a.Name] && fits(a, b) {
				fit[a] = append(fit[a], b)
				back[b]++
			}
		}
	}
	for a, fits := range fit {
		if len(fits) == 1 && back[fits[0]] == 1 {
			out[fits[0].Name] = a.Name
		}
	}
}

// AlikeTexts reports whether two texts are equal apart from some words.
func AlikeTexts(a, b string) bool {
	const longest = 10_000 // bytes
	if a == b {
		return true
	}
	count := map[string]int{}
	n, common := 0, 0
	for _, w := range words(strings.ToLower(a[:min(len(a), longest)])) {
		if strings.TrimSpace(w) != "" {
			count[w]++
			n++
		}
	}
	for _, w := range words(strings.ToLower(b[:min(len(b), longest)])) {
		if strings.TrimSpace(w) == "" {
			continue
		}
		n++
		if count[w] > 0 {
			count[w]--
			common++
		}
	}
	return float64(2*common) >= minAlike*float64(n)
}
