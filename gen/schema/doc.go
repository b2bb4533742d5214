package schema

import (
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ir"
)

const (
	maxShown = 100 // bytes of a default, an example or a pattern
	// Bounds of exact integers in JavaScript: generators add them to every integer, and they tell nothing.
	safeMin, safeMax = "-9007199254740991", "9007199254740991"
)

// doc collects what a schema says beside its type.
func (c *converter) doc(v *value) ir.Doc {
	d := ir.Doc{Title: v.str("title"), Description: v.str("description"), Deprecated: v.is("deprecated", true)}
	d.Limits = limits(v)
	if inner := soleBranch(v); inner != nil {
		if d.Description == "" {
			d.Description = inner.str("description")
		}
		d.Limits = append(limits(inner), d.Limits...)
	}
	if items := v.get("items"); items != nil && items.kind == kindObject {
		each := limits(items)
		if text := items.str("description"); text != "" {
			each = append([]string{text}, each...)
		}
		if len(each) > 0 {
			d.Limits = append(d.Limits, "each: "+strings.Join(each, ", "))
		}
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if text := requiredGroups(v.get(keyword)); text != "" && v.get("properties") != nil {
			d.Limits = append(d.Limits, text)
		}
	}
	return d
}

// soleBranch returns the one schema of an anyOf or oneOf that is not null's.
func soleBranch(v *value) *value {
	branches := v.get("anyOf")
	if branches == nil {
		branches = v.get("oneOf")
	}
	if branches == nil || branches.kind != kindArray {
		return nil
	}
	var sole *value
	for _, b := range branches.items {
		if b.str("type") == "null" {
			continue
		}
		if sole != nil {
			return nil
		}
		sole = b
	}
	return sole
}

// limits lists a schema's own bounds, in short phrases.
func limits(v *value) []string {
	var out []string
	add := func(s string) {
		if s != "" {
			out = append(out, s)
		}
	}
	add(interval(v))
	if pastSafe(v) {
		add("may exceed 2^53")
	}
	add(prefixed("multiple of ", shown(v.get("multipleOf"))))
	add(counted(v, "minLength", "maxLength", " characters"))
	add(prefixed("pattern ", clip(v.str("pattern"))))
	add(prefixed("format ", clip(v.str("format"))))
	add(prefixed("encoding ", clip(v.str("contentEncoding"))))
	add(prefixed("media type ", clip(v.str("contentMediaType"))))
	add(counted(v, "minItems", "maxItems", " items"))
	if v.is("uniqueItems", true) {
		add("no repeats")
	}
	add(counted(v, "minProperties", "maxProperties", " properties"))
	if patterns := v.get("patternProperties"); patterns != nil {
		for _, m := range patterns.members {
			add(prefixed("keys match ", clip(m.key)))
		}
	}
	add(prefixed("default ", shown(v.get("default"))))
	if examples := v.get("examples"); examples != nil && examples.kind == kindArray && len(examples.items) > 0 {
		add(prefixed("e.g. ", shown(examples.items[0])))
	}
	return out
}

func interval(v *value) string {
	low, high := number(v, "minimum"), number(v, "maximum")
	above, below := number(v, "exclusiveMinimum"), number(v, "exclusiveMaximum")
	if v.is("exclusiveMinimum", true) { // draft 4
		low, above = "", low
	}
	if v.is("exclusiveMaximum", true) {
		high, below = "", high
	}
	if low == safeMin {
		low = ""
	}
	if high == safeMax {
		high = ""
	}
	if low != "" && high != "" {
		return low + ".." + high
	}
	var parts []string
	for _, p := range []string{prefixed(">= ", low), prefixed("> ", above), prefixed("<= ", high), prefixed("< ", below)} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, " and ")
}

// pastSafe reports whether a schema says that its integers may be larger than a double-precision number holds exactly.
func pastSafe(v *value) bool {
	integer := v.str("type") == "integer"
	if list := v.get("type"); list != nil {
		for _, t := range list.items {
			integer = integer || t.text == "integer"
		}
	}
	switch v.str("format") {
	case "int64", "uint64", "int128", "uint128", "bigint":
		return integer || v.str("type") == "number"
	}
	if !integer {
		return false
	}
	for _, keyword := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "const", "default"} {
		text := strings.TrimPrefix(number(v, keyword), "-")
		digits, _, _ := strings.Cut(text, ".")
		if strings.ContainsAny(text, "eE") {
			f, err := strconv.ParseFloat(text, 64)
			if err != nil || f > 1<<53 {
				return true
			}
		} else if len(digits) > len(safeMax) || (len(digits) == len(safeMax) && digits > "9007199254740992") {
			return true
		}
	}
	return false
}

func counted(v *value, least, most, unit string) string {
	low, high := number(v, least), number(v, most)
	switch {
	case low != "" && low == high:
		return low + unit
	case low != "" && low != "0" && high != "":
		return low + ".." + high + unit
	case high != "":
		return "at most " + high + unit
	case low != "" && low != "0":
		return "at least " + low + unit
	}
	return ""
}

func requiredGroups(branches *value) string {
	if branches == nil || branches.kind != kindArray {
		return ""
	}
	var groups []string
	for _, b := range branches.items {
		list := b.get("required")
		if list == nil || len(list.items) == 0 || b.get("properties") != nil {
			return ""
		}
		var names []string
		for _, item := range list.items {
			names = append(names, clip(item.text))
		}
		groups = append(groups, strings.Join(names, " and "))
	}
	return prefixed("needs ", strings.Join(groups, ", or "))
}

func number(v *value, key string) string {
	if n := v.get(key); n != nil && n.kind == kindNumber {
		return clip(n.text)
	}
	return ""
}

func shown(v *value) string {
	if v == nil {
		return ""
	}
	return clip(string(v.appendJSON(nil)))
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

// clip cuts s at a character boundary.
func clip(s string) string {
	if len(s) <= maxShown {
		return s
	}
	cut := maxShown
	for cut > 0 && s[cut]&0xC0 == 0x80 {
		cut--
	}
	return s[:cut] + "…"
}
