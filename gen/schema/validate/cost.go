package validate

import (
	"fmt"

	"github.com/mcpgen/mcpgen/gen/jsonschema"
)

const (
	// maxCost bounds how many pairs of schema and value the library may have to visit.
	maxCost = 2_000_000
	// maxPairs bounds the table of known costs.
	maxPairs = 500_000
)

// checkCost computes the cost of a check in steps, and refuses one that could take exponential time: references let a
// schema of a few lines repeat the same check. Each pair of schema and value is computed once.
func checkCost(schema *jsonschema.Document, instance *jsonschema.Value) (int, error) {
	m := &meter{schema: schema, memo: map[pair]int{}}
	cost := m.cost(schema.Root, instance, schema.Starts[schema.Root])
	if cost > maxCost || m.over {
		return 0, fmt.Errorf("%w: more than %d steps", ErrTooCostly, maxCost)
	}
	return cost, nil
}

type pair struct{ schema, instance *jsonschema.Value }

type meter struct {
	schema *jsonschema.Document
	memo   map[pair]int
	over   bool
}

// cost returns the cost of checking v against s, whose references are relative to the resource base.
func (m *meter) cost(s, v *jsonschema.Value, base *jsonschema.Resource) int {
	if s == nil || s.Kind != jsonschema.KindObject || m.over {
		return 1
	}
	if res := m.schema.Starts[s]; res != nil {
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
	m.memo[key] = 1 // ends a loop of references, which the compiler refuses
	total := 1
	add := func(n int) {
		if total += n; total > maxCost {
			total = maxCost + 1
			m.over = true
		}
	}
	for _, k := range s.Members {
		switch k.Key {
		case "$ref", "$dynamicRef", "$recursiveRef":
			to, err := m.schema.Resolve(k.Value.Text, base)
			if err != nil { // the library resolved it, to a schema of its own, whose cost is unknown
				m.over = true
			}
			add(m.cost(to.Target, v, to.Res))
		case "allOf", "anyOf", "oneOf":
			for _, sub := range k.Value.Items {
				add(m.cost(sub, v, base))
			}
		case "not", "if", "then", "else":
			add(m.cost(k.Value, v, base))
		case "dependentSchemas", "dependencies":
			for _, sub := range k.Value.Members {
				add(m.cost(sub.Value, v, base))
			}
		default:
			add(m.children(k, v, base))
		}
	}
	m.memo[key] = total
	return total
}

// children returns the cost of a keyword that applies schemas to parts of v.
func (m *meter) children(k jsonschema.Member, v *jsonschema.Value, base *jsonschema.Resource) int {
	total := 0
	switch k.Key {
	case "properties":
		for _, sub := range k.Value.Members {
			if child := v.Get(sub.Key); child != nil {
				total += m.cost(sub.Value, child, base)
			}
		}
	case "patternProperties":
		for _, sub := range k.Value.Members {
			for _, child := range v.Members {
				total += m.cost(sub.Value, child.Value, base)
			}
		}
	case "additionalProperties", "unevaluatedProperties", "propertyNames":
		for _, child := range v.Members {
			total += m.cost(k.Value, child.Value, base)
		}
	case "items", "prefixItems":
		if k.Value.Kind == jsonschema.KindArray {
			for i := 0; i < len(k.Value.Items) && i < len(v.Items); i++ {
				total += m.cost(k.Value.Items[i], v.Items[i], base)
			}
			break
		}
		fallthrough
	case "additionalItems", "unevaluatedItems", "contains":
		for _, child := range v.Items {
			total += m.cost(k.Value, child, base)
		}
	case "uniqueItems":
		total += len(v.Items) * len(v.Items) / 50 // comparing two values is cheaper than a step
	case "enum":
		total += len(k.Value.Items)
	}
	return total
}
