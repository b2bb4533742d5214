package elicit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// maxAnswer bounds a filled-in form, in bytes.
const maxAnswer = 256 << 10

// Check checks a filled-in form, an object with a member for each field. It returns the form with the defaults of missing
// fields, in the form's order, and the names of members that are no fields, which are left out. A null counts as missing.
// The error names every field that does not fit, and what the field takes.
func (q *Question) Check(content json.RawMessage) (form json.RawMessage, unknown []string, err error) {
	if len(content) > maxAnswer {
		return nil, nil, fmt.Errorf("the answer is larger than %d KiB", maxAnswer>>10)
	}
	if len(bytes.TrimSpace(content)) == 0 {
		content = json.RawMessage(`{}`)
	}
	var given map[string]json.RawMessage
	if json.Unmarshal(content, &given) != nil || given == nil {
		return nil, nil, errors.New("the answer is not an object")
	}
	fields, err := readForm(q.Schema)
	if err != nil {
		return nil, nil, err
	}
	var wrong []error
	out := []byte{'{'}
	for i := range fields {
		f := &fields[i]
		value := given[f.Name]
		delete(given, f.Name)
		if value == nil || string(value) == "null" {
			if value = f.Default; value == nil {
				if f.Required {
					wrong = append(wrong, fmt.Errorf("%q is missing", f.Name))
				}
				continue
			}
		}
		if err := f.Check(value); err != nil {
			wrong = append(wrong, fmt.Errorf("%q %w", f.Name, err))
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		name, err := json.Marshal(f.Name)
		if err != nil {
			return nil, nil, err
		}
		out = append(append(append(out, name...), ':'), value...)
	}
	if len(wrong) > 0 {
		return nil, nil, errors.Join(wrong...)
	}
	return append(out, '}'), slices.Sorted(maps.Keys(given)), nil
}

// Check checks a value of the field. The error continues a sentence that begins with the field's name, such as "must be
// a text".
func (f *Field) Check(raw json.RawMessage) error {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 {
		return errors.New("must not be empty")
	}
	switch f.Kind {
	case FieldText:
		var text string
		if json.Unmarshal(raw, &text) != nil || raw[0] != '"' {
			return errors.New("must be a text")
		}
		return f.checkText(text)
	case FieldNumber, FieldInteger:
		return f.checkNumber(string(raw))
	case FieldBoolean:
		if s := string(raw); s != "true" && s != "false" {
			return errors.New("must be true or false")
		}
	case FieldChoice:
		var text string
		if json.Unmarshal(raw, &text) != nil || !f.has(text) {
			return fmt.Errorf("must be one of %s", f.values())
		}
	case FieldChoices:
		return f.checkChoices(raw)
	}
	return nil
}

func (f *Field) checkText(text string) error {
	length := utf8.RuneCountInString(text)
	switch {
	case f.MinLength != nil && length < *f.MinLength:
		return fmt.Errorf("must have at least %d characters", *f.MinLength)
	case f.MaxLength != nil && length > *f.MaxLength:
		return fmt.Errorf("must have at most %d characters", *f.MaxLength)
	case !fits(f.Format, text):
		return fmt.Errorf("must be of the format %s", f.Format)
	}
	if f.Pattern != "" {
		// The server checks a pattern that Go's dialect does not know.
		if pattern, err := regexp.Compile(f.Pattern); err == nil && !pattern.MatchString(text) {
			return fmt.Errorf("must match %s", ident.Printable(f.Pattern, 200))
		}
	}
	return nil
}

// fits reports whether a text has the format. An unknown format fits every text.
func fits(format, text string) bool {
	switch format {
	case "email":
		a, err := mail.ParseAddress(text)
		return err == nil && a.Address == text
	case "uri":
		u, err := url.Parse(text)
		return err == nil && u.IsAbs()
	case "date":
		_, err := time.Parse(time.DateOnly, text)
		return err == nil
	case "date-time":
		_, err := time.Parse(time.RFC3339, text)
		return err == nil
	}
	return true
}

func (f *Field) checkNumber(text string) error {
	n, err := strconv.ParseFloat(text, 64)
	whole := err == nil && (!strings.ContainsAny(text, ".eE") || n == float64(int64(n)))
	switch {
	case err != nil || !json.Valid([]byte(text)):
		return errors.New("must be a number")
	case f.Kind == FieldInteger && !whole:
		return errors.New("must be a whole number")
	case f.Minimum != nil && n < *f.Minimum:
		return fmt.Errorf("must be at least %v", *f.Minimum)
	case f.Maximum != nil && n > *f.Maximum:
		return fmt.Errorf("must be at most %v", *f.Maximum)
	}
	return nil
}

func (f *Field) checkChoices(raw json.RawMessage) error {
	var chosen []string
	if raw[0] != '[' || json.Unmarshal(raw, &chosen) != nil {
		return fmt.Errorf("must be a list of some of %s", f.values())
	}
	for _, text := range chosen {
		if !f.has(text) {
			return fmt.Errorf("must be a list of some of %s", f.values())
		}
	}
	switch {
	case f.MinItems != nil && len(chosen) < *f.MinItems:
		return fmt.Errorf("must have at least %d of %s", *f.MinItems, f.values())
	case f.MaxItems != nil && len(chosen) > *f.MaxItems:
		return fmt.Errorf("must have at most %d of %s", *f.MaxItems, f.values())
	}
	return nil
}

func (f *Field) has(value string) bool {
	return slices.ContainsFunc(f.Choices, func(c Choice) bool { return c.Value == value })
}

// values lists the choices, for an error.
func (f *Field) values() string {
	var out []string
	for i, c := range f.Choices {
		if i == 20 {
			out = append(out, "…")
			break
		}
		out = append(out, strconv.Quote(ident.Printable(c.Value, 100)))
	}
	return strings.Join(out, ", ")
}
