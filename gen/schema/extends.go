package schema

import (
	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/jsonschema"
)

// maxExtends bounds how many schemas are visited to find out whether one extends another.
const maxExtends = 64

// extends reports whether the schema of a applies the schema of b to the same value, so that every value of a is a value of b.
// Otherwise a recursive schema that extends another one would be met with it again at each level.
func (c *converter) extends(a, b ir.Ref) bool {
	from, to := c.byName[a.Name], c.byName[b.Name]
	if from == nil || to == nil || from.place.res == nil || from.place.scope != to.place.scope {
		return false
	}
	left := maxExtends
	return c.applies(from.target, to.target, from.place, &left)
}

func (c *converter) applies(v, wanted *jsonschema.Value, p place, left *int) bool {
	if *left--; *left < 0 || v.Kind != jsonschema.KindObject {
		return false
	}
	if own := c.source.Starts[v]; own != nil {
		p.res = own
	}
	if c.enter(p.scope, p.res) != p.scope {
		return false // the target of a $dynamicRef depends on the way that was taken
	}
	if ref := v.Get("$ref"); ref != nil {
		if ref.Kind == jsonschema.KindString {
			to, err := c.source.Resolve(ref.Text, p.res)
			if err == nil && (to.Target == wanted || c.applies(to.Target, wanted, place{res: to.Res, scope: p.scope}, left)) {
				return true
			}
		}
		if p.res.Draft < jsonschema.Draft201909 {
			return false // the keywords beside it have no effect
		}
	}
	if all := v.Get("allOf"); all != nil && all.Kind == jsonschema.KindArray {
		for _, sub := range all.Items {
			if c.applies(sub, wanted, p, left) {
				return true
			}
		}
	}
	return false
}
