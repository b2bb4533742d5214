package migrate

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/catalog/diff"
	"github.com/mcpgen/mcpgen/gen/ident"
)

// tool is a tool that has changed, for code that calls it.
type tool struct {
	dir          string // the server's folder
	oldID, newID string
	names        map[string]names // by language
	old, new     any              // the input schemas
}

type names struct{ old, new catalog.LockNames }

// Tree is a generated tree as it was, or is.
type Tree struct {
	Catalog *catalog.Catalog
	Lock    *catalog.Lock
}

// Load reads a tree.
func Load(dir string) (t Tree, err error) {
	t.Catalog, t.Lock, err = catalog.LoadTree(dir)
	return t, err
}

// changes returns the tools that code may have to be adapted to: those that have another name or another input.
func changes(before, after Tree) []*tool {
	former := map[[2]string]string{}
	for _, c := range diff.Catalogs(before.Catalog, after.Catalog) {
		if c.Kind == diff.ToolRenamed {
			former[[2]string{c.Server, c.Tool}] = c.OldTool
		}
	}
	var out []*tool
	for _, server := range after.Catalog.Servers {
		old, ok := before.Catalog.Server(server.Key)
		if !ok {
			continue
		}
		was := map[string]*catalog.Tool{}
		for i := range old.Tools {
			was[old.Tools[i].Name] = &old.Tools[i]
		}
		for _, now := range server.Tools {
			name := now.Name
			if from, ok := former[[2]string{server.Key, now.Name}]; ok {
				name = from
			}
			then := was[name]
			if then == nil || then.Digest == now.Digest && then.ID == now.ID {
				continue
			}
			t := &tool{dir: old.Dir, oldID: then.ID, newID: now.ID, names: map[string]names{}}
			for language, n := range before.Lock.Servers[server.Key].Tools[then.Name].Names {
				t.names[language] = names{n, after.Lock.Servers[server.Key].Tools[now.Name].Names[language]}
			}
			var errA, errB error
			t.old, errA = catalog.Decode(then.Input)
			t.new, errB = catalog.Decode(now.Input)
			if errA == nil && errB == nil {
				out = append(out, t)
			}
		}
	}
	return out
}

// pair is a schema as it was and as it is, of one place of an input.
type pair struct {
	tool     *tool
	old, new map[string]any
}

const maxFollowed = 32

// plain follows references, and leaves an allOf or a union behind of which only one part is not null.
func plain(root, schema any) map[string]any {
	for range maxFollowed {
		n, _ := schema.(map[string]any)
		if ref, ok := n["$ref"].(string); ok {
			schema = pointer(root, ref)
			continue
		}
		next := any(nil)
		for _, key := range []string{"anyOf", "oneOf", "allOf"} {
			parts, _ := n[key].([]any)
			parts = slices.DeleteFunc(slices.Clone(parts), func(p any) bool {
				part, _ := p.(map[string]any)
				return part["type"] == "null"
			})
			if len(parts) == 1 && n["properties"] == nil && n["items"] == nil {
				next = parts[0]
			}
		}
		if next == nil {
			return n
		}
		schema = next
	}
	return nil
}

// pointer returns what a reference within a document leads to.
func pointer(root any, ref string) any {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	for token := range strings.SplitSeq(path, "/") {
		n, _ := root.(map[string]any)
		root = n[strings.NewReplacer("~1", "/", "~0", "~").Replace(token)]
	}
	return root
}

func (t *tool) pair(old, new any) pair { return pair{t, plain(t.old, old), plain(t.new, new)} }

func properties(n map[string]any) map[string]any {
	p, _ := n["properties"].(map[string]any)
	return p
}

func isRequired(n map[string]any, name string) bool {
	list, _ := n["required"].([]any)
	return slices.Contains(list, any(name))
}

// member returns the pair of a property, by its old and its new name.
func (p pair) member(old, new string) pair {
	return p.tool.pair(properties(p.old)[old], properties(p.new)[new])
}

func (p pair) items() pair { return p.tool.pair(p.old["items"], p.new["items"]) }

// members pairs the properties that are gone with those that are new. One that could be paired with several is not paired; nor is one
// that only has the same type, which is no reason to take it for the same thing.
func (p pair) members() map[string]string {
	out := map[string]string{}
	var gone, came []string
	for name := range properties(p.old) {
		if properties(p.new)[name] == nil {
			gone = append(gone, name)
		}
	}
	for name := range properties(p.new) {
		if properties(p.old)[name] == nil {
			came = append(came, name)
		}
	}
	slices.Sort(gone)
	slices.Sort(came)
	for _, strict := range []bool{true, false} {
		fits := func(g, c string) bool { return p.alike(g, c, strict) }
		for _, g := range gone {
			if out[g] != "" {
				continue
			}
			found := slices.DeleteFunc(slices.Clone(came), func(c string) bool { return taken(out, c) || !fits(g, c) })
			if len(found) != 1 {
				continue
			}
			others := slices.DeleteFunc(slices.Clone(gone), func(o string) bool { return out[o] != "" || !fits(o, found[0]) })
			if len(others) == 1 {
				out[g] = found[0]
			}
		}
	}
	return out
}

func taken(m map[string]string, v string) bool {
	for _, w := range m {
		if w == v {
			return true
		}
	}
	return false
}

// alike reports whether a property that is gone and one that is new are the same under another name: their schemas are equal, and their
// names have to do with each other, or their descriptions are the same. If not strict, the only two required ones will do.
func (p pair) alike(gone, came string, strict bool) bool {
	a, b := properties(p.old)[gone], properties(p.new)[came]
	if !sameSchema(a, b) {
		return false
	}
	x, _ := a.(map[string]any)
	y, _ := b.(map[string]any)
	before, _ := x["description"].(string)
	now, _ := y["description"].(string)
	switch {
	case before != "" && before == now, similar(gone, came):
		return true
	case strict:
		return false
	}
	return (before == "" || now == "" || diff.AlikeTexts(before, now)) && isRequired(p.old, gone) && isRequired(p.new, came)
}

// sameSchema reports whether two schemas are equal but for texts.
func sameSchema(a, b any) bool {
	bare := func(v any) string {
		n, ok := v.(map[string]any)
		if !ok {
			return string(catalog.AppendCanonical(nil, v))
		}
		out := map[string]any{}
		for key, inner := range n {
			if key != "title" && key != "description" && key != "examples" && key != "default" {
				out[key] = inner
			}
		}
		return string(catalog.AppendCanonical(nil, out))
	}
	return bare(a) == bare(b)
}

// similar reports whether two names are one in another style, or one is the other with more words or letters, or they differ by few letters.
func similar(a, b string) bool {
	x, y := ident.Fold(a), ident.Fold(b)
	if x == y || min(len(x), len(y)) >= 3 && (strings.HasPrefix(y, x) || strings.HasPrefix(x, y)) {
		return true
	}
	few, many := strings.Split(ident.Snake(a), "_"), strings.Split(ident.Snake(b), "_")
	if len(few) > len(many) {
		few, many = many, few
	}
	more := slices.ContainsFunc(few, func(w string) bool { return !slices.Contains(many, w) })
	return !more || ident.Distance(x, y) <= min(len(x), len(y))/3
}

// needed returns the properties that a value must have now, and their values: those with a default.
func (p pair) needed() (names []string, values map[string]any) {
	values = map[string]any{}
	paired := p.members()
	for name, schema := range properties(p.new) {
		n, _ := schema.(map[string]any)
		def, ok := n["default"]
		if ok && isRequired(p.new, name) && !isRequired(p.old, name) && !taken(paired, name) {
			names = append(names, name)
			values[name] = def
		}
	}
	slices.Sort(names)
	return names, values
}

// values pairs the values of an enum that are gone with those that are new: similar ones, or the only one among several that stay. A value
// without a pair is paired with nil.
func (p pair) values() map[string]any {
	old, now := strings_(p.old["enum"]), strings_(p.new["enum"])
	if c, ok := p.new["const"].(string); ok {
		now = []string{c}
	}
	out := map[string]any{}
	if len(now) == 0 {
		return out
	}
	var gone, came []string
	for _, v := range old {
		if !slices.Contains(now, v) {
			gone = append(gone, v)
		}
	}
	for _, v := range now {
		if !slices.Contains(old, v) {
			came = append(came, v)
		}
	}
	for _, g := range gone {
		out[g] = nil
		near := slices.DeleteFunc(slices.Clone(came), func(c string) bool { return !similar(g, c) })
		i := slices.Index(old, g)
		switch {
		case len(near) == 1 && len(slices.DeleteFunc(slices.Clone(gone), func(o string) bool { return !similar(o, near[0]) })) == 1:
			out[g] = near[0]
		case len(near) == 0 && len(old) == len(now) && len(now) > 2 && len(gone) == 1 && now[i] == came[0]: // all others are where they were
			out[g] = now[i]
		}
	}
	return out
}

func strings_(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, each := range list {
		if s, ok := each.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// concerned returns the places of a value that code may have to change, such as "filters[].op"; empty: none.
func (p pair) concerned(depth int) string {
	if depth > maxFollowed || p.old == nil || p.new == nil {
		return ""
	}
	for _, of := range p.sorted(p.members()) {
		return of
	}
	if names, _ := p.needed(); len(names) > 0 {
		return names[0]
	}
	for v := range p.values() {
		return jsonText(v)
	}
	for name := range properties(p.old) {
		if properties(p.new)[name] == nil {
			continue
		}
		if inner := p.member(name, name).concerned(depth + 1); inner != "" {
			return name + "." + inner
		}
	}
	if inner := p.items().concerned(depth + 1); inner != "" {
		return "[]." + inner
	}
	return ""
}

func (p pair) sorted(m map[string]string) []string {
	var keys []string
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func jsonText(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return "null" // not reached: these values were read from JSON
	}
	return string(raw)
}
