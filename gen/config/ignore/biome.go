package ignore

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// biomeConfig is the part of biome.json that says which files biome reads.
type biomeConfig struct {
	Schema string `json:"$schema"`
	Files  *struct {
		Includes []string `json:"includes"` // since version 2; ! excludes
		Ignore   []string `json:"ignore"`   // version 1
	} `json:"files"`
}

// biome adds the tree to files.includes, or to files.ignore in version 1. Comments stay.
func (p *planner) biome() error {
	name := p.first("biome.json", "biome.jsonc", ".biome.json", ".biome.jsonc")
	if name == "" {
		return nil
	}
	before, err := p.read(name)
	if err != nil {
		return err
	}
	key, pattern := "includes", "!"+p.tree+"/**"
	var c biomeConfig
	plain, err := hujson.Standardize(slices.Clone(before))
	if err == nil {
		err = json.Unmarshal(plain, &c)
	}
	if err == nil && (strings.Contains(c.Schema, "/schemas/1.") || c.Files != nil && c.Files.Ignore != nil) {
		key, pattern = "ignore", p.tree+"/**"
	}
	line := fmt.Sprintf("%q in files.%s", pattern, key)
	if err != nil {
		p.add("biome", name, before, nil, line)
		return nil // biome reports the mistake
	}
	if c.Files != nil && slices.ContainsFunc(append(slices.Clone(c.Files.Ignore), c.Files.Includes...), func(s string) bool {
		return (key == "ignore" || strings.HasPrefix(s, "!")) && p.covers(s)
	}) {
		return nil
	}
	p.add("biome", name, before, editBiome(before, key, pattern), line)
	return nil
}

// editBiome returns the edited text, or nil if that fails. It formats the text as biome itself would.
func editBiome(text []byte, key, pattern string) []byte {
	root, err := hujson.Parse(text)
	if err != nil {
		return nil
	}
	list := fmt.Sprintf("[%q]", pattern)
	if key == "includes" {
		list = fmt.Sprintf(`["**", %q]`, pattern) // a list that only excludes includes nothing
	}
	if at := root.Find("/files/" + key); at != nil {
		if elements, ok := at.Value.(*hujson.Array); ok {
			appendElement(elements, hujson.String(pattern))
			return root.Pack()
		}
		return nil
	}
	if at := root.Find("/files"); at != nil {
		return appendMember(&root, at, key, list)
	}
	return appendMember(&root, &root, "files", fmt.Sprintf("{ %q: %s }", key, list))
}

// appendElement adds an element in the style of the last one.
func appendElement(list *hujson.Array, value hujson.ValueTrimmed) {
	added := hujson.Value{Value: value}
	if n := len(list.Elements); n > 0 {
		last := list.Elements[n-1]
		added.BeforeExtra, list.AfterExtra = following(last.BeforeExtra, list.AfterExtra)
		if last.AfterExtra != nil { // a trailing comma
			added.AfterExtra = hujson.Extra{}
		}
	}
	list.Elements = append(list.Elements, added)
}

// appendMember adds a member to an object in the style of the last one, and returns the text of the whole.
func appendMember(root, at *hujson.Value, name, value string) []byte {
	object, ok := at.Value.(*hujson.Object)
	parsed, err := hujson.Parse([]byte(value))
	if !ok || err != nil {
		return nil
	}
	added := hujson.ObjectMember{Name: hujson.Value{Value: hujson.String(name)}, Value: hujson.Value{BeforeExtra: hujson.Extra(" "), Value: parsed.Value}}
	if n := len(object.Members); n > 0 {
		last := object.Members[n-1]
		added.Name.BeforeExtra, object.AfterExtra = following(last.Name.BeforeExtra, object.AfterExtra)
		if last.Value.AfterExtra != nil { // a trailing comma
			added.Value.AfterExtra = hujson.Extra{}
		}
	}
	object.Members = append(object.Members, added)
	return root.Pack()
}

// following splits the text between the last entry and the end of the list. The last entry's comment, with its indentation, comes before a
// new entry, and the rest after it.
func following(before, after hujson.Extra) (hujson.Extra, hujson.Extra) {
	const space = " \t\r\n"
	indent := before[len(bytes.TrimRight(before, space)):]
	comment := bytes.TrimRight(after, space)
	switch {
	case bytes.Contains(comment, []byte("//")) && !bytes.Contains(indent, []byte("\n")):
		indent = hujson.Extra("\n")
	case len(indent) == 0:
		indent = hujson.Extra(" ")
	}
	return slices.Concat(hujson.Extra(comment), indent), after[len(comment):]
}
