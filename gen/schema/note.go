package schema

// Note says what in a schema was not understood, or was left out, so that its type holds more values than its author
// meant.
type Note struct {
	// Code names the kind of note: one of the Code constants. It is stable, for people to search and machines to filter.
	Code code
	// Pointer is the place as a JSON pointer, "" for the root. Hostile text.
	Pointer string
	Message string
}

type code = string

// The kinds of notes.
const (
	CodeNotJSON        code = "not-json"        // the schema is not JSON at all
	CodeTooDeep        code = "too-deep"        // nested beyond the bound
	CodeTooLarge       code = "too-large"       // more bytes, values or types than the bound
	CodeTooManySteps   code = "too-many-steps"  // references or unions multiply beyond the bound
	CodeBadSchema      code = "bad-schema"      // neither an object nor a boolean
	CodeBadKeyword     code = "bad-keyword"     // a keyword whose value makes no sense; it is ignored
	CodeBadName        code = "bad-name"        // a name that no text can hold
	CodeBadPattern     code = "bad-pattern"     // a regular expression that cannot be checked
	CodeUnresolvedRef  code = "unresolved-ref"  // a reference to nothing
	CodeExternalRef    code = "external-ref"    // a reference out of the schema, to a file or a URL; it is not read
	CodeCyclicRef      code = "cyclic-ref"      // a reference that is nothing but itself
	CodeUnknownDialect code = "unknown-dialect" // a $schema that we do not know
	CodeNoValue        code = "no-value"        // no value fits
	CodeLongEnum       code = "long-enum"       // an enum too long to be listed
)

func (c *converter) note(kind code, pointer, message string) {
	if len(c.notes) < maxNotes {
		c.notes = append(c.notes, Note{Code: kind, Pointer: pointer, Message: message})
	}
}

// wide notes that the type being made will hold more than the schema does.
func (c *converter) wide() { c.alg.Widened++ }
