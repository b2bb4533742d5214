package gen

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/schema"
)

// TypesOptions are the settings of [Types].
type TypesOptions struct {
	// Language is the name of one of [Languages]. Empty: the first of them.
	Language string
	// Name is the exact name of the schema's type. It must be an identifier of the language that the declarations do not need themselves.
	// Empty: "Schema". [TypeNameFor] derives a name from a file's name.
	Name string
}

// TypesResult is the result of [Types].
type TypesResult struct {
	// Source is a self-contained module. It exports the named type, and the definitions to which the type refers.
	Source []byte
	// Warnings say what in the schema was not understood or was left out. Place is a JSON pointer after "#".
	Warnings []Warning
}

// Types prints the declarations for one JSON Schema of any dialect: every value that the schema accepts, written as a literal, fits the
// named type. The errors are *[JSONError] if raw is not JSON and *[TypeNameError] if the name cannot be used. A schema that makes no sense
// is not an error, but gives a wide type and a warning.
func Types(raw json.RawMessage, opts TypesOptions) (*TypesResult, error) {
	l, ok := LanguageOf(cmp.Or(opts.Language, Languages()[0].Name))
	if !ok {
		return nil, fmt.Errorf("print types: unknown language %q: it is %s", opts.Language, LanguageNames())
	}
	name := cmp.Or(opts.Name, defaultTypeName)
	if reason := l.CheckTypeName(name); reason != "" {
		return nil, &TypeNameError{Name: name, Language: l.Name, Reason: reason}
	}
	raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf")) // some editors write one
	if err := checkJSON(raw); err != nil {
		return nil, err
	}
	converted, notes := schema.Convert(raw)
	source, err := l.Types(name, converted)
	if err != nil {
		return nil, err
	}
	out := &TypesResult{Source: source}
	for _, n := range notes {
		out.Warnings = append(out.Warnings, Warning{Place: "#" + n.Pointer, Message: n.Message})
	}
	return out, nil
}

const defaultTypeName = "Schema"

// TypeNameFor derives the name of a type from that of a file: "get-user.schema.json" becomes GetUser. If the language reserves the name,
// the word Schema is appended.
func TypeNameFor(language, file string) string {
	base := path.Base(strings.ReplaceAll(file, `\`, "/"))
	for _, ending := range []string{".json", ".schema"} {
		base = strings.TrimSuffix(base, ending)
	}
	return usableTypeName(language, ident.Pascal(base))
}

func usableTypeName(language, name string) string {
	if l, ok := LanguageOf(language); ok && l.CheckTypeName(name) != "" {
		return name + defaultTypeName
	}
	return name
}

// TypeNameError reports a name that a type cannot have in a language. Exit code 2.
type TypeNameError struct {
	Name, Language string
	// Reason is a clause, such as "it is a word of the language".
	Reason string
}

func (e *TypeNameError) Error() string {
	title := e.Language
	if l, ok := LanguageOf(e.Language); ok {
		title = l.Title
	}
	return fmt.Sprintf("%q cannot name a type in %s: %s", e.Name, title, e.Reason)
}

// Hint suggests another name.
func (e *TypeNameError) Hint() string {
	name := ident.Pascal(e.Name)
	if name == e.Name {
		name += defaultTypeName
	}
	return fmt.Sprintf("choose another, for example %s", usableTypeName(e.Language, name))
}

// ExitCode is exit.Usage.
func (e *TypeNameError) ExitCode() int { return exit.Usage }

// JSONError reports a file that is not JSON. Exit code 2.
type JSONError struct {
	// Line and Column are the place at which reading stopped, from 1. The column counts characters.
	Line, Column int
	Err          error
}

func (e *JSONError) Error() string {
	return fmt.Sprintf("line %d, column %d: not JSON: %v", e.Line, e.Column, e.Err)
}

// Unwrap returns what was wrong.
func (e *JSONError) Unwrap() error { return e.Err }

// ExitCode is exit.Usage.
func (e *JSONError) ExitCode() int { return exit.Usage }

// Hint describes what is read.
func (e *JSONError) Hint() string {
	return "a schema is one JSON object, or true or false; comments and commas at the end of a list are not JSON"
}

// checkJSON reads one JSON value; the error is a *[JSONError].
func checkJSON(raw []byte) error {
	dec := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	_, err := dec.ReadValue()
	offset := dec.InputOffset()
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		offset, err = syntax.ByteOffset, syntax.Err
	}
	switch {
	case err == io.EOF:
		offset, err = int64(len(raw)), errors.New("there is no value")
	case err == nil:
		offset += int64(len(raw[offset:]) - len(bytes.TrimLeft(raw[offset:], " \t\r\n")))
		if offset == int64(len(raw)) {
			return nil
		}
		err = errors.New("more text after the first value")
	}
	before := raw[:min(offset, int64(len(raw)))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return &JSONError{Line: 1 + bytes.Count(before, []byte("\n")), Column: 1 + utf8.RuneCount(before[start:]), Err: err}
}
