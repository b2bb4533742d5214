package soundness

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/mcpgen/mcpgen/gen/schema/validate"
)

const (
	// maxAccepted and maxRefused bound the values of one case.
	maxAccepted = 40
	maxRefused  = 100
	// maxMutated bounds the accepted values that are mutated.
	maxMutated = 16
)

// Fill adds values to a case: accepted values that cover each property, literal, alternative and length, and refused
// values that differ from an accepted one in one place. The validator decides which is which. If it cannot compile the
// schema, Fill sets NoValidate and adds no values.
func Fill(c *Case) error {
	root, err := decode(c.Schema)
	if err != nil {
		return fmt.Errorf("%s: %w", c.ID(), err)
	}
	g := &generator{flattener: newFlattener(root)}
	if o, ok := root.(object); ok {
		g.draft, _ = o["$schema"].(string)
	}
	validator, err := validate.Compile(c.Schema)
	if err != nil {
		c.NoValidate = true
		return nil
	}
	var accepted []any
	for _, v := range g.values(root, 0) {
		if fits, known := classify(validator, v); known && fits {
			accepted = append(accepted, v)
		}
	}
	accepted = covering(accepted, maxAccepted)
	c.Accept = encodeAll(accepted)

	m := &mutator{flattener: g.flattener, seen: map[string]bool{}, ways: map[string]string{}, onlyTS: map[string]bool{}}
	alternatives := g.flat(root)
	// The fullest values have the most places.
	byLength := slices.Clone(accepted)
	slices.SortStableFunc(byLength, func(a, b any) int { return len(encode(b)) - len(encode(a)) })
	for _, v := range byLength[:min(len(byLength), maxMutated)] {
		m.mutate(v, alternatives, "", func(x any) any { return x }, 0)
	}
	var refused []any
	for _, v := range distinct(m.out) {
		if fits, known := classify(validator, v); known && !fits {
			refused = append(refused, v)
		}
	}
	c.Ways = m.ways
	for _, value := range encodeAll(spread(refused, maxRefused)) {
		if m.onlyTS[string(value)] {
			c.RefuseTS = append(c.RefuseTS, value)
		} else {
			c.Refuse = append(c.Refuse, value)
		}
	}
	return nil
}

// covering returns at most most values. Each has a kind in a place, or a scalar, that no earlier value has.
func covering(values []any, most int) []any {
	var out []any
	seen := map[string]bool{}
	for _, v := range values {
		before := len(seen)
		features(v, "", seen)
		if len(seen) > before && len(out) < most {
			out = append(out, v)
		}
	}
	return out
}

// features adds the kinds and scalars of v, with their places, to seen.
func features(v any, at string, seen map[string]bool) {
	switch v := v.(type) {
	case object:
		seen[fmt.Sprintf("%s{%t", at, len(v) == 0)] = true
		for name, sub := range v {
			features(sub, at+"/"+name, seen)
		}
	case []any:
		seen[fmt.Sprintf("%s[%d", at, min(len(v), 3))] = true
		for _, sub := range v {
			features(sub, at+"/*", seen)
		}
	default:
		seen[at+" "+string(encode(v))] = true
	}
}

// spread returns at most most values, evenly spaced.
func spread(values []any, most int) []any {
	if len(values) <= most {
		return values
	}
	out := make([]any, most)
	for i := range out {
		out[i] = values[i*len(values)/most]
	}
	return out
}

func encodeAll(values []any) []json.RawMessage {
	out := make([]json.RawMessage, len(values))
	for i, v := range values {
		out[i] = encode(v)
	}
	return out
}

// classify reports whether v fits its schema. known is false if the validator could not decide.
func classify(validator *validate.Validator, v any) (fits, known bool) {
	err := validator.Validate(encode(v))
	var invalid *validate.ValidationError
	return err == nil, err == nil || errors.As(err, &invalid)
}
