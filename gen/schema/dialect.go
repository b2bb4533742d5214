package schema

import "strings"

// draft is a version of JSON Schema, ordered by age.
type draft int

const (
	draftUnknown draft = iota
	draft04
	draft06
	draft07
	draft201909
	draft202012
)

// draftNamed returns the draft that a $schema names.
func draftNamed(uri string) draft {
	uri = strings.TrimSuffix(strings.TrimSuffix(uri, "#"), "/")
	uri = strings.TrimPrefix(strings.TrimPrefix(uri, "https://"), "http://")
	switch uri {
	case "json-schema.org/draft/2020-12/schema", "json-schema.org/schema":
		return draft202012
	case "json-schema.org/draft/2019-09/schema", "json-schema.org/draft/2019-09/hyper-schema":
		return draft201909
	case "json-schema.org/draft-07/schema", "json-schema.org/draft-07/hyper-schema":
		return draft07
	case "json-schema.org/draft-06/schema", "json-schema.org/draft-06/hyper-schema":
		return draft06
	case "json-schema.org/draft-04/schema", "json-schema.org/draft-04/hyper-schema", "json-schema.org/draft-03/schema":
		return draft04
	}
	return draftUnknown
}

// dialectOf returns the draft that a root schema is read as. Without a $schema it is the newest. Where the schema holds
// what only an older one knows, a validator falls back to that one, in which fewer keywords count; so does this.
func dialectOf(root *value) (draft draft, older bool) {
	uri := root.get("$schema")
	declared := draft202012
	if uri != nil {
		declared = draftUnknown
		if uri.kind == kindString {
			declared = draftNamed(uri.text)
		}
	}
	signs := ageOf(root)
	switch {
	case declared == draftUnknown:
		return declared, false
	case signs == draft04:
		return draft04, declared > draft04
	case signs == draft07 && declared > draft07, signs == draft201909 && declared > draft201909:
		return draft07, true
	}
	return declared, false
}

// ageOf returns the newest draft that a schema can be of by its looks: draft 4 where a bound is exclusive by a boolean,
// draft 7 where an $id is a plain name, 2019-09 where items is a list.
func ageOf(v *value) draft {
	age := draft202012
	for _, item := range v.items {
		age = min(age, ageOf(item))
	}
	for _, m := range v.members {
		switch m.key {
		case "enum", "const", "default", "examples", "example":
			continue
		case "exclusiveMinimum", "exclusiveMaximum":
			if m.value.kind == kindBool {
				return draft04
			}
		case "items":
			if m.value.kind == kindArray {
				age = min(age, draft201909)
			}
		case "$id":
			if m.value.kind == kindString && strings.HasPrefix(m.value.text, "#") && len(m.value.text) > 1 {
				age = min(age, draft07)
			}
		}
		age = min(age, ageOf(m.value))
	}
	return age
}
