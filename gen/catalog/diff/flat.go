package diff

import (
	"slices"

	"github.com/mcpgen/mcpgen/gen/jsonschema"
)

// node is a schema, or a value of a keyword; nil if there is none.
type node = *jsonschema.Value

// maxNesting bounds how many references and unions of one schema are followed.
const maxNesting = 64

// document reads the schemas of one document.
type document struct {
	root node
	left *budget
	// flats are the results of flat. A nil entry is in progress.
	flats map[node]node
}

func newDocument(root node, left *budget) document {
	return document{root, left, map[node]node{}}
}

// flat returns a schema as an object of keywords, in one form for the spellings that servers use: references and an
// allOf of one part are followed, older keywords are rewritten, and a union with null is a list of types.
func (d document) flat(schema node) node { return d.flatAt(schema, 0) }

func (d document) flatAt(schema node, depth int) node {
	if schema == nil || schema.Kind != jsonschema.KindObject {
		if isFalse(schema) {
			return jsonschema.Record(jsonschema.Member{Key: "type", Value: jsonschema.List()})
		}
		return jsonschema.Record()
	}
	known, met := d.flats[schema]
	if known != nil {
		return known
	}
	if met || depth > maxNesting || !d.left.spend(1+len(schema.Members)) {
		d.left.overrun()
		return jsonschema.Record()
	}
	d.flats[schema] = nil
	known = d.flatten(schema, depth)
	d.flats[schema] = known
	return known
}

func (d document) flatten(schema node, depth int) node {
	out := modern(schema)
	if key, ref := refOf(out); key != "" {
		target := d.root.Local(ref)
		if target == nil {
			d.left.overrun()
		}
		out.Delete(key)
		out = d.with(out, target, depth)
	}
	if all := out.Get("allOf").Elements(); len(all) == 1 {
		out.Delete("allOf")
		out = d.with(out, all[0], depth)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if list := out.Get(key); isList(list) && only(out, key) && len(list.Items) <= maxNesting {
			d.joinTypes(out, key, list.Items, depth)
			d.joinEnums(out, key, list.Items, depth)
		}
	}
	if list := out.Get("oneOf"); isList(list) && !out.Has("anyOf") && len(list.Items) <= maxNesting && d.disjoint(list.Items) {
		out.Delete("oneOf")
		out.Set("anyOf", list)
	}
	if out.Is("nullable", true) {
		out.Delete("nullable")
		addType(out, "null")
	}
	limitEnum(out)
	return out
}

// target follows references that have no keywords beside them.
func (d document) target(schema node) node {
	for range maxNesting {
		_, ref := refOf(schema)
		next := d.root.Local(ref)
		if next == nil || len(schema.Members) != 1 {
			break
		}
		schema = next
	}
	return schema
}

// with returns a node that also requires part. Where both have a text, the one of out stays.
func (d document) with(out, part node, depth int) node {
	inner := d.flatAt(part, depth+1)
	for _, m := range out.Members {
		if jsonschema.IsConstraint(m.Key) && (m.Key != "type" || !jsonschema.Equal(m.Value, inner.Get("type"))) {
			out.Set("allOf", jsonschema.List(slices.Concat(out.Get("allOf").Elements(), []node{part})...))
			return out
		}
	}
	both := jsonschema.Record(inner.Members...)
	for _, m := range out.Members {
		both.Set(m.Key, m.Value)
	}
	return both
}

// joinTypes replaces a union of types by a list of types. The union may have one other schema, if the only other alternative is null.
func (d document) joinTypes(out node, key string, list []node, depth int) {
	var types []string // of those that accept nothing else
	var other node
	for _, part := range list {
		flat := d.flatAt(part, depth+1)
		name := flat.Str("type")
		switch {
		case name != "" && only(flat, "type") && (name == "null" || len(flat.Members) == 1) && !slices.Contains(types, name):
			types = append(types, name)
		case other == nil && !flat.Has("anyOf", "oneOf", "allOf", "not", "if", "$ref"):
			other = flat
		default:
			return
		}
	}
	if other != nil && (!slices.Equal(types, []string{"null"}) || typesOf(other)&jsonschema.Null != 0) {
		return
	}
	if key == "oneOf" && slices.Contains(types, "integer") && slices.Contains(types, "number") {
		return // no integer is accepted
	}
	out.Delete(key)
	if other == nil {
		out.Set("type", jsonschema.List())
	} else {
		for _, m := range other.Members {
			if !out.Has(m.Key) {
				out.Set(m.Key, m.Value)
			}
		}
	}
	for _, name := range types {
		addType(out, name)
	}
}

// joinEnums replaces a union of enums by one enum.
func (d document) joinEnums(out node, key string, list []node, depth int) {
	var values []node
	for _, part := range list {
		flat := d.flatAt(part, depth+1)
		enum := flat.Get("enum")
		if !isList(enum) || len(flat.Members) > 1 || key == "oneOf" && len(without(texts(enum.Items), texts(values))) < len(enum.Items) {
			return
		}
		values = append(values, enum.Items...)
	}
	if len(values) > 0 {
		out.Delete(key)
		out.Set("enum", jsonschema.List(values...))
	}
}

// addType makes a node accept another type.
func addType(out node, name string) {
	if enum := out.Get("enum"); isList(enum) && name == "null" && typesIn(enum.Items)&jsonschema.Null == 0 {
		out.Set("enum", jsonschema.List(slices.Concat(enum.Items, []node{{}})...))
	}
	if types := out.Get("type"); types != nil {
		list := []node{types}
		if isList(types) {
			list = types.Items
		}
		if !slices.ContainsFunc(list, func(t node) bool { return t.Text == name }) {
			out.Set("type", jsonschema.List(slices.Concat(list, []node{jsonschema.Text(name)})...))
		}
	}
}

// limitEnum drops the values of an enum that the node's type excludes, and then the type.
func limitEnum(out node) {
	enum := out.Get("enum")
	if !isList(enum) || !out.Has("type") {
		return
	}
	accepted := typesOf(out)
	out.Delete("type")
	out.Set("enum", jsonschema.List(slices.DeleteFunc(slices.Clone(enum.Items), func(v node) bool { return v.Type()&accepted == 0 })...))
}

// modern rewrites keywords of older drafts as their newer equivalents, and const as enum, in a copy.
func modern(schema node) node {
	out := jsonschema.Modern(schema)
	if value := out.Get("const"); value != nil {
		enum := out.Get("enum")
		out.Delete("const")
		if !isList(enum) || slices.Contains(texts(enum.Items), text(value)) {
			out.Set("enum", jsonschema.List(value))
		} else {
			out.Set("enum", jsonschema.List())
		}
	}
	return out
}

// typesOf returns the types that a flat node accepts, ignoring its unions.
func typesOf(flat node) jsonschema.Types {
	if none := flat.Get("type"); isList(none) && len(none.Items) == 0 {
		return 0
	}
	types, typed := jsonschema.TypesOf(flat)
	if enum := flat.Get("enum"); isList(enum) && !typed {
		return typesIn(enum.Items)
	}
	return types
}

// typesIn returns the types of values. A number with a fraction counts as all numbers, because people do not distinguish them.
func typesIn(values []node) (out jsonschema.Types) {
	for _, v := range values {
		if out |= v.Type(); out&jsonschema.Fraction != 0 {
			out |= jsonschema.Number
		}
	}
	return out
}

// types returns the types that a flat node accepts.
func (d document) types(flat node, depth int) jsonschema.Types {
	out := typesOf(flat)
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		list := flat.Get(key)
		if !isList(list) {
			continue
		}
		if depth > maxNesting || !d.left.spend(len(list.Items)) {
			d.left.overrun()
			return out
		}
		var union jsonschema.Types
		for _, part := range list.Items {
			types := d.types(d.flatAt(part, depth+1), depth+1)
			if key == "allOf" {
				out &= types
			}
			union |= types
		}
		out &= union
	}
	return out
}

// refOf returns the reference in a schema: $ref, or one that a document without dynamic scopes resolves the same way.
func refOf(schema node) (key, ref string) {
	for _, key := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		if ref := schema.Get(key); ref != nil && ref.Kind == jsonschema.KindString {
			return key, ref.Text
		}
	}
	return "", ""
}

func isList(v node) bool { return v != nil && v.Kind == jsonschema.KindArray }

func isFalse(v node) bool { return v != nil && v.Kind == jsonschema.KindBool && !v.Bool }

// budget bounds the work of comparing two schemas, which a hostile one could make endless. It counts keywords and items
// looked at.
type budget struct {
	most, left int
	out        bool
}

// newBudget returns the budget for one pair of schemas when that many tools are compared.
func newBudget(tools int) *budget {
	most := max(2_000, min(500_000, 10_000_000/max(1, tools)))
	return &budget{most: most, left: most}
}

// start begins the next pair of schemas.
func (b *budget) start() { b.left, b.out = b.most, false }

// spend takes n from the budget, or reports false if less is left.
func (b *budget) spend(n int) bool {
	if b.left < n {
		b.out = true
		return false
	}
	b.left -= n
	return true
}

// overrun abandons the current schemas: the results so far may be wrong.
func (b *budget) overrun() { b.out, b.left = true, 0 }
