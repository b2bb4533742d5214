package jsonschema

import (
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Document is a schema with the targets of its references. Nothing outside of it is ever read.
type Document struct {
	Root      *Value
	resources map[string]*Resource // by URI, without fragment
	// Starts are the resources by their roots.
	Starts map[*Value]*Resource
	// Homes are the places of all schemas in the document.
	Homes map[*Value]Home
	// Dynamic counts how many schemas have a $dynamicAnchor of that name; "" counts $recursiveAnchor.
	Dynamic map[string]int
	// Older reports whether the schema is read by an older draft than its $schema names.
	Older bool
}

// Resource is a schema with a URI of its own, and the part of the document below it up to the next resource.
type Resource struct {
	Root    *Value
	URI     *url.URL
	Draft   Draft
	anchors map[string]*Value
	// DynamicAnchors are the targets of $dynamicRef in this resource.
	DynamicAnchors map[string]*Value
	Recursive      bool // $recursiveAnchor is true at the root
}

// Home is the place of a schema in the document.
type Home struct {
	Res    *Resource
	parent *Value
	path   []string // from parent
}

// NewDocument finds the resources and anchors of root. It looks only where a schema can be: a value of an enum that looks
// like a schema is data.
func NewDocument(root *Value) *Document {
	d := &Document{Root: root, resources: map[string]*Resource{}, Starts: map[*Value]*Resource{}, Homes: map[*Value]Home{}, Dynamic: map[string]int{}}
	base := &url.URL{Scheme: "mcpgen", Path: "/schema.json"}
	dialect, older := DraftOf(root)
	d.Older = older && root.Get("$schema") != nil
	res := &Resource{Root: root, URI: base, Draft: dialect}
	d.resources[base.String()] = res
	d.Starts[root] = res
	d.walk(root, Home{Res: res})
	return d
}

func (d *Document) walk(v *Value, at Home) {
	if _, seen := d.Homes[v]; seen || (v.Kind != KindObject && v.Kind != KindBool) {
		return
	}
	d.enter(v, &at)
	d.Homes[v] = at
	for _, m := range v.Members {
		switch Subschemas(m) {
		case OneSchema:
			d.walk(m.Value, Home{at.Res, v, []string{m.Key}})
		case ListOfSchemas:
			for i, item := range m.Value.Items {
				d.walk(item, Home{at.Res, v, []string{m.Key, strconv.Itoa(i)}})
			}
		case MapOfSchemas:
			for _, sub := range m.Value.Members {
				d.walk(sub.Value, Home{at.Res, v, []string{m.Key, sub.Key}})
			}
		}
	}
}

// Shape is how schemas are arranged in the value of a keyword.
type Shape int

// The shapes: data, a schema, an array of schemas, and an object whose members are schemas.
const (
	NoSchemas Shape = iota
	OneSchema
	ListOfSchemas
	MapOfSchemas
)

// Subschemas returns how schemas are arranged in the value of a keyword. Values of other keywords are data.
func Subschemas(m Member) Shape {
	switch m.Key {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies":
		return MapOfSchemas
	case "allOf", "anyOf", "oneOf", "prefixItems":
		return ListOfSchemas
	case "items":
		if m.Value.Kind == KindArray {
			return ListOfSchemas
		}
		return OneSchema
	case "additionalProperties", "additionalItems", "unevaluatedProperties", "unevaluatedItems", "propertyNames",
		"contains", "not", "if", "then", "else", "contentSchema":
		return OneSchema
	}
	return NoSchemas
}

// enter records v's identifiers, and moves at to the resource that v begins.
func (d *Document) enter(v *Value, at *Home) {
	draft := at.Res.Draft
	if draft < Draft201909 && v.Get("$ref") != nil && v != d.Root {
		return // the keywords beside it have no effect
	}
	id := v.Str("$id")
	if draft == Draft04 {
		id = v.Str("id")
	}
	if u, err := url.Parse(id); err == nil && id != "" {
		name := u.Fragment
		u.Fragment = ""
		if *u != (url.URL{}) {
			d.begin(v, at, at.Res.URI.ResolveReference(u))
		}
		if name != "" { // what $anchor is since 2019-09
			at.Res.anchor(name, v)
		}
	}
	if draft == DraftUnknown {
		return
	}
	if name := v.Str("$anchor"); name != "" {
		at.Res.anchor(name, v)
	}
	if name := v.Str("$dynamicAnchor"); name != "" && at.Res.Draft == Draft202012 {
		at.Res.anchor(name, v)
		if at.Res.DynamicAnchors == nil {
			at.Res.DynamicAnchors = map[string]*Value{}
		}
		if at.Res.DynamicAnchors[name] == nil {
			at.Res.DynamicAnchors[name] = v
			d.Dynamic[name]++
		}
	}
	if v == at.Res.Root && v.Is("$recursiveAnchor", true) && at.Res.Draft == Draft201909 {
		at.Res.Recursive = true
		d.Dynamic[""]++
	}
}

// begin makes v the root of a resource with a URI.
func (d *Document) begin(v *Value, at *Home, uri *url.URL) {
	res := d.Starts[v]
	if res == nil {
		res = &Resource{Root: v, Draft: at.Res.Draft}
		if own := v.Str("$schema"); own != "" {
			res.Draft = DraftByURI(own)
		}
		d.Starts[v] = res
	}
	res.URI = uri
	at.Res = res
	if key := uri.String(); d.resources[key] == nil {
		d.resources[key] = res
	}
}

func (r *Resource) anchor(name string, v *Value) {
	if r.anchors == nil {
		r.anchors = map[string]*Value{}
	}
	if r.anchors[name] == nil {
		r.anchors[name] = v
	}
}

// Found is the target of a reference.
type Found struct {
	Target *Value
	Res    *Resource // the resource that Target is in
	Name   string    // of the anchor, if the reference names one
	At     Home      // of a Target that is not where a keyword holds schemas
}

// The errors of [Document.Resolve].
var (
	ErrUnresolved = errors.New("the reference leads to nothing in the schema")
	ErrExternal   = errors.New("the reference leads out of the schema, where nothing is read")
)

// Resolve returns the target of a reference in a resource. The error is [ErrUnresolved] or [ErrExternal].
func (d *Document) Resolve(ref string, from *Resource) (Found, error) {
	u, err := url.Parse(ref)
	if err != nil {
		return Found{}, ErrUnresolved
	}
	fragment := u.Fragment
	u.Fragment, u.RawFragment = "", ""
	res := from
	if *u != (url.URL{}) {
		if res = d.resources[from.URI.ResolveReference(u).String()]; res == nil {
			return Found{}, ErrExternal
		}
	}
	if fragment == "" {
		return Found{Target: res.Root, Res: res}, nil
	}
	if !strings.HasPrefix(fragment, "/") {
		target := res.anchors[fragment]
		if target == nil {
			return Found{}, ErrUnresolved
		}
		return Found{Target: target, Res: res, Name: fragment}, nil
	}
	target, at := d.follow(res, fragment)
	if target == nil {
		return Found{}, ErrUnresolved
	}
	return Found{Target: target, Res: at.Res, At: at}, nil
}

// follow returns the target of a JSON pointer from the root of a resource, or nil, and its place.
func (d *Document) follow(res *Resource, pointer string) (*Value, Home) {
	target := res.Root
	near := Home{Res: res, parent: target}
	for token := range jsontext.Pointer(pointer).Tokens() {
		if target = target.Child(token); target == nil {
			return nil, near
		}
		if at, known := d.Homes[target]; known {
			near = Home{Res: at.Res, parent: target}
		} else {
			near.path = append(slices.Clip(near.path), token)
		}
	}
	return target, near
}

// PathOf returns the tokens of the JSON pointer of a schema, from the root.
func (d *Document) PathOf(v *Value) []string {
	var out []string
	for v != nil && v != d.Root {
		at, known := d.Homes[v]
		if !known {
			break
		}
		for _, token := range slices.Backward(at.path) {
			out = append(out, token)
		}
		v = at.parent
	}
	slices.Reverse(out)
	return out
}

// Local returns the target of a reference that is a JSON pointer from the root of a document. It returns nil for any other reference, and
// for one that leads through a schema with its own $id, where references mean something else.
func (v *Value) Local(ref string) *Value {
	pointer, ok := strings.CutPrefix(ref, "#")
	pointer, err := url.PathUnescape(pointer)
	if !ok || err != nil || pointer != "" && pointer[0] != '/' {
		return nil
	}
	root := v
	for token := range jsontext.Pointer(pointer).Tokens() {
		if v != root && v.Get("$id") != nil {
			return nil
		}
		v = v.Child(token)
	}
	return v
}
