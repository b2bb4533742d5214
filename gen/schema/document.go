package schema

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// document is a schema with all that references can lead to. Nothing outside of it is ever read.
type document struct {
	root      *value
	resources map[string]*resource // by URI, without fragment
	starts    map[*value]*resource // by their root
	homes     map[*value]home
	// dynamic counts how many schemas have a $dynamicAnchor of that name; "" counts $recursiveAnchor.
	dynamic map[string]int
	older   bool // read as of an older dialect than it says
}

// resource is a schema with a URI of its own, and the part of the document below it up to the next one.
type resource struct {
	root    *value
	uri     *url.URL
	draft   draft
	anchors map[string]*value
	// dynamicAnchors are anchors that a $dynamicRef finds from the outside in.
	dynamicAnchors map[string]*value
	recursive      bool // $recursiveAnchor is true at the root
}

// home is where in the document a schema stands.
type home struct {
	res    *resource
	parent *value
	path   []string // from parent
}

// newDocument finds the resources and anchors of root. Only where a schema can stand is looked: data of an enum that
// looks like a schema is none.
func newDocument(root *value) *document {
	d := &document{root: root, resources: map[string]*resource{}, starts: map[*value]*resource{}, homes: map[*value]home{}, dynamic: map[string]int{}}
	base := &url.URL{Scheme: "mcpgen", Path: "/schema.json"}
	dialect, older := dialectOf(root)
	d.older = older && root.get("$schema") != nil
	res := &resource{root: root, uri: base, draft: dialect}
	d.resources[base.String()] = res
	d.starts[root] = res
	d.walk(root, home{res: res})
	return d
}

func (d *document) walk(v *value, at home) {
	if _, seen := d.homes[v]; seen || (v.kind != kindObject && v.kind != kindBool) {
		return
	}
	d.enter(v, &at)
	d.homes[v] = at
	for _, m := range v.members {
		switch subschemas(m) {
		case oneSchema:
			d.walk(m.value, home{at.res, v, []string{m.key}})
		case listOfSchemas:
			for i, item := range m.value.items {
				d.walk(item, home{at.res, v, []string{m.key, itoa(i)}})
			}
		case mapOfSchemas:
			for _, sub := range m.value.members {
				d.walk(sub.value, home{at.res, v, []string{m.key, sub.key}})
			}
		}
	}
}

type shape int

const (
	noSchemas shape = iota
	oneSchema
	listOfSchemas
	mapOfSchemas
)

// subschemas says where in the value of a keyword schemas stand.
func subschemas(m member) shape {
	switch m.key {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies":
		return mapOfSchemas
	case "allOf", "anyOf", "oneOf", "prefixItems":
		return listOfSchemas
	case "items":
		if m.value.kind == kindArray {
			return listOfSchemas
		}
		return oneSchema
	case "additionalProperties", "additionalItems", "unevaluatedProperties", "unevaluatedItems", "propertyNames",
		"contains", "not", "if", "then", "else", "contentSchema":
		return oneSchema
	}
	return noSchemas
}

// enter notes v's identifiers, and moves at to the resource that v begins.
func (d *document) enter(v *value, at *home) {
	draft := at.res.draft
	if draft < draft201909 && v.get("$ref") != nil && v != d.root {
		return // its siblings do not count
	}
	id := v.str("$id")
	if draft == draft04 {
		id = v.str("id")
	}
	if u, err := url.Parse(id); err == nil && id != "" {
		name := u.Fragment
		u.Fragment = ""
		if *u != (url.URL{}) {
			d.begin(v, at, at.res.uri.ResolveReference(u))
		}
		if name != "" { // before 2019-09 the way to say $anchor
			at.res.anchor(name, v)
		}
	}
	if draft == draftUnknown {
		return
	}
	if name := v.str("$anchor"); name != "" {
		at.res.anchor(name, v)
	}
	if name := v.str("$dynamicAnchor"); name != "" && at.res.draft == draft202012 {
		at.res.anchor(name, v)
		if at.res.dynamicAnchors == nil {
			at.res.dynamicAnchors = map[string]*value{}
		}
		if at.res.dynamicAnchors[name] == nil {
			at.res.dynamicAnchors[name] = v
			d.dynamic[name]++
		}
	}
	if v == at.res.root && v.is("$recursiveAnchor", true) && at.res.draft == draft201909 {
		at.res.recursive = true
		d.dynamic[""]++
	}
}

// begin makes v a resource, or gives the root's its URI.
func (d *document) begin(v *value, at *home, uri *url.URL) {
	res := d.starts[v]
	if res == nil {
		res = &resource{root: v, draft: at.res.draft}
		if own := v.str("$schema"); own != "" {
			res.draft = draftNamed(own)
		}
		d.starts[v] = res
	}
	res.uri = uri
	at.res = res
	if key := uri.String(); d.resources[key] == nil {
		d.resources[key] = res
	}
}

func (r *resource) anchor(name string, v *value) {
	if r.anchors == nil {
		r.anchors = map[string]*value{}
	}
	if r.anchors[name] == nil {
		r.anchors[name] = v
	}
}

// found is what a reference leads to.
type found struct {
	target *value
	res    *resource // that target belongs to
	name   string    // of the anchor, where the reference used one
	at     home      // of a target outside of where schemas stand
}

// resolve follows a reference from within a resource. The code is that of the note to make where it fails.
func (d *document) resolve(ref string, from *resource) (found, code) {
	u, err := url.Parse(ref)
	if err != nil {
		return found{}, CodeUnresolvedRef
	}
	fragment := u.Fragment
	u.Fragment, u.RawFragment = "", ""
	res := from
	if *u != (url.URL{}) {
		if res = d.resources[from.uri.ResolveReference(u).String()]; res == nil {
			return found{}, CodeExternalRef
		}
	}
	if fragment == "" {
		return found{target: res.root, res: res}, ""
	}
	if !strings.HasPrefix(fragment, "/") {
		target := res.anchors[fragment]
		if target == nil {
			return found{}, CodeUnresolvedRef
		}
		return found{target: target, res: res, name: fragment}, ""
	}
	target, at := d.follow(res, fragment)
	if target == nil {
		return found{}, CodeUnresolvedRef
	}
	return found{target: target, res: at.res, at: at}, ""
}

// follow goes down a JSON pointer.
func (d *document) follow(res *resource, pointer string) (*value, home) {
	target := res.root
	near := home{res: res, parent: target}
	for _, token := range strings.Split(pointer[1:], "/") {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		if target = child(target, token); target == nil {
			return nil, near
		}
		if at, known := d.homes[target]; known {
			near = home{res: at.res, parent: target}
		} else {
			near.path = append(slices.Clip(near.path), token)
		}
	}
	return target, near
}

// pathOf returns the tokens that lead to a schema from the root.
func (d *document) pathOf(v *value) []string {
	var out []string
	for v != nil && v != d.root {
		at, known := d.homes[v]
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

func child(v *value, token string) *value {
	if v.kind != kindArray {
		return v.get(token)
	}
	if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(v.items) && itoa(i) == token {
		return v.items[i]
	}
	return nil
}

func pointerOf(path []string) string { return place{}.at(path...).pointer }
