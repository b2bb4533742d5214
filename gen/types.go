package gen

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/render"
	"github.com/mcpgen/mcpgen/gen/schema"
)

// TypesOptions are the settings of [Types].
type TypesOptions struct {
	// Language is "typescript" or "python". Empty: "typescript".
	Language string
	// Name is what the type of the schema is called, to the letter. It must be an identifier of the language that the
	// declarations do not need for themselves. Empty: "Schema". [TypeNameFor] makes one of a file's name.
	Name string
}

// TypesResult is what [Types] made.
type TypesResult struct {
	// Source is a module of its own. It exports the named type, and the definitions that the type refers to.
	Source []byte
	// Warnings say what in the schema was not understood, or was left out. Place is a JSON pointer after "#".
	Warnings []Warning
}

// Types prints the declarations for one JSON Schema of any dialect: every value that the schema accepts, written as a
// literal, fits the type of that name. The errors are *JSONError where raw is no JSON text and *TypeNameError where
// the name will not do; a schema that makes no sense is not an error but a wide type and a warning.
func Types(raw json.RawMessage, opts TypesOptions) (*TypesResult, error) {
	if opts.Language == "" {
		opts.Language = "typescript"
	}
	if opts.Name == "" {
		opts.Name = defaultTypeName
	}
	target, err := typesTarget(opts.Language)
	if err != nil {
		return nil, err
	}
	if err := checkTypeName(opts.Language, opts.Name); err != nil {
		return nil, err
	}
	raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf")) // some editors begin a file so
	if err := checkJSON(raw); err != nil {
		return nil, err
	}
	converted, notes := schema.Convert(raw)
	source, err := target.Types(opts.Name, converted)
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

func typesTarget(language string) (render.Target, error) {
	switch language {
	case "typescript":
		return render.TypeScript(), nil
	case "python":
		return render.Python(), nil
	}
	return nil, fmt.Errorf("print types: unknown language %q: it is typescript or python", language)
}

// TypeNameFor makes the name of a type from that of a file: "get-user.schema.json" becomes GetUser. A name that the
// language needs for itself gets the word Schema at its end.
func TypeNameFor(language, file string) string {
	base := path.Base(strings.ReplaceAll(file, `\`, "/"))
	for _, ending := range []string{".json", ".schema"} {
		base = strings.TrimSuffix(base, ending)
	}
	name := ident.Pascal(base)
	if checkTypeName(language, name) != nil {
		name += defaultTypeName
	}
	return name
}

// TypeNameError is a name that a type cannot have in a language. Exit code 2.
type TypeNameError struct {
	Name, Language string
	// Reason is a clause: "it is a word of the language".
	Reason string
}

func (e *TypeNameError) Error() string {
	return fmt.Sprintf("%q cannot name a type in %s: %s", e.Name, languageTitle(e.Language), e.Reason)
}

// Hint names one that would do.
func (e *TypeNameError) Hint() string {
	name := ident.Pascal(e.Name)
	if name == e.Name || checkTypeName(e.Language, name) != nil {
		name += defaultTypeName
	}
	return fmt.Sprintf("choose another, for example %s", name)
}

// ExitCode is 2.
func (e *TypeNameError) ExitCode() int { return 2 }

func languageTitle(language string) string {
	if language == "python" {
		return "Python"
	}
	return "TypeScript"
}

// checkTypeName refuses what is no identifier, and identifiers with a meaning of their own in the declarations.
func checkTypeName(language, name string) error {
	fail := func(reason string) error {
		return &TypeNameError{Name: name, Language: language, Reason: reason}
	}
	python := language == "python"
	for i, c := range []byte(name) {
		letter := c == '_' || (c == '$' && !python) || (c|0x20 >= 'a' && c|0x20 <= 'z')
		if !letter && (i == 0 || c < '0' || c > '9') {
			return fail("a name is made of ASCII letters, digits and underscores, and begins with a letter")
		}
	}
	switch {
	case name == "":
		return fail("it is empty")
	case strings.Trim(name, "_") == "" || (python && strings.HasPrefix(name, "__")):
		return fail("names of that form have a meaning of their own")
	case python && ident.PythonKeyword(name), !python && ident.TypeScriptReserved(name):
		return fail("it is a word of the language")
	case python && pythonTypeWord(name), !python && typeScriptTypeWord(name):
		return fail("it has a meaning of its own in the declarations")
	}
	return nil
}

// typeScriptTypeWord reports whether name is a type that TypeScript has already and that nobody may declare, or that
// declarations refer to.
func typeScriptTypeWord(name string) bool {
	switch name {
	case "any", "bigint", "boolean", "never", "number", "object", "string", "symbol", "undefined", "unknown", "globalThis",
		"__proto__", "Array", "Boolean", "Function", "Number", "Object", "Record", "String", "Symbol":
		return true
	// These stand before types, or begin declarations.
	case "abstract", "as", "asserts", "async", "declare", "global", "infer", "intrinsic", "is", "keyof", "module", "namespace",
		"readonly", "type", "unique":
		return true
	}
	return false
}

// pythonTypeWord is the same for Python, whose declarations refer to built-in types. What they import gives way.
func pythonTypeWord(name string) bool {
	switch name {
	case "annotations", "bool", "bytes", "dict", "float", "int", "list", "object", "set", "str", "tuple", "type", "TYPE_CHECKING":
		return true
	}
	return false
}

// JSONError is a file that is no JSON text. Exit code 2.
type JSONError struct {
	// Line and Column are where reading stopped, from 1; the column counts characters.
	Line, Column int
	Err          error
}

func (e *JSONError) Error() string {
	return fmt.Sprintf("line %d, column %d: not JSON: %v", e.Line, e.Column, e.Err)
}

// Unwrap returns what was wrong.
func (e *JSONError) Unwrap() error { return e.Err }

// ExitCode is 2.
func (e *JSONError) ExitCode() int { return 2 }

// Hint says what is read.
func (e *JSONError) Hint() string {
	return "a schema is one JSON object, or true or false; comments and commas at the end of a list are not JSON"
}

// checkJSON reads one JSON value and says where it fails.
func checkJSON(raw []byte) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	var value json.RawMessage
	err := dec.Decode(&value)
	offset := dec.InputOffset()
	var syntax *json.SyntaxError
	switch {
	case err == io.EOF:
		return newJSONError(raw, int64(len(raw)), errors.New("there is no value"))
	case errors.As(err, &syntax):
		offset = syntax.Offset - 1
		if err == io.ErrUnexpectedEOF || strings.Contains(err.Error(), "unexpected end") {
			offset = int64(len(raw))
		}
		return newJSONError(raw, offset, err)
	case err != nil: // io.ErrUnexpectedEOF
		return newJSONError(raw, int64(len(raw)), errors.New("it ends too early"))
	}
	if rest := bytes.TrimLeft(raw[offset:], " \t\r\n"); len(rest) > 0 {
		return newJSONError(raw, int64(len(raw)-len(rest)), errors.New("more text after the first value"))
	}
	return nil
}

func newJSONError(raw []byte, offset int64, err error) error {
	before := raw[:max(0, min(offset, int64(len(raw))))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return &JSONError{Line: 1 + bytes.Count(before, []byte("\n")), Column: 1 + utf8.RuneCount(before[start:]), Err: err}
}
