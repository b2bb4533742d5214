package jsonschema

import (
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// maxShown bounds one default, example or pattern in bytes.
const maxShown = 500

// The bounds of exact integers in JavaScript. Generators write them for every integer, and they tell a reader nothing.
const safeMin, SafeMax = "-9007199254740991", "9007199254740991"

// NumberBounds returns a schema's bounds of a number as a phrase: "1..100", ">= 1 and < 100", or "" without any.
func NumberBounds(v *Value) string {
	low, high := clipped(v, "minimum"), clipped(v, "maximum")
	above, below := clipped(v, "exclusiveMinimum"), clipped(v, "exclusiveMaximum")
	if v.Is("exclusiveMinimum", true) { // draft 4
		low, above = "", low
	}
	if v.Is("exclusiveMaximum", true) {
		high, below = "", high
	}
	if low == safeMin {
		low = ""
	}
	if high == SafeMax {
		high = ""
	}
	if low != "" && high != "" {
		return low + ".." + high
	}
	var parts []string
	for _, p := range []string{Prefixed(">= ", low), Prefixed("> ", above), Prefixed("<= ", high), Prefixed("< ", below)} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, " and ")
}

// LengthBounds returns the bounds of a length as a phrase: "2..5 items", "at most 5 items", or "" without any. least and most are
// keywords, and unit is " items" or another one with its blank.
func LengthBounds(v *Value, least, most, unit string) string {
	low, high := clipped(v, least), clipped(v, most)
	switch {
	case low != "" && low == high:
		return low + unit
	case low != "" && low != "0" && high != "":
		return low + ".." + high + unit
	case high != "":
		return "at most " + high + unit
	case low == "1":
		return "not empty"
	case low != "" && low != "0":
		return "at least " + low + unit
	}
	return ""
}

func clipped(v *Value, key string) string { return Clip(v.Number(key)) }

// Short returns v as JSON, shortened, or "" for nil.
func Short(v *Value) string {
	if v == nil {
		return ""
	}
	return Clip(string(v.AppendJSON(nil)))
}

// Prefixed returns prefix and s, or "" if s is empty.
func Prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

// Clip shortens s to 500 bytes and an ellipsis, at a character boundary.
func Clip(s string) string { return ident.Clip(s, maxShown) }
