// Package arguments decodes the arguments of tools, with errors that tell a model what to do.
package arguments

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// Decode reads a JSON object into a pointer to a struct. Fields tagged required must not be blank. The error names the
// argument and what was expected.
func Decode(raw json.RawMessage, into any) error {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		raw = []byte("{}")
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return errors.New("the arguments must be one JSON object")
	}
	fields := reflect.ValueOf(into).Elem()
	known := names(fields.Type())
	if err := checkNames(members, known); err != nil {
		return err
	}
	err := json.Unmarshal(raw, into)
	var wrongType *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrongType):
		return fmt.Errorf("%s must be %s, not %s", wrongType.Field, typeName(wrongType.Type), wrongType.Value)
	case err != nil:
		return fmt.Errorf("cannot read the arguments: %w", err)
	}
	for i, name := range known {
		value := fields.Field(i)
		blank := value.IsZero() || value.Kind() == reflect.String && strings.TrimSpace(value.String()) == ""
		if _, required := fields.Type().Field(i).Tag.Lookup("required"); required && blank {
			return fmt.Errorf("%s is missing or empty", name)
		}
	}
	return nil
}

// checkNames refuses an argument that the tool does not have, and suggests the nearest name.
func checkNames(members map[string]json.RawMessage, known []string) error {
	for name := range members {
		if slices.Contains(known, name) {
			continue
		}
		hint := "it takes " + strings.Join(known, ", ")
		if near := ident.Nearest(name, known, 1); len(near) > 0 {
			hint = fmt.Sprintf("did you mean %q?", near[0])
		} else if len(known) == 0 {
			hint = "it takes none"
		}
		return fmt.Errorf("unknown argument %.100q: %s", name, hint)
	}
	return nil
}

// names returns the JSON names of a struct's fields, in order.
func names(t reflect.Type) []string {
	names := make([]string, t.NumField())
	for i := range names {
		names[i], _, _ = strings.Cut(t.Field(i).Tag.Get("json"), ",")
	}
	return names
}

// typeName returns JSON's name for the values of a Go type.
func typeName(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Float64, reflect.Int:
		return "a number"
	case reflect.Map:
		return "an object"
	}
	return "a " + t.Kind().String()
}
