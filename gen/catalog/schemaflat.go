package catalog

import (
	"maps"
	"slices"
)

// flat is a schema as an object of keywords, its references followed and its allOf merged where they can be. What
// leads back to itself that way says nothing.
func (w viewer) flat(schema any, depth int) fields {
	node, ok := schema.(map[string]any)
	if !ok {
		if schema == false {
			return fields{"type": []any{}}
		}
		return fields{}
	}
	id := identity(node)
	if known, ok := w.flats[id]; ok {
		if known.flat == nil {
			return fields{}
		}
		return known.flat
	}
	if depth > maxNesting || !w.limits.spend(1+len(node)) {
		w.limits.overrun()
		return node
	}
	entry := &flattened{node: node}
	w.flats[id] = entry
	entry.flat = w.flatten(node, depth)
	return entry.flat
}

func (w viewer) flatten(node fields, depth int) fields {
	if key, ref := refOf(node); ref != "" {
		if target, found := w.doc.find(ref); found {
			rest := maps.Clone(node)
			delete(rest, key)
			return w.merge(w.flatAll(rest, depth), w.flat(target, depth+1))
		}
	}
	return w.flatAll(node, depth)
}

func (w viewer) flatAll(node fields, depth int) fields {
	out := modern(node)
	all, ok := node["allOf"].([]any)
	if !ok || len(all) > maxAlternatives {
		return out
	}
	delete(out, "allOf")
	for _, part := range all {
		out = w.merge(out, w.flat(part, depth+1))
	}
	return out
}

// modern rewrites keywords of older drafts and of OpenAPI that say the same as newer ones.
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
	if _, isList := out["prefixItems"].([]any); isList || out["items"] != nil {
		delete(out, "additionalItems")
	}
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

// merge is the conjunction of two flat schemas; the texts of the first win. What has no common form goes to allOf.
func (w viewer) merge(a, b fields) fields {
	if !w.limits.spend(size(a) + size(b)) {
		return a
	}
	out := maps.Clone(a)
	var rest []any
	for key, y := range b {
		x, both := a[key]
		switch {
		case !both || isStructure(key):
			if !both {
				out[key] = y
			}
		case equal(x, y):
		default:
			if merged, ok := mergeKeyword(key, x, y); ok {
				out[key] = merged
			} else if isTyped(key) || isLogic(key) {
				rest = append(rest, fields{key: y})
			}
		}
	}
	if rest != nil {
		slices.SortFunc(rest, func(p, q any) int { return compareUTF16(text(p), text(q)) })
		old, _ := out["allOf"].([]any)
		out["allOf"] = slices.Concat(old, rest)
	}
	return out
}

// size is about the work of merging a flat schema.
func size(node fields) int {
	n := len(node)
	for _, value := range node {
		switch value := value.(type) {
		case []any:
			n += len(value)
		case map[string]any:
			n += len(value)
		}
	}
	return n
}

func mergeKeyword(key string, x, y any) (any, bool) {
	switch key {
	case "type":
		return both(typeList(x), typeList(y)), true
	case "enum":
		a, okA := x.([]any)
		b, okB := y.([]any)
		if okA && okB {
			return both(a, b), true
		}
	case "required":
		a, okA := x.([]any)
		b, okB := y.([]any)
		if okA && okB {
			return slices.Concat(a, b), true
		}
	case "allOf":
		a, okA := x.([]any)
		b, okB := y.([]any)
		if okA && okB {
			return slices.Concat(a, b), true
		}
	case "properties":
		a, okA := x.(map[string]any)
		b, okB := y.(map[string]any)
		if !okA || !okB {
			return nil, false
		}
		out := maps.Clone(a)
		for name, schema := range b {
			if old, ok := out[name]; ok && !equal(old, schema) {
				out[name] = fields{"allOf": []any{old, schema}}
			} else {
				out[name] = schema
			}
		}
		return out, true
	case "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties":
		return tighter(x, y, 1)
	case "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties":
		return tighter(x, y, -1)
	}
	return nil, false
}

func tighter(x, y any, sign int) (any, bool) {
	c, ok := compareNumbers(x, y)
	if !ok {
		return nil, false
	}
	if c*sign >= 0 {
		return x, true
	}
	return y, true
}

// both are the elements of a that are in b too; a number holds integers.
func both(a, b []any) []any {
	out := []any{}
	inB := map[string]bool{}
	for _, v := range b {
		inB[text(v)] = true
	}
	for _, v := range a {
		if t := text(v); inB[t] || t == `"integer"` && inB[`"number"`] {
			out = append(out, v)
		} else if t == `"number"` && inB[`"integer"`] {
			out = append(out, any("integer"))
		}
	}
	return out
}

func typeList(v any) []any {
	switch v := v.(type) {
	case []any:
		return v
	case nil:
		return nil
	}
	return []any{v}
}
