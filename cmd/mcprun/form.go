package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/gen/upstream"
)

// field is one question of a form. Its texts are hostile.
type field struct{ *upstream.Field }

func (f field) label() string { return titled(f.Title, f.Name) }

// titled is a title with the name behind it, where they differ.
func titled(title, name string) string {
	if title == "" || title == name {
		return name
	}
	return title + " (" + name + ")"
}

// kindWords says in a few words what is wanted.
func (f field) kindWords() string {
	var words []string
	switch f.Kind {
	case upstream.FieldChoices:
		words = append(words, "any of these, with commas between")
	case upstream.FieldChoice:
		words = append(words, "one of these")
	case upstream.FieldBoolean:
		words = append(words, "yes or no")
	case upstream.FieldInteger:
		words = append(words, "whole number")
	case upstream.FieldNumber:
		words = append(words, "number")
	default:
		words = append(words, map[string]string{
			"email": "email address", "uri": "address with its scheme, such as https://…", "date": "date, such as 2026-12-31", "date-time": "time, such as 2026-12-31T23:59:59Z",
		}[f.Format])
		if words[0] == "" {
			words[0] = "text"
		}
	}
	for _, bound := range []struct {
		name  string
		value *float64
	}{{"at least", f.Minimum}, {"at most", f.Maximum}} {
		if bound.value != nil {
			words = append(words, bound.name+" "+strconv.FormatFloat(*bound.value, 'g', -1, 64))
		}
	}
	switch _, ok := f.untyped(); {
	case !ok:
		words = append(words, "required")
	case f.Default != nil:
		words = append(words, "default "+f.shownDefault())
	default:
		words = append(words, "may be left empty")
	}
	return strings.Join(words, ", ")
}

// untyped is the answer of who types nothing: the default, or none. Not ok: something has to be typed. A default that is
// empty is no answer to what is required; the empty text can be typed as "".
func (f field) untyped() (value json.RawMessage, ok bool) {
	empty := f.Default == nil || slices.Contains([]string{`""`, `[]`, `null`}, string(bytes.TrimSpace(f.Default)))
	return f.Default, !f.Required || !empty
}

// shownDefault is the default as a person would type it.
func (f field) shownDefault() string {
	var value any
	if json.Unmarshal(f.Default, &value) != nil {
		return string(f.Default)
	}
	switch v := value.(type) {
	case bool:
		return map[bool]string{true: "yes", false: "no"}[v]
	case string:
		if v != "" {
			return v
		}
	case []any:
		words := make([]string, len(v))
		for i, each := range v {
			words[i] = fmt.Sprint(each)
		}
		if len(words) > 0 {
			return strings.Join(words, ", ")
		}
	}
	return string(f.Default) // also numbers, whose digits are as they came
}

// read makes a JSON value of what a person typed; an error says to that person what is wrong with it.
func (f field) read(line string) (json.RawMessage, error) {
	value, err := f.value(line)
	if err != nil {
		return nil, err
	}
	if err := f.Check(value); err != nil {
		return nil, fmt.Errorf("it %w", err)
	}
	return value, nil
}

func (f field) value(line string) (json.RawMessage, error) {
	trimmed := strings.TrimSpace(line)
	switch f.Kind {
	case upstream.FieldChoices:
		return f.several(trimmed)
	case upstream.FieldChoice:
		value, err := f.choice(trimmed)
		return asText(value), err
	case upstream.FieldBoolean:
		switch strings.ToLower(trimmed) {
		case "y", "yes", "true", "1":
			return json.RawMessage("true"), nil
		case "n", "no", "false", "0":
			return json.RawMessage("false"), nil
		}
		return nil, errors.New("type yes or no")
	case upstream.FieldNumber, upstream.FieldInteger:
		if !json.Valid([]byte(trimmed)) {
			return nil, fmt.Errorf("%q is no number", trimmed)
		}
		return json.RawMessage(trimmed), nil
	}
	if trimmed == `""` { // the way to say the empty text
		line = ""
	}
	if !utf8.ValidString(line) {
		return nil, errors.New("it is no UTF-8")
	}
	return asText(line), nil
}

// choice is the value that the value itself, its number or its title names.
func (f field) choice(typed string) (string, error) {
	for _, c := range f.Choices {
		if c.Value == typed {
			return c.Value, nil
		}
	}
	if n, err := strconv.Atoi(typed); err == nil && n >= 1 && n <= len(f.Choices) {
		return f.Choices[n-1].Value, nil
	}
	for _, c := range f.Choices {
		if strings.EqualFold(c.Title, typed) {
			return c.Value, nil
		}
	}
	return "", fmt.Errorf("%q is none of these: type a number from 1 to %d", typed, len(f.Choices))
}

func (f field) several(typed string) (json.RawMessage, error) {
	var values [][]byte
	for part := range strings.SplitSeq(typed, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		v, err := f.choice(part)
		if err != nil {
			return nil, err
		}
		values = append(values, asText(v))
	}
	return json.RawMessage("[" + string(bytes.Join(values, []byte(","))) + "]"), nil
}

// asText is a text as JSON.
func asText(text string) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil { // a string always has a JSON form
		return json.RawMessage(`""`)
	}
	return json.RawMessage(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}
