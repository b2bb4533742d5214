package migrate

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/catalog/diff"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/jsonschema"
)

// tool is a tool that has changed, for code that calls it.
type tool struct {
	dir          string // the server's folder
	oldID, newID string
	names        map[string]names  // by language
	old, new     *jsonschema.Value // the input schemas
	gone         map[string]string // members of the output that there are no more, with their new names or ""
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
	for _, c := range diff.Catalogs(before.Catalog, after.Catalog, nil) {
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
			t.gone = goneMembers(then.Output, now.Output)
			var errA, errB error
			t.old, errA = jsonschema.Parse(then.Input, jsonschema.Unlimited)
			t.new, errB = jsonschema.Parse(now.Input, jsonschema.Unlimited)
			if errA == nil && errB == nil {
				out = append(out, t)
			}
		}
	}
	return out
}

// goneMembers returns the members that an output has no more at some place, with their new names if they have one.
func goneMembers(then, now json.RawMessage) map[string]string {
	out := map[string]string{}
	if then == nil || now == nil {
		return out
	}
	var errA, errB error
	t := &tool{}
	t.old, errA = jsonschema.Parse(then, jsonschema.Unlimited)
	t.new, errB = jsonschema.Parse(now, jsonschema.Unlimited)
	if errA == nil && errB == nil {
		steps := 0
		t.pair(t.old, t.new).addGone(out, 0, &steps)
	}
	return out
}

// maxSteps bounds the schemas of an output that are compared: references may make it endless.
const maxSteps = 2_000

func (p pair) addGone(out map[string]string, depth int, steps *int) {
	if *steps++; depth > maxFollowed || *steps > maxSteps || p.old == nil || p.new == nil {
		return
	}
	renamed := p.members()
	for _, name := range p.gone() {
		out[name] = renamed[name]
	}
	for _, m := range properties(p.old) {
		name := m.Key
		if property(p.new, name) != nil {
			p.member(name, name).addGone(out, depth+1, steps)
		} else if renamed[name] != "" {
			p.member(name, renamed[name]).addGone(out, depth+1, steps)
		}
	}
	p.items().addGone(out, depth+1, steps)
}

// pair is a schema as it was and as it is, of one place of an input.
type pair struct {
	tool     *tool
	old, new *jsonschema.Value
}

const maxFollowed = 32

// plain follows references, and leaves an allOf or a union behind of which only one part is not null.
func plain(root, schema *jsonschema.Value) *jsonschema.Value {
	for range maxFollowed {
		if schema.Has("$ref") {
			schema = root.Local(schema.Str("$ref"))
			continue
		}
		next := schema
		for _, key := range []string{"anyOf", "oneOf", "allOf"} {
			parts := slices.DeleteFunc(slices.Clone(schema.Get(key).Elements()), func(part *jsonschema.Value) bool { return part.Str("type") == "null" })
			if len(parts) == 1 && !schema.Has("properties", "items") {
				next = parts[0]
			}
		}
		if next == schema {
			if schema != nil && schema.Kind != jsonschema.KindObject {
				return nil
			}
			return schema
		}
		schema = next
	}
	return nil
}

func (t *tool) pair(old, new *jsonschema.Value) pair {
	return pair{t, plain(t.old, old), plain(t.new, new)}
}

// properties returns the properties that a schema declares.
func properties(schema *jsonschema.Value) []jsonschema.Member {
	return schema.Get("properties").Sorted()
}

// property returns the schema of a property; nil if it is not declared.
func property(schema *jsonschema.Value, name string) *jsonschema.Value {
	return schema.Get("properties").Get(name)
}

func isRequired(schema *jsonschema.Value, name string) bool {
	return slices.Contains(jsonschema.RequiredNames(schema), name)
}

// member returns the pair of a property, by its old and its new name.
func (p pair) member(old, new string) pair {
	return p.tool.pair(property(p.old, old), property(p.new, new))
}

func (p pair) items() pair { return p.tool.pair(p.old.Get("items"), p.new.Get("items")) }

// members pairs the properties that are gone with those that are new and the same under another name. One that could be paired with
// several is not paired.
func (p pair) members() map[string]string {
	out := map[string]string{}
	gone, came := p.gone(), pair{p.tool, p.new, p.old}.gone()
	for _, g := range gone {
		found := slices.DeleteFunc(slices.Clone(came), func(c string) bool { return !p.alike(g, c) })
		if len(found) == 1 && !slices.ContainsFunc(gone, func(o string) bool { return o != g && p.alike(o, found[0]) }) {
			out[g] = found[0]
		}
	}
	return out
}

// gone returns the names of properties that there are no more.
func (p pair) gone() []string {
	var out []string
	for _, m := range properties(p.old) {
		name := m.Key
		if property(p.new, name) == nil {
			out = append(out, name)
		}
	}
	slices.Sort(out)
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

// alike reports whether a property that is gone and one that is new are the same under another name: their schemas are equal, and so
// are the words of their names, or their descriptions. Names that merely resemble each other may mean the opposite, or another unit. So
// may a description that several properties share.
func (p pair) alike(gone, came string) bool {
	if !sameSchema(property(p.old, gone), property(p.new, came)) {
		return false
	}
	text := description(property(p.old, gone))
	return restyled(gone, came) ||
		text != "" && text == description(property(p.new, came)) && once(p.old, text) && once(p.new, text)
}

func description(schema *jsonschema.Value) string {
	return strings.TrimSpace(schema.Str("description"))
}

// once reports whether only one property has a description.
func once(schema *jsonschema.Value, text string) bool {
	count := 0
	for _, m := range properties(schema) {
		if description(m.Value) == text {
			count++
		}
	}
	return count == 1
}

// sameSchema reports whether two schemas are equal but for texts.
func sameSchema(a, b *jsonschema.Value) bool {
	bare := func(v *jsonschema.Value) *jsonschema.Value {
		if v.Kind != jsonschema.KindObject {
			return v
		}
		return v.Without("title", "description", "examples", "default")
	}
	return jsonschema.Equal(bare(a), bare(b))
}

// words are those of a name in any style. A sign at an end, as in -date, may reverse the meaning.
var words = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*([-_. ][A-Za-z0-9]+)*$`) })

// restyled reports whether two names have the same words, in another style: camel, snake or kebab case, or capitals.
func restyled(a, b string) bool {
	return words().MatchString(a) && words().MatchString(b) && ident.Snake(a) == ident.Snake(b)
}

// needed returns the properties that a value must have now, and their values: those with a default.
func (p pair) needed() (names []string, values map[string]any) {
	values = map[string]any{}
	paired := p.members()
	for _, m := range properties(p.new) {
		name, def := m.Key, m.Value.Get("default")
		if def != nil && isRequired(p.new, name) && !isRequired(p.old, name) && !taken(paired, name) {
			names = append(names, name)
			values[name] = def.Plain()
		}
	}
	return names, values
}

// values pairs the values of an enum that are gone with those that are the same in another style. A value without a pair is paired with
// nil. One or two letters are paired with none: a unit may be another one as a capital.
func (p pair) values() map[string]any {
	old, now := texts(p.old), texts(p.new)
	out := map[string]any{}
	if len(now) == 0 {
		return out
	}
	for _, g := range old {
		if slices.Contains(now, g) {
			continue
		}
		out[g] = nil
		same := func(list, without []string, v string) []string {
			return slices.DeleteFunc(slices.Clone(list), func(w string) bool { return slices.Contains(without, w) || !restyled(v, w) })
		}
		if near := same(now, old, g); len(g) > 2 && len(near) == 1 && len(same(old, now, near[0])) == 1 {
			out[g] = near[0]
		}
	}
	return out
}

// texts returns the values of an enum or const.
func texts(schema *jsonschema.Value) []string {
	var out []string
	values, _ := jsonschema.Values(schema)
	for _, v := range values {
		if v.Kind == jsonschema.KindString {
			out = append(out, v.Text)
		}
	}
	return out
}

// concerned returns the places of a value that code may have to change, such as "filters[].op"; empty: none.
func (p pair) concerned(depth int) string {
	if depth > maxFollowed || p.old == nil || p.new == nil {
		return ""
	}
	if gone := p.gone(); len(gone) > 0 {
		return gone[0]
	}
	if names, _ := p.needed(); len(names) > 0 {
		return names[0]
	}
	for v := range p.values() {
		return jsonText(v)
	}
	for _, m := range properties(p.old) {
		name := m.Key
		if property(p.new, name) == nil {
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

func jsonText(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return "null" // not reached: these values were read from JSON
	}
	return string(raw)
}
