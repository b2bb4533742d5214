package schema

import (
	"errors"

	"github.com/mcpgen/mcpgen/gen/jsonschema"
)

// Note reports a part of a schema that was not understood or left out, so that the type accepts more values than the
// schema's author meant.
type Note struct {
	// Code is the kind of note, one of the Code constants. It is stable.
	Code code
	// Pointer is the place as a JSON pointer, "" for the root. It is hostile text.
	Pointer string
	// Message is for people.
	Message string
}

// code names a kind of note.
type code = string

// The kinds of notes.
const (
	CodeNotJSON        code = "not-json"        // the schema is not JSON at all
	CodeTooDeep        code = "too-deep"        // nested beyond the bound
	CodeTooLarge       code = "too-large"       // more bytes, values or types than the bound
	CodeTooManySteps   code = "too-many-steps"  // references or unions multiply beyond the bound
	CodeBadSchema      code = "bad-schema"      // neither an object nor a boolean
	CodeBadKeyword     code = "bad-keyword"     // a keyword with a value of the wrong kind; it is ignored
	CodeBadName        code = "bad-name"        // a name that is not valid Unicode
	CodeUnresolvedRef  code = "unresolved-ref"  // a reference to nothing
	CodeExternalRef    code = "external-ref"    // a reference out of the schema, to a file or a URL; it is not read
	CodeCyclicRef      code = "cyclic-ref"      // a reference that leads back to itself
	CodeUnknownDialect code = "unknown-dialect" // a $schema that is not known
	CodeNoValue        code = "no-value"        // no value matches
	CodeLongEnum       code = "long-enum"       // an enum too long to be listed
)

func (c *converter) note(kind code, pointer, message string) {
	if len(c.notes) < maxNotes {
		c.notes = append(c.notes, Note{Code: kind, Pointer: pointer, Message: message})
	}
}

// wide records that the type being made accepts more values than the schema.
func (c *converter) wide() { c.alg.Widened++ }

// noteOf returns the note about a schema that could not be read.
func noteOf(err error) Note {
	kind := CodeNotJSON
	var limited *jsonschema.LimitError
	if errors.As(err, &limited) {
		kind = CodeTooLarge
		if limited.TooDeep {
			kind = CodeTooDeep
		}
	}
	return Note{Code: kind, Message: "the schema " + err.Error() + "; any value is accepted"}
}
