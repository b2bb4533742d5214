package schema

import (
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/jsonschema"
)

const (
	// maxExamples bounds how many examples are listed.
	maxExamples = 3
	// maxLabel bounds the properties by which an alternative is known.
	maxLabel = 3
	// maxFollowed bounds the references that are followed for documentation, and maxFollowing how many lead from one to
	// the next.
	maxFollowed, maxFollowing = 2_000, 8
)

// doc returns what a schema documents beside its type: about itself, and about parts that have no name in a type, which are
// elements, values of a map, and the alternatives of a union.
func (c *converter) doc(v *jsonschema.Value) ir.Doc { return c.docOf(v, false) }

// docOf is like doc. If merged is set, the type of v is a part of another one, and no definition is left that could say
// what v refers to.
func (c *converter) docOf(v *jsonschema.Value, merged bool) ir.Doc {
	d := ir.Doc{Title: v.Str("title"), Description: v.Str("description"), Deprecated: v.Is("deprecated", true)}
	d.Limits = limitsOf(v)
	all, ref := v.Get("allOf").Elements(), v.Get("$ref")
	merged = merged || len(all) > 1 || (len(all) > 0 && ref != nil) || v.Has("properties", "additionalProperties", "anyOf", "oneOf", "enum", "const")
	if ref != nil && merged {
		d.Add(c.referred(v, ref))
	}
	for _, part := range all {
		d.Add(c.docOf(part, merged))
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		c.addAlternatives(&d, v.Get(keyword).Elements())
	}
	c.addParts(&d, v)
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if text := requiredGroups(v.Get(keyword)); text != "" && v.Get("properties") != nil {
			d.Limits = append(d.Limits, text)
		}
	}
	return d
}

// referred returns the documentation of what v refers to.
func (c *converter) referred(v, ref *jsonschema.Value) ir.Doc {
	home, known := c.source.Homes[v]
	if c.followed++; c.followed > maxFollowed || c.following >= maxFollowing || !known || ref.Kind != jsonschema.KindString {
		return ir.Doc{}
	}
	to, err := c.source.Resolve(ref.Text, home.Res)
	if err != nil {
		return ir.Doc{}
	}
	c.following++
	defer func() { c.following-- }()
	return c.docOf(to.Target, true)
}

// addAlternatives adds the documentation of the alternatives of an anyOf or oneOf. A single alternative beside null documents d itself.
func (c *converter) addAlternatives(d *ir.Doc, branches []*jsonschema.Value) {
	var others []*jsonschema.Value
	for _, b := range branches {
		if b.Str("type") != "null" {
			others = append(others, b)
		} else if text := c.summary(b); text != "" {
			d.Limits = append(d.Limits, "null: "+text)
		}
	}
	if len(others) == 1 {
		inner := c.doc(others[0])
		d.AddDescription(inner.Description)
		d.Limits = append(inner.Limits, d.Limits...)
		return
	}
	for _, b := range others {
		if text := c.alternative(b); text != "" && text != d.Description {
			d.Limits = append(d.Limits, text)
		}
	}
}

// addParts adds what is said of elements, and of the names and values of properties that are not declared.
func (c *converter) addParts(d *ir.Doc, v *jsonschema.Value) {
	add := func(name string, part *jsonschema.Value) {
		if part != nil && part.Kind == jsonschema.KindObject {
			if text := c.summary(part); text != "" {
				d.Limits = append(d.Limits, name+text)
			}
		}
	}
	first, each := v.Get("prefixItems"), v.Get("items")
	if each != nil && each.Kind == jsonschema.KindArray {
		first, each = each, v.Get("additionalItems")
	}
	name := "each: "
	if first != nil && first.Kind == jsonschema.KindArray {
		name = "others: "
		for i, item := range first.Items {
			add(position(i), item)
		}
	}
	add(name, each)
	add("values: ", v.Get("additionalProperties"))
	if patterns := v.Get("patternProperties"); patterns != nil {
		for _, m := range patterns.Members {
			d.Limits = append(d.Limits, strings.TrimSuffix("keys match "+jsonschema.Clip(m.Key)+": "+c.summary(m.Value), ": "))
		}
	}
	add("keys: ", v.Get("propertyNames"))
}

// position stands before what is said of an element.
func position(i int) string { return "[" + strconv.Itoa(i) + "]: " }

// summary returns the documentation of a schema as one phrase.
func (c *converter) summary(v *jsonschema.Value) string { return phrase(c.doc(v)) }

func phrase(d ir.Doc) string {
	parts := d.Limits
	if d.Description != "" {
		parts = append([]string{d.Description}, parts...)
	}
	return strings.Join(parts, ", ")
}

// alternative returns the documentation of one of several members of a union, after what distinguishes it.
func (c *converter) alternative(v *jsonschema.Value) string {
	text := c.summary(v)
	values := constants(v)
	if title := v.Str("title"); len(values) == 1 && text == "" && title != "" && !strings.EqualFold(title, values[0].Text) {
		text = title
	}
	return labelled(v, text)
}

// labelled puts before a text, unless that is empty, what distinguishes the values of v: its constants, the constant of a
// property, else its properties or its kind.
func labelled(v *jsonschema.Value, text string) string {
	if text == "" {
		return ""
	}
	if values := constants(v); len(values) > 0 {
		return listed(values) + ": " + text
	}
	var names []string
	if properties := v.Get("properties"); properties != nil {
		for _, m := range properties.Members {
			if values := constants(m.Value); len(values) == 1 {
				return m.Key + " " + listed(values) + ": " + text
			}
			names = append(names, jsonschema.Clip(m.Key))
		}
	}
	if len(names) > maxLabel {
		names = append(names[:maxLabel], "…")
	}
	kind := v.Str("type")
	switch {
	case len(names) > 0:
		return "{" + strings.Join(names, ", ") + "}: " + text
	case kind == "" || strings.Contains(strings.ToLower(text), kind):
		return text
	}
	return kind + ": " + text
}

// constants returns the values of a const or an enum.
func constants(v *jsonschema.Value) []*jsonschema.Value {
	if constant := v.Get("const"); constant != nil {
		return []*jsonschema.Value{constant}
	}
	if list := v.Get("enum"); list != nil {
		return list.Elements()
	}
	return nil
}

// listed writes constants as the type does.
func listed(values []*jsonschema.Value) string {
	var out []string
	for _, v := range values {
		out = append(out, jsonschema.Short(v))
	}
	return jsonschema.Clip(strings.Join(out, "|"))
}

// limitsOf returns a schema's own bounds as short phrases.
func limitsOf(v *jsonschema.Value) []string {
	var out []string
	add := func(s string) {
		if s != "" {
			out = append(out, s)
		}
	}
	add(jsonschema.NumberBounds(v))
	if pastSafe(v) {
		add("may exceed 2^53")
	}
	add(jsonschema.Prefixed("multiple of ", jsonschema.Short(v.Get("multipleOf"))))
	add(jsonschema.LengthBounds(v, "minLength", "maxLength", " characters"))
	for _, limit := range textLimits(v) {
		add(limit)
	}
	if encoding := v.Str("contentEncoding"); encoding != v.Str("format") {
		add(jsonschema.Prefixed("encoding ", jsonschema.Clip(encoding)))
	}
	add(jsonschema.Prefixed("media type ", jsonschema.Clip(v.Str("contentMediaType"))))
	add(jsonschema.LengthBounds(v, "minItems", "maxItems", " items"))
	if v.Is("uniqueItems", true) {
		add("no repeats")
	}
	add(jsonschema.LengthBounds(v, "minProperties", "maxProperties", " properties"))
	var wide []*jsonschema.Value // constants that no type is
	for _, value := range constants(v) {
		if value.Kind == jsonschema.KindNumber && !exactInBoth(value.Text) {
			wide = append(wide, value)
		}
	}
	add(jsonschema.Prefixed("one of ", listed(wide)))
	if value := v.Get("default"); value != nil && value.Kind != jsonschema.KindNull { // null means the same as an absent property
		add("default " + jsonschema.Short(value))
	}
	if examples := v.Get("examples"); examples != nil && examples.Kind == jsonschema.KindArray && len(examples.Items) > 0 {
		var all []string
		for _, e := range examples.Items[:min(len(examples.Items), maxExamples)] {
			all = append(all, jsonschema.Short(e))
		}
		add("e.g. " + strings.Join(all, ", "))
	}
	return out
}

// pastSafe reports whether a schema allows integers that a float64 cannot hold exactly.
func pastSafe(v *jsonschema.Value) bool {
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
		} else if len(digits) > len(jsonschema.SafeMax) || (len(digits) == len(jsonschema.SafeMax) && digits > "9007199254740992") {
			return true
		}
	}
	return false
}

// requiredGroups returns a phrase for branches that only require properties, or "" if a branch does anything else.
func requiredGroups(branches *jsonschema.Value) string {
	if branches == nil || branches.Kind != jsonschema.KindArray {
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
			names = append(names, jsonschema.Clip(item.Text))
		}
		groups = append(groups, strings.Join(names, " and "))
	}
	return jsonschema.Prefixed("needs ", strings.Join(groups, ", or "))
}
