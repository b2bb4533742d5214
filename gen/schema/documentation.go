package schema

import (
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/schema/internal/document"
)

const (
	// maxExamples bounds how many examples are listed.
	maxExamples = 3
)

// doc returns what a schema documents beside its type: about itself, and about parts that have no name in a type, which are
// elements, values of a map, and the alternatives of a union.
func (c *converter) doc(v *document.Value) ir.Doc {
	d := ir.Doc{Title: v.Str("title"), Description: v.Str("description"), Deprecated: v.Is("deprecated", true)}
	d.Limits = limitsOf(v)
	branches := alternatives(v)
	if len(branches) == 1 {
		inner := c.doc(branches[0])
		d.AddDescription(inner.Description)
		d.Limits = append(inner.Limits, d.Limits...)
	} else {
		for _, b := range branches {
			if text := c.alternative(b); text != "" && text != d.Description {
				d.Limits = append(d.Limits, text)
			}
		}
	}
	for _, part := range []struct{ keyword, name string }{{"items", "each"}, {"additionalProperties", "values"}} {
		if inner := v.Get(part.keyword); inner != nil && inner.Kind == document.KindObject {
			if text := c.summary(inner); text != "" {
				d.Limits = append(d.Limits, part.name+": "+text)
			}
		}
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if text := requiredGroups(v.Get(keyword)); text != "" && v.Get("properties") != nil {
			d.Limits = append(d.Limits, text)
		}
	}
	return d
}

// summary returns the documentation of a schema as one phrase.
func (c *converter) summary(v *document.Value) string { return phrase(c.doc(v)) }

func phrase(d ir.Doc) string {
	parts := d.Limits
	if d.Description != "" {
		parts = append([]string{d.Description}, parts...)
	}
	return strings.Join(parts, ", ")
}

// alternative returns the documentation of one member of a union, after its constant if it has one.
func (c *converter) alternative(v *document.Value) string {
	constant := v.Get("const")
	if list := v.Get("enum"); constant == nil && list != nil && len(list.Items) == 1 {
		constant = list.Items[0]
	}
	text := c.summary(v)
	if constant != nil && text == "" && v.Str("title") != "" && !strings.EqualFold(v.Str("title"), constant.Text) {
		text = v.Str("title")
	}
	if constant != nil && text != "" {
		return document.Short(constant) + ": " + text
	}
	return text
}

// alternatives returns the schemas of an anyOf or oneOf without the one of null.
func alternatives(v *document.Value) []*document.Value {
	branches := v.Get("anyOf")
	if branches == nil {
		branches = v.Get("oneOf")
	}
	if branches == nil || branches.Kind != document.KindArray {
		return nil
	}
	var out []*document.Value
	for _, b := range branches.Items {
		if b.Str("type") != "null" {
			out = append(out, b)
		}
	}
	return out
}

// limitsOf returns a schema's own bounds as short phrases.
func limitsOf(v *document.Value) []string {
	var out []string
	add := func(s string) {
		if s != "" {
			out = append(out, s)
		}
	}
	add(document.NumberBounds(v))
	if pastSafe(v) {
		add("may exceed 2^53")
	}
	add(document.Prefixed("multiple of ", document.Short(v.Get("multipleOf"))))
	add(document.LengthBounds(v, "minLength", "maxLength", " characters"))
	for _, limit := range textLimits(v) {
		add(limit)
	}
	if encoding := v.Str("contentEncoding"); encoding != v.Str("format") {
		add(document.Prefixed("encoding ", document.Clip(encoding)))
	}
	add(document.Prefixed("media type ", document.Clip(v.Str("contentMediaType"))))
	add(document.LengthBounds(v, "minItems", "maxItems", " items"))
	if v.Is("uniqueItems", true) {
		add("no repeats")
	}
	add(document.LengthBounds(v, "minProperties", "maxProperties", " properties"))
	if patterns := v.Get("patternProperties"); patterns != nil {
		for _, m := range patterns.Members {
			add(document.Prefixed("keys match ", document.Clip(m.Key)))
		}
	}
	if value := v.Get("default"); value != nil && value.Kind != document.KindNull { // null means the same as an absent property
		add("default " + document.Short(value))
	}
	if examples := v.Get("examples"); examples != nil && examples.Kind == document.KindArray && len(examples.Items) > 0 {
		var all []string
		for _, e := range examples.Items[:min(len(examples.Items), maxExamples)] {
			all = append(all, document.Short(e))
		}
		add("e.g. " + strings.Join(all, ", "))
	}
	return out
}

// pastSafe reports whether a schema allows integers beyond those that a float64 holds exactly.
func pastSafe(v *document.Value) bool {
	integer := v.Str("type") == "integer"
	if list := v.Get("type"); list != nil {
		for _, t := range list.Items {
			integer = integer || t.Text == "integer"
		}
	}
	switch v.Str("format") {
	case "int64", "uint64", "int128", "uint128", "bigint":
		return integer || v.Str("type") == "number"
	}
	if !integer {
		return false
	}
	for _, keyword := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "const", "default"} {
		text := strings.TrimPrefix(v.Number(keyword), "-")
		digits, _, _ := strings.Cut(text, ".")
		if strings.ContainsAny(text, "eE") {
			f, err := strconv.ParseFloat(text, 64)
			if err != nil || f > 1<<53 {
				return true
			}
		} else if len(digits) > len(document.SafeMax) || (len(digits) == len(document.SafeMax) && digits > "9007199254740992") {
			return true
		}
	}
	return false
}

// requiredGroups returns a phrase for branches of which each only requires properties, or "" for others.
func requiredGroups(branches *document.Value) string {
	if branches == nil || branches.Kind != document.KindArray {
		return ""
	}
	var groups []string
	for _, b := range branches.Items {
		list := b.Get("required")
		if list == nil || len(list.Items) == 0 || b.Get("properties") != nil {
			return ""
		}
		var names []string
		for _, item := range list.Items {
			names = append(names, document.Clip(item.Text))
		}
		groups = append(groups, strings.Join(names, " and "))
	}
	return document.Prefixed("needs ", strings.Join(groups, ", or "))
}
