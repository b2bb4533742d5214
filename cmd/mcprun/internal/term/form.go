package term

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/gen/upstream"
)

// field is one question of a form. Its texts are hostile.
type field struct{ *upstream.Field }

func (f field) label() string { return titled(f.Title, f.Name) }

// titled returns a title, followed by the name if they differ.
func titled(title, name string) string {
	if title == "" || title == name {
		return name
	}
	return title + " (" + name + ")"
}

// kindWords describes the expected value in a few words.
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
	switch _, ok := f.untyped(); {
	case !ok:
		words = append(words, "required")
	case f.Default != nil:
		words = append(words, "default "+string(f.Default))
	default:
		words = append(words, "may be left empty")
	}
	return strings.Join(words, ", ")
}

// untyped returns the value for an empty line: the default, or none. ok is false for a required field without a default.
func (f field) untyped() (value json.RawMessage, ok bool) {
	return f.Default, !f.Required || f.Default != nil
}

// read returns what a person typed as JSON. The error is for that person.
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
		return AsText(value), err
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
			return nil, fmt.Errorf("%q is not a number", trimmed)
		}
		return json.RawMessage(trimmed), nil
	}
	if trimmed == `""` { // stands for the empty text
		line = ""
	}
	if !utf8.ValidString(line) {
		return nil, errors.New("it is not valid UTF-8")
	}
	return AsText(line), nil
}

// choice returns the value that was typed as itself, its number or its title.
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
	return "", fmt.Errorf("%q is not a choice; type a number from 1 to %d", typed, len(f.Choices))
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
		values = append(values, AsText(v))
	}
	return json.RawMessage("[" + string(bytes.Join(values, []byte(","))) + "]"), nil
}

// AsText returns a text as JSON.
func AsText(text string) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil { // a string always has a JSON form
		return json.RawMessage(`""`)
	}
	return json.RawMessage(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}
