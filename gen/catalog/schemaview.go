package catalog

import (
	"encoding/json"
	"maps"
	"slices"
)

// fields are the keywords of one schema object.
type fields = map[string]any

// The JSON types as the comparison counts them: an integer is a number with a keyword of its own.
var jsonTypes = []string{"null", "boolean", "number", "string", "array", "object"}

// integerOnly is the keyword that stands for "type": "integer" in a shape.
const integerOnly = "integer"

// typeKeywords are the keywords that only constrain values of one type.
func typeKeywords(kind string) []string {
	switch kind {
	case "number":
		return []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "format", integerOnly}
	case "string":
		return []string{"minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType", "contentSchema"}
	case "array":
		return []string{"items", "prefixItems", "additionalItems", "unevaluatedItems", "minItems", "maxItems", "uniqueItems",
			"contains", "minContains", "maxContains"}
	case "object":
		return []string{"properties", "patternProperties", "additionalProperties", "unevaluatedProperties", "required",
			"minProperties", "maxProperties", "propertyNames", "dependentRequired", "dependentSchemas", "dependencies"}
	}
	return nil
}

// isLogic reports whether a keyword constrains values of any type, apart from those that a view resolves.
func isLogic(keyword string) bool {
	switch keyword {
	case "not", "if", "then", "else", "allOf", "anyOf", "oneOf", "$ref", "$dynamicRef", "$recursiveRef":
		return true
	}
	return false
}

// isStructure reports whether a keyword only helps to find schemas.
func isStructure(keyword string) bool {
	switch keyword {
	case "$defs", "definitions", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary":
		return true
	}
	return false
}

// isTyped reports whether a keyword says what type a value has, or belongs to one.
func isTyped(keyword string) bool {
	switch keyword {
	case "type", "enum", "const", "nullable":
		return true
	}
	return slices.ContainsFunc(jsonTypes, func(kind string) bool { return slices.Contains(typeKeywords(kind), keyword) })
}

// view is what one schema accepts, type by type, whichever way it is spelled: "type": ["string", "null"], anyOf of two
// and nullable give the same view.
type view struct {
	// shapes are, for each type that is accepted, the alternatives a value of it has: keywords of that type, enum, and
	// logic. An absent type is refused.
	shapes map[string][]fields
	// notes are keywords that refuse nothing: texts, defaults, and what is unknown.
	notes fields
	// logic are the constraints of a schema that is no union, which hold of any type.
	logic fields
	// several says that a type has more than one alternative, exclusive that exactly one may hold.
	several, exclusive bool
}

const (
	// maxAlternatives bounds the branches of one union that are compared one by one.
	maxAlternatives = 64
	// maxNesting bounds references and unions in one schema that are taken apart.
	maxNesting = 64
)

// viewer makes views of the schemas of one document.
type viewer struct {
	doc    *document
	limits *budget
	// flats are the results of flat by the identity of their node. A nil one is under way.
	flats map[uintptr]*flattened
}

type flattened struct {
	node any // kept, so that its identity stays its own
	flat fields
}

func newViewer(root any, limits *budget) viewer {
	return viewer{&document{root: root}, limits, map[uintptr]*flattened{}}
}

func (w viewer) view(schema any) view {
	v := view{shapes: map[string][]fields{}, notes: fields{}}
	node := w.flat(schema, 0)
	branches, exclusive := w.alternatives(node, 0)
	v.exclusive = exclusive
	for key, value := range node {
		if !isTyped(key) && !isLogic(key) && !isStructure(key) {
			v.notes[key] = value
		}
	}
	for _, branch := range branches {
		if len(branches) == 1 {
			v.logic, branch = pick(branch, isLogic), pick(branch, isTyped)
		}
		w.split(v.shapes, branch)
	}
	for kind, shapes := range v.shapes {
		v.shapes[kind] = joinEnums(shapes)
		v.several = v.several || len(v.shapes[kind]) > 1
	}
	return v
}

func pick(node fields, wanted func(keyword string) bool) fields {
	out := fields{}
	for key, value := range node {
		if wanted(key) {
			out[key] = value
		}
	}
	return out
}

// target follows a reference that has nothing beside it.
func (w viewer) target(schema any) any {
	for range maxRefs {
		node, ok := schema.(map[string]any)
		if !ok || len(node) != 1 {
			break
		}
		_, ref := refOf(node)
		next, found := w.doc.find(ref)
		if ref == "" || !found {
			break
		}
		schema = next
	}
	return schema
}

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

// alternatives takes the unions of a flat schema apart. A schema without one is its own only alternative.
func (w viewer) alternatives(node fields, depth int) (branches []fields, exclusive bool) {
	key := ""
	for _, union := range []string{"anyOf", "oneOf"} {
		list, ok := node[union].([]any)
		if ok && len(list) > 0 && len(list) <= maxAlternatives {
			key = union
			break
		}
	}
	if key == "" || depth > maxNesting || !w.limits.spend(1) {
		return []fields{node}, false
	}
	shared := fields{}
	for k, v := range node {
		if k != key && (isTyped(k) || isLogic(k)) {
			shared[k] = v
		}
	}
	list, _ := node[key].([]any)
	for _, part := range list {
		inner, _ := w.alternatives(w.flat(part, depth+1), depth+1)
		for _, alternative := range inner {
			branches = append(branches, w.merge(alternative, shared))
		}
		if len(branches) > maxAlternatives {
			return []fields{node}, false // compared as it is written
		}
	}
	return branches, key == "oneOf"
}

// split adds one alternative to each type it accepts.
func (w viewer) split(shapes map[string][]fields, branch fields) {
	allowed, integer := acceptedTypes(branch)
	enum, limited := branch["enum"].([]any)
	noted := false
	for _, kind := range jsonTypes {
		if !slices.Contains(allowed, kind) {
			continue
		}
		shape := fields{}
		for _, key := range typeKeywords(kind) {
			if value, ok := branch[key]; ok && key != integerOnly {
				shape[key] = value
			}
		}
		if kind == "number" && integer && !limited {
			shape[integerOnly] = true
		}
		if limited {
			var values []any
			for _, v := range enum {
				if typeOf(v) == kind {
					values = append(values, v)
				}
			}
			if values == nil {
				continue
			}
			if kind != "null" && (kind != "boolean" || len(values) == 1) { // not all values there are
				shape["enum"] = values
			}
		}
		for key, value := range branch {
			if isLogic(key) || !noted && !isTyped(key) && !isStructure(key) {
				shape[key] = value
			}
		}
		noted = true // the texts of a branch are compared once
		shapes[kind] = append(shapes[kind], shape)
	}
}

// acceptedTypes are the types that a flat schema allows, and whether numbers must be integers.
func acceptedTypes(branch fields) (kinds []string, integer bool) {
	value, said := branch["type"]
	if !said {
		return jsonTypes, false
	}
	number := false
	for _, t := range typeList(value) {
		name, _ := t.(string)
		switch name {
		case "integer":
			integer = true
		case "number":
			number = true
		default:
			kinds = append(kinds, name)
		}
	}
	if number || integer {
		kinds = append(kinds, "number")
	}
	if branch["nullable"] == true {
		kinds = append(kinds, "null")
	}
	return kinds, integer && !number
}

// joinEnums makes one list of alternatives that are nothing but lists of values, so that a union of constants and an
// enum are the same. Their texts are kept by value.
func joinEnums(shapes []fields) []fields {
	var out []fields
	var values []any
	described := fields{}
	for _, shape := range shapes {
		enum, ok := shape["enum"].([]any)
		for key := range shape {
			ok = ok && (key == "enum" || !isTyped(key) && !isLogic(key))
		}
		if !ok {
			out = append(out, shape)
			continue
		}
		values = append(values, enum...)
		for key, value := range shape {
			if key != "enum" {
				described[cut(text(enum[0]), maxText)+" "+key] = value
			}
		}
	}
	if values != nil {
		joined := described
		joined["enum"] = values
		out = append(out, joined)
	}
	return out
}

// equal compares decoded JSON. Numbers are equal when they are written the same.
func equal(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		if identity(x) == identity(y) {
			return true
		}
		for key, v := range x {
			if w, there := y[key]; !there || !equal(v, w) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, equal)
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}
