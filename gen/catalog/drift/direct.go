package drift

import (
	"fmt"
	"maps"
	"math/big"
	"slices"

	"github.com/mcpgen/mcpgen/gen/catalog"
)

// direct shows a keyword of w that holds by what ns say of themselves, without their unions.
func (p *proof) direct(ns []node, w node, key string, depth int) bool {
	switch key {
	case "type":
		listed, ok := typesOf(w[key])
		return ok && p.types(ns, 0)&^listed == 0
	case "enum", "const":
		allowed, many := w[key].([]any)
		if key == "const" || !many {
			allowed = []any{w[key]}
		}
		values, ok := p.values(ns)
		return ok && p.within(values, allowed)
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
		return p.bounded(ns, w, key)
	case "multipleOf":
		return p.multiple(ns, w)
	case "uniqueItems":
		return w[key] == false || slices.ContainsFunc(ns, func(n node) bool { return n[key] == true })
	case "items", "prefixItems", "additionalItems":
		return p.elements(ns, w, depth)
	case "properties":
		return p.properties(ns, w, depth)
	case "additionalProperties":
		return p.additional(ns, w, depth)
	case "patternProperties":
		return p.patterns(ns, w, depth)
	case "required":
		return p.required(ns, w)
	case "propertyNames":
		return slices.ContainsFunc(ns, func(n node) bool {
			return n[key] != nil && p.all(append([]node{{"type": "string"}}, p.conjuncts(n[key], 0)...), w[key], depth)
		})
	case "if", "then", "else":
		return p.identical(ns, w, "if", "then", "else")
	case "contains", "minContains", "maxContains":
		return p.identical(ns, w, "contains", "minContains", "maxContains")
	case "pattern", "format", "not", "dependentRequired", "dependentSchemas", "dependencies", "contentEncoding", "contentMediaType", "contentSchema":
		return p.identical(ns, w, key)
	case "unevaluatedProperties", "unevaluatedItems":
		return w[key] == true
	}
	return slices.ContainsFunc(ns, func(n node) bool { // an unknown keyword
		v, ok := n[key]
		return ok && p.unchanged(key, v, w[key])
	})
}

// within reports whether each of values is one of allowed.
func (p *proof) within(values, allowed []any) bool {
	if p.steps += len(values) + len(allowed); p.steps > maxSteps {
		return false
	}
	known := make(map[string]bool, len(allowed))
	for _, v := range allowed {
		known[string(catalog.AppendCanonical(nil, v))] = true
	}
	return !slices.ContainsFunc(values, func(v any) bool { return !known[string(catalog.AppendCanonical(nil, v))] })
}

// identical reports whether one of ns has the same keywords.
func (p *proof) identical(ns []node, w node, keys ...string) bool {
	return slices.ContainsFunc(ns, func(n node) bool {
		return !slices.ContainsFunc(keys, func(key string) bool {
			a, inA := n[key]
			b, inB := w[key]
			return inA != inB || inA && !p.sameKeyword(key, a, b, 0)
		})
	})
}

func (p *proof) multiple(ns []node, w node) bool {
	of, ok := number(w["multipleOf"])
	if !ok || of.Sign() <= 0 {
		return false
	}
	divides := func(v any) bool {
		n, ok := number(v)
		return ok && new(big.Rat).Quo(n, of).IsInt()
	}
	if values, ok := p.values(ns); ok {
		return !slices.ContainsFunc(values, func(v any) bool { return typeOfValue(v)&(integer|fraction) != 0 && !divides(v) })
	}
	if slices.ContainsFunc(ns, func(n node) bool { return n["multipleOf"] != nil && divides(n["multipleOf"]) }) {
		return true
	}
	return p.types(ns, 0)&fraction == 0 && of.Num().IsInt64() && of.Num().Int64() == 1
}

// tuple returns the schemas of an array's first elements, and of the others.
func tuple(n node) (first []any, rest any) {
	rest = true
	if list, ok := n["prefixItems"].([]any); ok {
		first = list
	}
	switch items := n["items"].(type) {
	case nil:
	case []any:
		if first = items; n["additionalItems"] != nil {
			rest = n["additionalItems"]
		}
	default:
		rest = items
	}
	return first, rest
}

// elements shows the schemas of an array's elements, place by place.
func (p *proof) elements(ns []node, w node, depth int) bool {
	most := 0
	for _, n := range append([]node{w}, ns...) {
		first, _ := tuple(n)
		most = max(most, len(first))
	}
	if p.steps += most; p.steps > maxSteps {
		return false
	}
	at := func(n node, i int) any {
		first, rest := tuple(n)
		if i < len(first) {
			return first[i]
		}
		return rest
	}
	for i := range most + 1 { // the last one stands for all others
		var fit []node
		for _, n := range ns {
			fit = append(fit, p.conjuncts(at(n, i), 0)...)
		}
		if !p.value(fit, at(w, i), depth+1) {
			return false
		}
	}
	return true
}

// property returns what the value of a property fits. If it is not open, one of ns says what undeclared properties are.
func (p *proof) property(ns []node, name string) (fit []node, open bool) {
	open = true
	for _, n := range ns {
		properties, _ := n["properties"].(node)
		schema, declared := properties[name]
		_, patterns := n["patternProperties"]
		_, unevaluated := n["unevaluatedProperties"]
		_, named := n["propertyNames"]
		others, said := n["additionalProperties"]
		switch {
		case declared:
			fit = append(fit, p.conjuncts(schema, 0)...)
		case patterns:
		case said:
			fit = append(fit, p.conjuncts(others, 0)...)
		}
		open = open && !declared && !patterns && !said && !unevaluated && !named
	}
	return fit, open
}

func (p *proof) properties(ns []node, w node, depth int) bool {
	properties, ok := w["properties"].(node)
	if !ok {
		return false
	}
	declares := p.empty(ns) || len(names(ns, "properties")) > 0 // other objects are free in form
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		fit, open := p.property(ns, name)
		if open && declares && p.input && !p.says(ns, name) {
			continue // nobody has sent it
		}
		if !p.value(fit, properties[name], depth+1) {
			return false
		}
	}
	return true
}

// empty reports whether ns are the input of a tool that takes nothing.
func (p *proof) empty(ns []node) bool {
	if !p.input || len(ns) != 1 || fmt.Sprintf("%p", ns[0]) != fmt.Sprintf("%p", p.narrow) {
		return false
	}
	for key, v := range ns[0] {
		properties, _ := v.(node)
		required, _ := v.([]any)
		if !isAnnotation(key) && key != "type" && !(key == "properties" && len(properties) == 0) && !(key == "required" && len(required) == 0) {
			return false
		}
	}
	return true
}

// says reports whether ns say something of a property in any other way than declaring it.
func (p *proof) says(ns []node, name string) bool {
	return slices.ContainsFunc(ns, func(n node) bool {
		return slices.ContainsFunc([]string{"required", "anyOf", "oneOf", "if", "then", "else", "not", "dependentSchemas", "dependentRequired", "dependencies"}, func(key string) bool {
			return p.mentions(n[key], name, 0)
		})
	})
}

// mentions reports whether a schema has the name of a property, a reference, or a rule for undeclared ones anywhere.
func (p *proof) mentions(v any, name string, depth int) bool {
	if p.steps++; p.steps > maxSteps {
		return true
	}
	switch v := v.(type) {
	case node:
		for key, inner := range v {
			if key == name || key == "$ref" || key == "patternProperties" || key == "additionalProperties" && inner != false || depth > maxDepth || p.mentions(inner, name, depth+1) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(inner any) bool { return p.mentions(inner, name, depth+1) })
	case string:
		return v == name
	}
	return false
}

// names returns the properties that ns declare, and their patterns.
func names(ns []node, key string) map[string]bool {
	out := map[string]bool{}
	for _, n := range ns {
		declared, _ := n[key].(node)
		for name := range declared {
			out[name] = true
		}
	}
	return out
}

// undeclared returns what the values of properties fit that ns neither declare nor have a pattern for.
func (p *proof) undeclared(ns []node) []node {
	var fit []node
	for _, n := range ns {
		if others, ok := n["additionalProperties"]; ok {
			fit = append(fit, p.conjuncts(others, 0)...)
		}
	}
	return fit
}

// matching returns what the values of properties fit whose names match a pattern.
func (p *proof) matching(ns []node, pattern string) (fit []node, known bool) {
	for _, n := range ns {
		patterns, _ := n["patternProperties"].(node)
		if schema, ok := patterns[pattern]; ok {
			fit, known = append(fit, p.conjuncts(schema, 0)...), true
		}
	}
	return fit, known
}

// additional shows what w says of properties that it does not declare.
func (p *proof) additional(ns []node, w node, depth int) bool {
	others := w["additionalProperties"]
	if others == false && p.empty(ns) {
		return true
	}
	declared, _ := w["properties"].(node)
	for name := range names(ns, "properties") {
		if _, ok := declared[name]; ok {
			continue
		}
		if fit, _ := p.property(ns, name); !p.value(fit, others, depth+1) {
			return false
		}
	}
	patterns, _ := w["patternProperties"].(node)
	for pattern := range names(ns, "patternProperties") {
		if _, ok := patterns[pattern]; ok {
			continue
		}
		if fit, _ := p.matching(ns, pattern); !p.value(fit, others, depth+1) {
			return false
		}
	}
	return p.value(p.undeclared(ns), others, depth+1)
}

// patterns shows what w says of properties whose names match a pattern.
func (p *proof) patterns(ns []node, w node, depth int) bool {
	patterns, ok := w["patternProperties"].(node)
	if !ok {
		return false
	}
	for pattern, schema := range patterns {
		fit, known := p.matching(ns, pattern)
		if known && p.value(fit, schema, depth+1) {
			continue
		}
		if known || !p.value(p.undeclared(ns), schema, depth+1) { // any property may match it
			return false
		}
		for name := range names(ns, "properties") {
			if fit, _ := p.property(ns, name); !p.value(fit, schema, depth+1) {
				return false
			}
		}
		for other := range names(ns, "patternProperties") {
			if fit, _ := p.matching(ns, other); !p.value(fit, schema, depth+1) {
				return false
			}
		}
	}
	return true
}

func (p *proof) required(ns []node, w node) bool {
	list, ok := w["required"].([]any)
	if p.steps += len(list); !ok || p.steps > maxSteps {
		return false
	}
	return !slices.ContainsFunc(list, func(name any) bool {
		return !slices.ContainsFunc(ns, func(n node) bool {
			always, _ := n["required"].([]any)
			return slices.Contains(always, name)
		})
	})
}

// disjoint reports whether no value can fit two of the alternatives: they are of different types, or require different values of one
// property.
func (p *proof) disjoint(alternatives []any) bool {
	wide := &proof{narrow: p.wide, steps: p.steps}
	defer func() { p.steps = wide.steps }()
	fits := make([][]node, len(alternatives))
	for i, a := range alternatives {
		fits[i] = wide.conjuncts(a, 0)
	}
	for i := range fits {
		for j := range i {
			if wide.types(fits[i], 0)&wide.types(fits[j], 0) != 0 && !wide.apart(fits[i], fits[j]) {
				return false
			}
		}
	}
	return true
}

// apart reports whether both are objects that require another value of the same property, or other values.
func (p *proof) apart(a, b []node) bool {
	differ := func(x, y []node) bool {
		old, okA := p.values(x)
		now, okB := p.values(y)
		return okA && okB && !slices.ContainsFunc(old, func(v any) bool { return p.within([]any{v}, now) }) && p.steps <= maxSteps
	}
	if differ(a, b) {
		return true
	}
	if p.types(a, 0)|p.types(b, 0) != object {
		return false
	}
	for name := range names(a, "properties") {
		must := node{"required": []any{name}}
		x, _ := p.property(a, name)
		y, _ := p.property(b, name)
		if p.required(a, must) && p.required(b, must) && differ(x, y) {
			return true
		}
	}
	return false
}
