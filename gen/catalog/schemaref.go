package catalog

import (
	"net/url"
	"reflect"
	"strconv"
	"strings"
)

// document finds what the references of one schema stand for. References that lead outside stay as they are.
type document struct {
	root    any
	anchors map[string]any // $anchor, $dynamicAnchor and $id → schema; nil until one is looked for
}

// maxRefs bounds a chain of references.
const maxRefs = 100

// find returns what a reference stands for.
func (d *document) find(ref string) (any, bool) {
	if ref == "#" {
		return d.root, true
	}
	if pointer, ok := strings.CutPrefix(ref, "#/"); ok {
		return lookup(d.root, pointer)
	}
	if d.anchors == nil {
		d.anchors = map[string]any{}
		d.collect(d.root, 0)
	}
	if v, ok := d.anchors[ref]; ok {
		return v, true
	}
	if id, pointer, ok := strings.Cut(ref, "#/"); ok { // a pointer into an embedded schema
		if v, ok := d.anchors[id]; ok {
			return lookup(v, pointer)
		}
	}
	return nil, false
}

func lookup(v any, pointer string) (any, bool) {
	for token := range strings.SplitSeq(pointer, "/") {
		if plain, err := url.PathUnescape(token); err == nil {
			token = plain
		}
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch node := v.(type) {
		case map[string]any:
			next, ok := node[token]
			if !ok {
				return nil, false
			}
			v = next
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

func (d *document) collect(v any, depth int) {
	if depth > MaxDepth {
		return
	}
	switch node := v.(type) {
	case map[string]any:
		for _, key := range []string{"$anchor", "$dynamicAnchor"} {
			if name, ok := node[key].(string); ok {
				d.anchor("#"+name, node)
			}
		}
		if id, ok := node["$id"].(string); ok {
			d.anchor(strings.TrimSuffix(id, "#"), node)
		}
		for _, key := range sortedKeys(node) { // the first of a name wins, whichever way the map is walked
			d.collect(node[key], depth+1)
		}
	case []any:
		for _, item := range node {
			d.collect(item, depth+1)
		}
	}
}

func (d *document) anchor(name string, node any) {
	if _, taken := d.anchors[name]; !taken {
		d.anchors[name] = node
	}
}

// refOf is the reference in a schema: $ref, or one that a document without dynamic scopes resolves the same way.
func refOf(fields map[string]any) (key, ref string) {
	for _, key := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		if ref, ok := fields[key].(string); ok {
			return key, ref
		}
	}
	return "", ""
}

// identity tells nodes of a document apart. Only objects have one.
func identity(v any) uintptr {
	if fields, ok := v.(map[string]any); ok && fields != nil {
		return reflect.ValueOf(fields).Pointer()
	}
	return 0
}
