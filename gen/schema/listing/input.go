package listing

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/jsonschema"
	"github.com/mcpgen/mcpgen/gen/schema/validate"
)

// Input returns an input schema of the newest draft whose root has the type object and properties, and no alternatives, as clients and
// the APIs of models demand: some refuse all tools for one that has. It accepts what the schema as it was sent does, and more: what
// alternatives describe is optional, and a property that some of them leave open may be anything. The bridge checks arguments against
// the schema as it was sent.
func Input(raw json.RawMessage) json.RawMessage {
	root, err := jsonschema.Parse(raw, jsonschema.Limits{})
	if err != nil || root.Kind != jsonschema.KindObject {
		return json.RawMessage(anything)
	}
	root = validate.Repair(root)
	l := lister{}
	if l.draft, _ = jsonschema.DraftOf(root); l.draft == jsonschema.DraftUnknown {
		l.draft = jsonschema.Draft202012
	}
	clean := l.schema(root)
	listed := folded(clean)
	dropReferences(listed, clean)
	out := json.RawMessage(listed.AppendJSON(nil))
	if v, err := validate.Compile(out); err != nil || v.Dialect() != jsonschema.Draft202012.URI() {
		return outline(clean)
	}
	return out
}

// outline returns the names, types and texts of the properties of a schema that no client could read.
func outline(clean *jsonschema.Value) json.RawMessage {
	properties := jsonschema.Record()
	if p := clean.Get("properties"); p != nil {
		for _, m := range p.Members {
			property := jsonschema.Record()
			for _, keyword := range m.Value.Members {
				if keyword.Key == "title" || keyword.Key == "description" || keyword.Key == "type" && keyword.Value.Kind == jsonschema.KindString {
					property.Members = append(property.Members, keyword)
				}
			}
			properties.Members = append(properties.Members, jsonschema.Member{Key: m.Key, Value: property})
		}
	}
	out := jsonschema.Record(jsonschema.Member{Key: "type", Value: jsonschema.Text("object")}, jsonschema.Member{Key: "properties", Value: properties})
	return out.AppendJSON(nil)
}

// since maps a keyword to the first draft that knows it. Older drafts ignore it.
var since = map[string]jsonschema.Draft{
	"const": jsonschema.Draft06, "contains": jsonschema.Draft06, "propertyNames": jsonschema.Draft06,
	"if": jsonschema.Draft07, "then": jsonschema.Draft07, "else": jsonschema.Draft07,
	"dependentRequired": jsonschema.Draft201909, "dependentSchemas": jsonschema.Draft201909, "minContains": jsonschema.Draft201909, "maxContains": jsonschema.Draft201909,
	"unevaluatedProperties": jsonschema.Draft201909, "unevaluatedItems": jsonschema.Draft201909, "$anchor": jsonschema.Draft201909,
	"prefixItems": jsonschema.Draft202012, "$dynamicRef": jsonschema.Draft202012, "$dynamicAnchor": jsonschema.Draft202012,
}

// besideRef are the keywords beside a $ref that drafts before 2019-09 do not ignore, or that only tell something.
var besideRef = []string{"$ref", "$defs", "definitions", "title", "description", "default", "examples", "deprecated"}

// modern returns a schema of a draft with the keywords of the newest one. Its subschemas stay as they are.
func modern(v *jsonschema.Value, draft jsonschema.Draft) *jsonschema.Value {
	out := jsonschema.Record()
	alone := draft < jsonschema.Draft201909 && v.Has("$ref")
	for _, m := range v.Members {
		if alone && !slices.Contains(besideRef, m.Key) || since[m.Key] > draft {
			continue
		}
		switch m.Key {
		case "$schema":
			continue
		case "$id":
			if strings.HasPrefix(m.Value.Text, "#") {
				continue
			}
		case "dependencies":
			if draft >= jsonschema.Draft201909 || m.Value.Kind != jsonschema.KindObject {
				continue
			}
			m = jsonschema.Member{Key: "dependentSchemas", Value: jsonschema.Record(m.Value.Members...)}
			for i, one := range m.Value.Members {
				if one.Value.Kind == jsonschema.KindArray {
					m.Value.Members[i].Value = jsonschema.Record(jsonschema.Member{Key: "required", Value: one.Value})
				}
			}
		}
		out.Members = append(out.Members, m)
	}
	return jsonschema.Modern(out)
}

// dropReferences removes the references of what is listed for a root that lead to nothing in it, or to the root if that accepts more
// than objects. Where a schema so accepts more, the keywords by which others would accept less go too.
func dropReferences(listed, root *jsonschema.Value) {
	doc := jsonschema.NewDocument(listed)
	weaker := false
	for v := range doc.Homes {
		if v.Get("$ref") == nil {
			continue
		}
		target := resolve(doc, v)
		weaker = weaker || target == nil || target == listed
		if target == nil || target == listed && root.Str("type") != "object" {
			v.Delete("$ref")
		}
	}
	if !weaker {
		return
	}
	for v := range doc.Homes {
		v.Members = slices.DeleteFunc(v.Members, func(m jsonschema.Member) bool {
			return slices.Contains([]string{"not", "if", "maxContains", "unevaluatedProperties", "unevaluatedItems"}, m.Key) || m.Key == "oneOf" && v.Has("anyOf")
		})
		for i := range v.Members {
			if v.Members[i].Key == "oneOf" {
				v.Members[i].Key = "anyOf"
			}
		}
	}
}

// resolve returns the schema to which the $ref of a schema leads, or nil.
func resolve(doc *jsonschema.Document, v *jsonschema.Value) *jsonschema.Value {
	found, err := doc.Resolve(v.Str("$ref"), doc.Homes[v].Res)
	if _, known := doc.Homes[found.Target]; err != nil || !known {
		return nil
	}
	return found.Target
}

// alternatives are the keywords that hosts refuse at the root. They are folded into properties, if they describe any.
var alternatives = []string{"oneOf", "anyOf", "allOf", "not", "enum", "const", "$ref"}

// folded returns a root schema with the type object, and properties instead of alternatives.
func folded(root *jsonschema.Value) *jsonschema.Value {
	out := jsonschema.Record(jsonschema.Member{Key: "type", Value: jsonschema.Text("object")})
	folds := root.Has(alternatives...)
	properties, required := root.Get("properties"), root.Get("required")
	var closed bool
	if folds {
		f := &folder{doc: jsonschema.NewDocument(root)}
		all := f.fold(root, 0)
		properties = jsonschema.Record()
		for _, m := range all.members {
			if m.partly {
				m.Value = combined("anyOf", m.Value, jsonschema.Record())
			}
			properties.Members = append(properties.Members, m.Member)
		}
		required, closed = names(all.required), all.closed && !root.Has("additionalProperties", "patternProperties")
		if about := needs(f.choices, all.required); about != "" {
			said := strings.TrimSpace(root.Str("description") + "\n" + about)
			root = jsonschema.Record(append([]jsonschema.Member{{Key: "description", Value: jsonschema.Text(said)}}, slices.DeleteFunc(slices.Clone(root.Members), func(m jsonschema.Member) bool { return m.Key == "description" })...)...)
		}
	}
	if properties == nil {
		properties = jsonschema.Record()
	}
	out.Members = append(out.Members, jsonschema.Member{Key: "properties", Value: properties})
	for _, m := range root.Members {
		switch {
		case m.Key == "type", m.Key == "properties", m.Key == "required", folds && (slices.Contains(alternatives, m.Key) || m.Key == "unevaluatedProperties"):
		default:
			out.Members = append(out.Members, m)
		}
	}
	if required != nil && len(required.Items) > 0 {
		out.Members = append(out.Members, jsonschema.Member{Key: "required", Value: required})
	}
	if closed {
		out.Members = append(out.Members, jsonschema.Member{Key: "additionalProperties", Value: jsonschema.Truth(false)})
	}
	return out
}

// shape describes a set of objects that contains all objects a schema accepts.
type shape struct {
	members  []member
	required []string
	closed   bool // there are no other members
}

// member is a member of a shape. partly means that some alternatives leave it open.
type member struct {
	jsonschema.Member
	partly bool
}

func (s *shape) get(key string) *member {
	if i := slices.IndexFunc(s.members, func(m member) bool { return m.Key == key }); i >= 0 {
		return &s.members[i]
	}
	return nil
}

// The bounds of folding. Schemas beyond them count as open.
const maxFoldDepth, maxFolds = 8, 200

type folder struct {
	doc     *jsonschema.Document
	folds   int
	choices []shape // of the root
}

func (f *folder) fold(v *jsonschema.Value, depth int) shape {
	if f.folds++; depth > maxFoldDepth || f.folds > maxFolds {
		return shape{}
	}
	s := shape{closed: v.Is("additionalProperties", false) && !v.Has("patternProperties")}
	if p := v.Get("properties"); p != nil {
		for _, m := range p.Members {
			s.members = append(s.members, member{Member: m})
		}
	}
	for _, name := range v.Get("required").Elements() {
		s.required = append(s.required, name.Text)
	}
	for _, m := range v.Members {
		switch m.Key {
		case "allOf":
			for _, item := range m.Value.Items {
				s = both(s, f.fold(item, depth+1))
			}
		case "anyOf", "oneOf":
			var some []shape
			for _, item := range m.Value.Items {
				if takesObjects(item) {
					some = append(some, f.fold(item, depth+1))
				}
			}
			if depth == 0 {
				f.choices = some
			}
			s = both(s, either(some))
		case "$ref":
			if found := resolve(f.doc, v); found != nil {
				s = both(s, f.fold(found, depth+1))
			}
		}
	}
	return s
}

// takesObjects reports whether a schema can accept objects.
func takesObjects(v *jsonschema.Value) bool {
	return v.Kind == jsonschema.KindBool && v.Bool || v.Kind == jsonschema.KindObject && describesObject(v)
}

// both returns the shape of objects that must fit two schemas.
func both(a, b shape) shape {
	out := shape{closed: a.closed || b.closed, required: slices.Clone(a.required)}
	for _, m := range a.members {
		if other := b.get(m.Key); other != nil && m.partly && !other.partly {
			m = *other
		} else if other != nil && !m.partly && !other.partly {
			m.Value = combined("allOf", m.Value, other.Value)
		}
		out.members = append(out.members, m)
	}
	for _, m := range b.members {
		if a.get(m.Key) == nil && !a.closed {
			out.members = append(out.members, m)
		}
	}
	for _, name := range b.required {
		if !slices.Contains(out.required, name) {
			out.required = append(out.required, name)
		}
	}
	return out
}

// either returns the shape of objects that must fit one of several schemas.
func either(some []shape) shape {
	if len(some) == 0 {
		return shape{}
	}
	out := shape{closed: true}
	for _, s := range some {
		out.closed = out.closed && s.closed
		for _, m := range s.members {
			if out.get(m.Key) != nil {
				continue
			}
			var values []*jsonschema.Value
			for i := range some {
				if other := some[i].get(m.Key); other != nil {
					values = append(values, other.Value)
					m.partly = m.partly || other.partly
				} else if !some[i].closed {
					m.partly = true
				}
			}
			m.Value = combined("anyOf", values...)
			out.members = append(out.members, m)
		}
	}
	for _, name := range some[0].required {
		if !slices.ContainsFunc(some, func(s shape) bool { return !slices.Contains(s.required, name) }) {
			out.required = append(out.required, name)
		}
	}
	return out
}

// combined returns a schema of several, each once.
func combined(keyword string, values ...*jsonschema.Value) *jsonschema.Value {
	var distinct []*jsonschema.Value
	for _, v := range values {
		if !slices.ContainsFunc(distinct, func(other *jsonschema.Value) bool { return bytes.Equal(other.AppendJSON(nil), v.AppendJSON(nil)) }) {
			distinct = append(distinct, v)
		}
	}
	if len(distinct) == 1 {
		return distinct[0]
	}
	return jsonschema.Record(jsonschema.Member{Key: keyword, Value: jsonschema.List(distinct...)})
}

// needs describes the members that the alternatives demand beyond the required ones. It returns "" if an alternative demands no others.
func needs(choices []shape, required []string) string {
	var sets []string
	for _, s := range choices {
		own := slices.DeleteFunc(slices.Clone(s.required), func(name string) bool { return slices.Contains(required, name) })
		if len(own) == 0 {
			return ""
		}
		if set := strings.Join(own, " and "); !slices.Contains(sets, set) {
			sets = append(sets, set)
		}
	}
	if about := "Needs " + strings.Join(sets, ", or ") + "."; len(sets) > 1 && len(about) <= maxNeeds {
		return about
	}
	return ""
}

// maxNeeds bounds the text about alternatives, in bytes.
const maxNeeds = 500

func names(list []string) *jsonschema.Value {
	out := jsonschema.List()
	for _, name := range list {
		out.Items = append(out.Items, jsonschema.Text(name))
	}
	return out
}
