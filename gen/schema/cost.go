package schema

import "fmt"

const (
	// maxCost bounds how many pairs of schema and value the library may have to visit, without any short cut.
	maxCost = 2_000_000
	// maxPairs bounds the table that the cost is reckoned with.
	maxPairs = 500_000
)

// checkCost refuses an instance that could take the library exponential time: references let a schema of a few lines
// ask for the same check again and again. The cost is reckoned exactly, each pair of schema and value once, and returned.
func checkCost(schema *document, instance *value) (int, error) {
	m := &meter{schema: schema, memo: map[pair]int{}}
	cost := m.cost(schema.root, instance, schema.starts[schema.root])
	if cost > maxCost || m.over {
		return 0, fmt.Errorf("%w: more than %d steps", ErrTooCostly, maxCost)
	}
	return cost, nil
}

type pair struct{ schema, instance *value }

type meter struct {
	schema *document
	memo   map[pair]int
	over   bool
}

// cost reckons checking v against s, whose references start from the resource base.
func (m *meter) cost(s, v *value, base *resource) int {
	if s == nil || s.kind != kindObject || m.over {
		return 1
	}
	if res := m.schema.starts[s]; res != nil {
		base = res
	}
	key := pair{s, v}
	if known, ok := m.memo[key]; ok {
		return known
	}
	if len(m.memo) >= maxPairs {
		m.over = true
		return 1
	}
	m.memo[key] = 1 // a loop of references ends here; the compiler refuses it
	total := 1
	add := func(n int) {
		if total += n; total > maxCost {
			total = maxCost + 1
			m.over = true
		}
	}
	for _, k := range s.members {
		switch k.key {
		case "$ref", "$dynamicRef", "$recursiveRef":
			to, failure := m.schema.resolve(k.value.text, base)
			if failure != "" { // the library knows it, as it does its own schemas of schemas; what it costs is not known
				m.over = true
			}
			add(m.cost(to.target, v, to.res))
		case "allOf", "anyOf", "oneOf":
			for _, sub := range k.value.items {
				add(m.cost(sub, v, base))
			}
		case "not", "if", "then", "else":
			add(m.cost(k.value, v, base))
		case "dependentSchemas", "dependencies":
			for _, sub := range k.value.members {
				add(m.cost(sub.value, v, base))
			}
		default:
			add(m.children(k, v, base))
		}
	}
	m.memo[key] = total
	return total
}

// children reckons a keyword that describes parts of v.
func (m *meter) children(k member, v *value, base *resource) int {
	total := 0
	switch k.key {
	case "properties":
		for _, sub := range k.value.members {
			if child := v.get(sub.key); child != nil {
				total += m.cost(sub.value, child, base)
			}
		}
	case "patternProperties":
		for _, sub := range k.value.members {
			for _, child := range v.members {
				total += m.cost(sub.value, child.value, base)
			}
		}
	case "additionalProperties", "unevaluatedProperties", "propertyNames":
		for _, child := range v.members {
			total += m.cost(k.value, child.value, base)
		}
	case "items", "prefixItems":
		if k.value.kind == kindArray {
			for i := 0; i < len(k.value.items) && i < len(v.items); i++ {
				total += m.cost(k.value.items[i], v.items[i], base)
			}
			break
		}
		fallthrough
	case "additionalItems", "unevaluatedItems", "contains":
		for _, child := range v.items {
			total += m.cost(k.value, child, base)
		}
	case "uniqueItems":
		total += len(v.items) * len(v.items) / 50 // comparing two values is cheaper than a step
	case "enum":
		total += len(k.value.items)
	}
	return total
}
