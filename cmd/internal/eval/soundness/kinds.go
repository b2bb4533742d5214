package soundness

import (
	"encoding/json"
	"slices"
)

// kinds returns the six kinds of JSON value.
func kinds() []string { return []string{"null", "boolean", "number", "string", "array", "object"} }

// kindOf returns the kind of a decoded value.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

// sampleOf returns a value of a kind.
func sampleOf(kind string) any {
	switch kind {
	case "null":
		return nil
	case "boolean":
		return true
	case "number":
		return json.Number("7")
	case "string":
		return "some text"
	case "array":
		return []any{}
	}
	return object{}
}

// kindsOf returns the kinds that an alternative permits by type, const and enum, or all kinds.
func kindsOf(s object) []string {
	var out []string
	add := func(kind string) {
		if kind == "integer" {
			kind = "number"
		}
		if !slices.Contains(out, kind) {
			out = append(out, kind)
		}
	}
	if members, ok := literals(s); ok {
		for _, v := range members {
			add(kindOf(v))
		}
	} else if s["type"] != nil {
		for _, name := range typeNames(s["type"]) {
			if name != "integer" && !slices.Contains(kinds(), name) {
				return kinds()
			}
			add(name)
		}
	} else {
		return kinds()
	}
	if s["nullable"] == true {
		add("null")
	}
	return out
}

// literals returns the values that an alternative lists with const or enum.
func literals(s object) (values []any, listed bool) {
	if v, ok := s["const"]; ok {
		return []any{v}, true
	}
	if v, ok := s["enum"].([]any); ok {
		return v, true
	}
	return nil, false
}

// permits reports whether some alternative permits a kind.
func permits(alternatives []object, kind string) bool {
	return slices.ContainsFunc(alternatives, func(s object) bool { return slices.Contains(kindsOf(s), kind) })
}

// lists reports whether all alternatives that permit a kind list their values.
func lists(alternatives []object, kind string) bool {
	found := false
	for _, s := range alternatives {
		if !slices.Contains(kindsOf(s), kind) {
			continue
		}
		if _, listed := literals(s); !listed {
			return false
		}
		found = true
	}
	return found
}
