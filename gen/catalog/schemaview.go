package catalog

import "slices"

// fields are the keywords of one schema object.
type fields = map[string]any

// jsonTypes are the JSON types as the comparison counts them: an integer is a number with a keyword of its own.
func jsonTypes() []string {
	return []string{"null", "boolean", "number", "string", "array", "object"}
}

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
	return slices.ContainsFunc(jsonTypes(), func(kind string) bool { return slices.Contains(typeKeywords(kind), keyword) })
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
	// several says that a type has more than one alternative, exclusive that exactly one of some may hold.
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
		v.shapes[kind] = joinEnums(shapes, exclusive)
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
		inner, one := w.alternatives(w.flat(part, depth+1), depth+1)
		exclusive = exclusive || one
		for _, alternative := range inner {
			branches = append(branches, w.merge(alternative, shared))
		}
		if len(branches) > maxAlternatives {
			return []fields{node}, false // compared as it is written
		}
	}
	return branches, exclusive || key == "oneOf"
}

// split adds one alternative to each type it accepts.
func (w viewer) split(shapes map[string][]fields, branch fields) {
	allowed, integer := acceptedTypes(branch)
	enum, limited := branch["enum"].([]any)
	noted := false
	for _, kind := range jsonTypes() {
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
				if typeOf(v) == kind && (kind != "number" || !integer || integral(v)) {
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
		return jsonTypes(), false
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
// enum are the same. Their texts are kept by value. A value that stands twice is one that a oneOf refuses.
func joinEnums(shapes []fields, exclusive bool) []fields {
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
	if exclusive && len(unique(texts(values))) < len(values) {
		return shapes
	}
	if values != nil {
		joined := described
		joined["enum"] = values
		out = append(out, joined)
	}
	return out
}
