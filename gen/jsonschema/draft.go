package jsonschema

import (
	"slices"
	"strings"
)

// Draft is a version of JSON Schema. Later drafts are greater.
type Draft int

// The drafts. Draft 3 is read as draft 4.
const (
	DraftUnknown Draft = iota
	Draft04
	Draft06
	Draft07
	Draft201909
	Draft202012
)

// URI returns the $schema of a draft, or "" for DraftUnknown.
func (d Draft) URI() string {
	return [...]string{
		Draft04:     "http://json-schema.org/draft-04/schema#",
		Draft06:     "http://json-schema.org/draft-06/schema#",
		Draft07:     "http://json-schema.org/draft-07/schema#",
		Draft201909: "https://json-schema.org/draft/2019-09/schema",
		Draft202012: "https://json-schema.org/draft/2020-12/schema",
	}[d]
}

// DraftByURI returns the draft of a $schema, with either scheme and of the hyper-schema too.
func DraftByURI(uri string) Draft {
	uri = strings.TrimSuffix(strings.TrimSuffix(uri, "#"), "/")
	uri = strings.TrimPrefix(strings.TrimPrefix(uri, "https://"), "http://")
	uri = strings.Replace(uri, "/hyper-schema", "/schema", 1)
	switch uri {
	case "json-schema.org/schema":
		return Draft202012
	case "json-schema.org/draft-03/schema":
		return Draft04
	}
	drafts := []Draft{Draft04, Draft06, Draft07, Draft201909, Draft202012}
	i := slices.IndexFunc(drafts, func(d Draft) bool {
		_, path, _ := strings.Cut(d.URI(), "://")
		return strings.TrimSuffix(path, "#") == uri
	})
	if i < 0 {
		return DraftUnknown
	}
	return drafts[i]
}

// Attempts returns the drafts to check a schema by, in the order in which to try them: the one of its $schema, and then
// those that its author may have meant. An unknown or missing $schema counts as the newest draft.
func Attempts(root *Value) []Draft {
	switch DraftByURI(root.Str("$schema")) {
	case Draft201909:
		return []Draft{Draft201909, Draft07}
	case Draft07:
		return []Draft{Draft07, Draft202012, Draft04}
	case Draft06:
		return []Draft{Draft06, Draft07, Draft04}
	case Draft04:
		return []Draft{Draft04, Draft07, Draft202012}
	}
	return []Draft{Draft202012, Draft07, Draft04}
}

// DraftOf returns the draft that a root schema is converted by. Without a $schema it is the newest. A schema with signs of an
// older draft is read by that one, as validators do; older then reports whether its $schema names a newer one.
func DraftOf(root *Value) (draft Draft, older bool) {
	uri := root.Get("$schema")
	declared := Draft202012
	if uri != nil {
		declared = DraftUnknown
		if uri.Kind == KindString {
			declared = DraftByURI(uri.Text)
		}
	}
	signs := ageOf(root)
	switch {
	case declared == DraftUnknown:
		return declared, false
	case signs == Draft04:
		return Draft04, declared > Draft04
	case signs == Draft07 && declared > Draft07, signs == Draft201909 && declared > Draft201909:
		return Draft07, true
	}
	return declared, false
}

// ageOf returns the newest draft that a schema can be of. A boolean exclusiveMinimum is a sign of draft 4, an $id that is
// a fragment of draft 7, and a list of items of 2019-09.
func ageOf(v *Value) Draft {
	age := Draft202012
	for _, item := range v.Items {
		age = min(age, ageOf(item))
	}
	for _, m := range v.Members {
		switch m.Key {
		case "enum", "const", "default", "examples", "example":
			continue
		case "exclusiveMinimum", "exclusiveMaximum":
			if m.Value.Kind == KindBool {
				return Draft04
			}
		case "items":
			if m.Value.Kind == KindArray {
				age = min(age, Draft201909)
			}
		case "$id":
			if m.Value.Kind == KindString && strings.HasPrefix(m.Value.Text, "#") && len(m.Value.Text) > 1 {
				age = min(age, Draft07)
			}
		}
		age = min(age, ageOf(m.Value))
	}
	return age
}

// WithDraft returns root with the $schema of a draft.
func WithDraft(root *Value, draft Draft) *Value {
	if root.Kind != KindObject {
		return root
	}
	out := &Value{Kind: KindObject, Members: []Member{{Key: "$schema", Value: &Value{Kind: KindString, Text: draft.URI()}}}}
	for _, m := range root.Members {
		if m.Key != "$schema" {
			out.Members = append(out.Members, m)
		}
	}
	return out
}

// exclusive are the keywords by which draft 4 makes a bound exclusive, by the bound.
var exclusive = map[string]string{"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"}

// Modern returns a copy of a schema in which tuples and exclusive bounds are written as in the newest draft. Its subschemas stay as they
// are.
func Modern(v *Value) *Value {
	out := Record()
	tuple := v.Get("items") != nil && v.Get("items").Kind == KindArray
	for _, m := range v.Members {
		switch m.Key {
		case "prefixItems":
			if tuple {
				continue
			}
		case "items":
			if tuple {
				m.Key = "prefixItems"
			}
		case "additionalItems":
			if !tuple {
				continue
			}
			m.Key = "items"
		case "minimum", "maximum":
			if v.Is(exclusive[m.Key], true) {
				m.Key = exclusive[m.Key]
			}
		case "exclusiveMinimum", "exclusiveMaximum":
			if m.Value.Kind == KindBool {
				continue
			}
		}
		out.Members = append(out.Members, m)
	}
	return out
}
