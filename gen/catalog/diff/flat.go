package diff

import (
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// fields are the keywords of one schema object.
type fields = map[string]any

// maxNesting bounds references and unions in one schema that are followed.
const maxNesting = 64

// document reads the schemas of one document.
type document struct {
	root any
	left *budget
	// flats are the results of flat, by the identity of their node. A nil one is under way.
	flats map[uintptr]*flattened
}

type flattened struct{ node, flat fields } // node is kept, so that its identity stays its own

func newDocument(root any, left *budget) document {
	return document{root, left, map[uintptr]*flattened{}}
}

// flat returns a schema as an object of keywords, in one form for the spellings that servers use: references and an
// allOf of one part are followed, older keywords are rewritten, and a union with null is a list of types.
func (d document) flat(schema any) fields { return d.flatAt(schema, 0) }

func (d document) flatAt(schema any, depth int) fields {
	node, ok := schema.(map[string]any)
	if !ok {
		if schema == false {
			return fields{"type": []any{}}
		}
		return fields{}
	}
	known := d.flats[identity(node)]
	if known != nil && known.flat != nil {
		return known.flat
	}
	if known != nil || depth > maxNesting || !d.left.spend(1+len(node)) {
		d.left.overrun()
		return fields{}
	}
	known = &flattened{node: node}
	d.flats[identity(node)] = known
	known.flat = d.flatten(node, depth)
	return known.flat
}

func (d document) flatten(node fields, depth int) fields {
	out := modern(node)
	if key, ref := refOf(out); ref != "" {
		target, found := d.find(ref)
		if !found {
			d.left.overrun()
		}
		delete(out, key)
		out = d.with(out, target, depth)
	}
	if all, ok := out["allOf"].([]any); ok && len(all) == 1 {
		delete(out, "allOf")
		out = d.with(out, all[0], depth)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if list, ok := out[key].([]any); ok && only(out, key) && len(list) <= maxNesting {
			d.joinTypes(out, key, list, depth)
			d.joinEnums(out, key, list, depth)
		}
	}
	if list, ok := out["oneOf"].([]any); ok && out["anyOf"] == nil && len(list) <= maxNesting && d.disjoint(list, depth) {
		delete(out, "oneOf")
		out["anyOf"] = list
	}
	if out["nullable"] == true {
		delete(out, "nullable")
		addType(out, "null")
	}
	limitEnum(out)
	return out
}

// target follows a reference that has nothing beside it.
func (d document) target(schema any) any {
	for range maxNesting {
		node, ok := schema.(map[string]any)
		_, ref := refOf(node)
		next, found := d.find(ref)
		if !ok || len(node) != 1 || !found {
			break
		}
		schema = next
	}
	return schema
}

// with returns a node that part holds of too. Its own texts go before those of part.
func (d document) with(node fields, part any, depth int) fields {
	inner := d.flatAt(part, depth+1)
	for key, value := range node {
		if isConstraint(key) && (key != "type" || !equal(value, inner["type"])) {
			all, _ := node["allOf"].([]any)
			node["allOf"] = slices.Concat(all, []any{part})
			return node
		}
	}
	out := maps.Clone(inner)
	maps.Copy(out, node)
	return out
}

// joinTypes makes a list of types of a union of types and at most one other schema, if all the rest is null.
func (d document) joinTypes(node fields, key string, list []any, depth int) {
	var types []string // of those that accept nothing else
	var other fields
	for _, part := range list {
		flat := d.flatAt(part, depth+1)
		name, simple := flat["type"].(string)
		switch {
		case simple && len(constraints(flat)) == 1 && (name == "null" || len(flat) == 1) && !slices.Contains(types, name):
			types = append(types, name)
		case other == nil && flat["anyOf"] == nil && flat["oneOf"] == nil && flat["allOf"] == nil && flat["not"] == nil && flat["if"] == nil && flat["$ref"] == nil:
			other = flat
		default:
			return
		}
	}
	if other != nil && (!slices.Equal(types, []string{"null"}) || slices.Contains(typeNames(other), "null")) {
		return
	}
	if key == "oneOf" && slices.Contains(types, "integer") && slices.Contains(types, "number") {
		return // no integer is accepted
	}
	delete(node, key)
	for name, value := range other {
		if _, there := node[name]; !there {
			node[name] = value
		}
	}
	if other == nil {
		node["type"] = []any{}
	}
	for _, name := range types {
		addType(node, name)
	}
}

// joinEnums makes one enum of a union of values.
func (d document) joinEnums(node fields, key string, list []any, depth int) {
	var values []any
	for _, part := range list {
		flat := d.flatAt(part, depth+1)
		enum, ok := flat["enum"].([]any)
		if !ok || len(flat) > 1 || key == "oneOf" && len(without(texts(enum), texts(values))) < len(enum) {
			return
		}
		values = append(values, enum...)
	}
	if len(values) > 0 {
		delete(node, key)
		node["enum"] = values
	}
}

// addType lets a node accept another type.
func addType(node fields, name string) {
	if enum, ok := node["enum"].([]any); ok && name == "null" && !slices.Contains(enum, nil) {
		node["enum"] = slices.Concat(enum, []any{nil})
	}
	if value, ok := node["type"]; ok {
		list, isList := value.([]any)
		if !isList {
			list = []any{value}
		}
		if !slices.Contains(list, any(name)) {
			node["type"] = slices.Concat(list, []any{name})
		}
	}
}

// limitEnum drops the values of an enum that are not of the node's type, and then the type.
func limitEnum(node fields) {
	enum, ok := node["enum"].([]any)
	if _, typed := node["type"]; !ok || !typed {
		return
	}
	accepted := typeNames(node)
	node["enum"] = slices.DeleteFunc(slices.Clone(enum), func(v any) bool { return !slices.Contains(accepted, typeOf(v)) })
	delete(node, "type")
}

// modern rewrites keywords of older drafts and of OpenAPI as their newer equivalents.
func modern(node fields) fields {
	out := maps.Clone(node)
	for _, bound := range [][2]string{{"exclusiveMinimum", "minimum"}, {"exclusiveMaximum", "maximum"}} {
		exclusive, isBool := out[bound[0]].(bool)
		if !isBool {
			continue
		}
		delete(out, bound[0])
		if limit, there := out[bound[1]]; exclusive && there {
			out[bound[0]] = limit
			delete(out, bound[1])
		}
	}
	if list, tuple := out["items"].([]any); tuple {
		delete(out, "items")
		out["prefixItems"] = list
		if rest, ok := out["additionalItems"]; ok {
			out["items"] = rest
		}
	}
	delete(out, "additionalItems")
	if value, ok := out["const"]; ok {
		delete(out, "const")
		if list, both := out["enum"].([]any); !both || slices.Contains(texts(list), text(value)) {
			out["enum"] = []any{value}
		} else {
			out["enum"] = []any{}
		}
	}
	return out
}

// typeNames lists the types that a flat node accepts by itself, whatever its unions say. A number that may have a
// fraction is of two types, integer and number.
func typeNames(node fields) []string {
	var out []string
	add := func(name string) {
		if name == "number" && !slices.Contains(out, "integer") {
			out = append(out, "integer")
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	enum, limited := node["enum"].([]any)
	value, typed := node["type"]
	switch list, many := value.([]any); {
	case typed && !many:
		list = []any{value}
		fallthrough
	case typed:
		for _, t := range list {
			if name, ok := t.(string); ok {
				add(name)
			}
		}
	case limited:
		for _, v := range enum {
			add(typeOf(v))
		}
	default:
		return jsonTypes
	}
	return out
}

// types lists the types that a flat node accepts.
func (d document) types(node fields, depth int) []string {
	out := typeNames(node)
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		list, ok := node[key].([]any)
		if !ok {
			continue
		}
		if depth > maxNesting || !d.left.spend(len(list)) {
			d.left.overrun()
			return out
		}
		var union []string
		for _, part := range list {
			types := d.types(d.flatAt(part, depth+1), depth+1)
			if key == "allOf" {
				out = intersection(out, types)
			}
			union = append(union, types...)
		}
		out = intersection(out, union)
	}
	return out
}

func intersection(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return !slices.Contains(b, s) })
}

// find returns what a reference stands for. One that leads outside or names an anchor is not followed.
func (d document) find(ref string) (any, bool) {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok || pointer != "" && pointer[0] != '/' {
		return nil, false
	}
	v := d.root
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer == "" {
			break
		}
		if plain, err := url.PathUnescape(token); err == nil {
			token = plain
		}
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch node := v.(type) {
		case map[string]any:
			if v, ok = node[token]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(node) {
				return nil, false
			}
			v = node[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// refOf returns the reference in a schema: $ref, or one that a document without dynamic scopes resolves the same way.
func refOf(node fields) (key, ref string) {
	for _, key := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		if ref, ok := node[key].(string); ok {
			return key, ref
		}
	}
	return "", ""
}

// identity distinguishes the nodes of a document. Only objects have one; others get 0.
func identity(v any) uintptr {
	if node, ok := v.(map[string]any); ok && node != nil {
		return reflect.ValueOf(node).Pointer()
	}
	return 0
}

// budget bounds the work of comparing two schemas, which a hostile one could make endless. It counts keywords and items
// looked at.
type budget struct {
	most, left int
	out        bool
}

// newBudget is for each pair of schemas of as many tools.
func newBudget(tools int) *budget {
	most := max(2_000, min(500_000, 10_000_000/max(1, tools)))
	return &budget{most: most, left: most}
}

// start begins the next pair of schemas.
func (b *budget) start() { b.left, b.out = b.most, false }

// spend counts n things. It reports false if there were too many.
func (b *budget) spend(n int) bool {
	if b.left < n {
		b.out = true
		return false
	}
	b.left -= n
	return true
}

// overrun gives up the schemas at hand: what was found so far may be wrong.
func (b *budget) overrun() { b.out, b.left = true, 0 }
