package schema

import "github.com/mcpgen/mcpgen/gen/ir"

// maxExtends bounds how many schemas are looked at to find what one extends.
const maxExtends = 64

// extends reports whether the schema of a applies that of b to the same value, so that all its values are b's too.
// Without this a recursive schema that extends another recursive one would be met with it at each level anew.
func (c *converter) extends(a, b ir.Ref) bool {
	from, to := c.byName[a.Name], c.byName[b.Name]
	if from == nil || to == nil || from.place.res == nil || from.place.scope != to.place.scope {
		return false
	}
	left := maxExtends
	return c.applies(from.target, to.target, from.place, &left)
}

func (c *converter) applies(v, wanted *value, p place, left *int) bool {
	if *left--; *left < 0 || v.kind != kindObject {
		return false
	}
	if own := c.source.starts[v]; own != nil {
		p.res = own
	}
	if c.enter(p.scope, p.res) != p.scope {
		return false // where a $dynamicRef leads to depends on the way that was taken
	}
	if ref := v.get("$ref"); ref != nil {
		if ref.kind == kindString {
			to, failure := c.source.resolve(ref.text, p.res)
			if failure == "" && (to.target == wanted || c.applies(to.target, wanted, place{res: to.res, scope: p.scope}, left)) {
				return true
			}
		}
		if p.res.draft < draft201909 {
			return false // its siblings do not count
		}
	}
	if all := v.get("allOf"); all != nil && all.kind == kindArray {
		for _, sub := range all.items {
			if c.applies(sub, wanted, p, left) {
				return true
			}
		}
	}
	return false
}
