package drift

import (
	"math/big"
	"slices"

	"github.com/mcpgen/mcpgen/gen/jsonschema"
)

// direct shows that a keyword of w follows from the keywords of ns, without their unions.
func (p *proof) direct(ns []node, w node, key string, depth int) bool {
	switch key {
	case "type":
		listed, ok := jsonschema.TypesOf(w)
		return ok && p.types(ns, 0)&^listed == 0
	case "enum", "const":
		allowed := []node{w.Get(key)}
		if many, ok := list(w, key); ok && key == "enum" {
			allowed = many
		}
		values, ok := p.values(ns)
		return ok && p.within(values, allowed)
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
		return p.bounded(ns, w, key)
	case "multipleOf":
		return p.multiple(ns, w)
	case "uniqueItems":
		return w.Is(key, false) || slices.ContainsFunc(ns, func(n node) bool { return n.Is(key, true) })
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
			return n.Has(key) && p.all(append([]node{withKeyword("type", jsonschema.Text("string"))}, p.conjuncts(n.Get(key), 0)...), w.Get(key), depth)
		})
	case "if", "then", "else":
		return p.identical(ns, w, "if", "then", "else")
	case "contains", "minContains", "maxContains":
		return p.identical(ns, w, "contains", "minContains", "maxContains")
	case "pattern", "format", "not", "dependentRequired", "dependentSchemas", "dependencies", "contentEncoding", "contentMediaType", "contentSchema":
		return p.identical(ns, w, key)
	case "unevaluatedProperties", "unevaluatedItems":
		return w.Is(key, true)
	}
	return slices.ContainsFunc(ns, func(n node) bool { // an unknown keyword
		v := n.Get(key)
		return v != nil && p.unchanged(jsonschema.Member{Key: key, Value: v}, w.Get(key))
	})
}

// within reports whether each of values is one of allowed.
func (p *proof) within(values, allowed []node) bool {
	if p.steps += len(values) + len(allowed); p.steps > maxSteps {
		return false
	}
	known := make(map[string]bool, len(allowed))
	for _, v := range allowed {
		known[string(v.AppendCanonical(nil))] = true
	}
	return !slices.ContainsFunc(values, func(v node) bool { return !known[string(v.AppendCanonical(nil))] })
}

// identical reports whether one of ns has the same keywords.
func (p *proof) identical(ns []node, w node, keys ...string) bool {
	return slices.ContainsFunc(ns, func(n node) bool {
		return !slices.ContainsFunc(keys, func(key string) bool {
			a, b := n.Get(key), w.Get(key)
			return (a == nil) != (b == nil) || a != nil && !p.sameKeyword(jsonschema.Member{Key: key, Value: a}, b, 0)
		})
	})
}

func (p *proof) multiple(ns []node, w node) bool {
	of, ok := w.Get("multipleOf").Rat()
	if !ok || of.Sign() <= 0 {
		return false
	}
	divides := func(v node) bool {
		n, ok := v.Rat()
		return ok && new(big.Rat).Quo(n, of).IsInt()
	}
	if values, ok := p.values(ns); ok {
		return !slices.ContainsFunc(values, func(v node) bool { return v.Type()&jsonschema.Number != 0 && !divides(v) })
	}
	if slices.ContainsFunc(ns, func(n node) bool { return divides(n.Get("multipleOf")) }) {
		return true
	}
	return p.types(ns, 0)&jsonschema.Fraction == 0 && of.Num().IsInt64() && of.Num().Int64() == 1
}

// elements shows the schemas of an array's elements, place by place.
func (p *proof) elements(ns []node, w node, depth int) bool {
	most := 0
	for _, n := range append([]node{w}, ns...) {
		first, _ := jsonschema.Tuple(n)
		most = max(most, len(first))
	}
	if p.steps += most; p.steps > maxSteps {
		return false
	}
	at := func(n node, i int) node {
		first, rest := jsonschema.Tuple(n)
		if i < len(first) {
			return first[i]
		}
		return orAny(rest)
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

// property returns the schemas that the value of a property fits. open reports that no schema of ns restricts undeclared properties.
func (p *proof) property(ns []node, name string) (fit []node, open bool) {
	open = true
	for _, n := range ns {
		schema := n.Get("properties").Get(name)
		others := n.Get("additionalProperties")
		declared, patterns, said := schema != nil, n.Has("patternProperties"), others != nil
		switch {
		case declared:
			fit = append(fit, p.conjuncts(schema, 0)...)
		case patterns:
		case said:
			fit = append(fit, p.conjuncts(others, 0)...)
		}
		open = open && !declared && !patterns && !said && !n.Has("unevaluatedProperties", "propertyNames")
	}
	return fit, open
}

func (p *proof) properties(ns []node, w node, depth int) bool {
	if !isObject(w.Get("properties")) {
		return false
	}
	declares := p.empty(ns) || len(names(ns, "properties")) > 0 // other objects are free in form
	for _, m := range w.Get("properties").Sorted() {
		fit, open := p.property(ns, m.Key)
		if open && declares && p.input && !p.says(ns, m.Key) {
			continue // nobody has sent it
		}
		if !p.value(fit, m.Value, depth+1) {
			return false
		}
	}
	return true
}

// empty reports whether ns are the input of a tool that takes nothing.
func (p *proof) empty(ns []node) bool {
	if !p.input || len(ns) != 1 || ns[0] != p.narrow {
		return false
	}
	return !slices.ContainsFunc(ns[0].Members, func(m jsonschema.Member) bool {
		nothing := (m.Key == "properties" || m.Key == "required") && len(m.Value.Members)+len(m.Value.Items) == 0
		return !isAnnotation(m.Key) && m.Key != "type" && !nothing
	})
}

// says reports whether ns mention a property other than by declaring it.
func (p *proof) says(ns []node, name string) bool {
	return slices.ContainsFunc(ns, func(n node) bool {
		return slices.ContainsFunc([]string{"required", "anyOf", "oneOf", "if", "then", "else", "not", "dependentSchemas", "dependentRequired", "dependencies"}, func(key string) bool {
			return p.mentions(n.Get(key), name, 0)
		})
	})
}

// mentions reports whether a schema contains, at any depth, the name of a property, a reference, or a rule for undeclared properties.
func (p *proof) mentions(v node, name string, depth int) bool {
	if p.steps++; p.steps > maxSteps || depth > maxDepth {
		return true
	}
	if v == nil {
		return false
	}
	return v.Kind == jsonschema.KindString && v.Text == name ||
		slices.ContainsFunc(v.Items, func(inner node) bool { return p.mentions(inner, name, depth+1) }) ||
		slices.ContainsFunc(v.Members, func(m jsonschema.Member) bool {
			return m.Key == name || m.Key == "$ref" || m.Key == "patternProperties" || m.Key == "additionalProperties" && !isBool(m.Value, false) || p.mentions(m.Value, name, depth+1)
		})
}

// properties returns the properties that a schema declares.
func properties(n node) []jsonschema.Member {
	if p := n.Get("properties"); isObject(p) {
		return p.Members
	}
	return nil
}

// orAny returns a schema, or the one that accepts anything if there is none.
func orAny(schema node) node {
	if schema == nil {
		return jsonschema.Truth(true)
	}
	return schema
}

// names returns the keys of a keyword of ns: "properties" or "patternProperties".
func names(ns []node, key string) map[string]bool {
	out := map[string]bool{}
	for _, n := range ns {
		if declared := n.Get(key); declared != nil {
			for _, m := range declared.Members {
				out[m.Key] = true
			}
		}
	}
	return out
}

// undeclared returns the schemas for the values of properties that ns neither declare nor match by a pattern.
func (p *proof) undeclared(ns []node) []node {
	var fit []node
	for _, n := range ns {
		fit = append(fit, p.conjuncts(n.Get("additionalProperties"), 0)...)
	}
	return fit
}

// matching returns the schemas for the values of properties whose names match a pattern.
func (p *proof) matching(ns []node, pattern string) (fit []node, known bool) {
	for _, n := range ns {
		if schema := n.Get("patternProperties").Get(pattern); schema != nil {
			fit, known = append(fit, p.conjuncts(schema, 0)...), true
		}
	}
	return fit, known
}

// additional shows the schema that w has for properties that it does not declare.
func (p *proof) additional(ns []node, w node, depth int) bool {
	others := w.Get("additionalProperties")
	if isBool(others, false) && p.empty(ns) {
		return true
	}
	for name := range names(ns, "properties") {
		if w.Get("properties").Has(name) {
			continue
		}
		if fit, _ := p.property(ns, name); !p.value(fit, others, depth+1) {
			return false
		}
	}
	for pattern := range names(ns, "patternProperties") {
		if w.Get("patternProperties").Has(pattern) {
			continue
		}
		if fit, _ := p.matching(ns, pattern); !p.value(fit, others, depth+1) {
			return false
		}
	}
	return p.value(p.undeclared(ns), others, depth+1)
}

// patterns shows the schemas that w has for properties whose names match a pattern.
func (p *proof) patterns(ns []node, w node, depth int) bool {
	patterns := w.Get("patternProperties")
	if !isObject(patterns) {
		return false
	}
	for _, m := range patterns.Members {
		pattern, schema := m.Key, m.Value
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
	must, ok := list(w, "required")
	if p.steps += len(must); !ok || p.steps > maxSteps {
		return false
	}
	return !slices.ContainsFunc(must, func(name node) bool { return !p.always(ns, name) })
}

// always reports whether ns require a property.
func (p *proof) always(ns []node, name node) bool {
	return slices.ContainsFunc(ns, func(n node) bool {
		return slices.ContainsFunc(n.Get("required").Elements(), func(must node) bool { return jsonschema.Equal(must, name) })
	})
}

// Disjoint reports whether no value can fit two of the alternatives: they accept different types, list different values, or require
// different values of one property. Like a proof it is one-sided. root is their document, and steps the work that it took.
func Disjoint(root *jsonschema.Value, alternatives []*jsonschema.Value) (shown bool, steps int) {
	p := &proof{narrow: root}
	return p.disjoint(alternatives), p.steps
}

// disjoint is [Disjoint] for alternatives in the narrow document.
func (p *proof) disjoint(alternatives []node) bool {
	fits := make([][]node, len(alternatives))
	for i, a := range alternatives {
		fits[i] = p.conjuncts(a, 0)
		if slices.ContainsFunc(fits[i], func(n node) bool { return n.Is("nullable", true) }) {
			return false // types leaves out the null that it adds
		}
	}
	for i := range fits {
		for j := range i {
			if p.types(fits[i], 0)&p.types(fits[j], 0) != 0 && !p.apart(fits[i], fits[j]) {
				return false
			}
		}
	}
	return true
}

// apart reports whether a and b list different values, or are objects that require different values of one property.
func (p *proof) apart(a, b []node) bool {
	differ := func(x, y []node) bool {
		old, okA := p.values(x)
		now, okB := p.values(y)
		return okA && okB && !slices.ContainsFunc(old, func(v node) bool { return p.within([]node{v}, now) }) && p.steps <= maxSteps
	}
	if differ(a, b) {
		return true
	}
	if p.types(a, 0)|p.types(b, 0) != jsonschema.Object {
		return false
	}
	for name := range names(a, "properties") {
		must := jsonschema.Text(name)
		x, _ := p.property(a, name)
		y, _ := p.property(b, name)
		if p.always(a, must) && p.always(b, must) && differ(x, y) {
			return true
		}
	}
	return false
}
