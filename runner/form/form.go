// Package form fills in forms from data and submits them by a tool. A form is a file of a project: the schema of its fields, where each
// comes from in the data, and the tool that takes them. Start with [NewFolder].
//
// Data, and what models and people answer, are hostile: whatever fills a field in is converted and validated in the same way. The files of
// forms are those of a repository, maybe a cloned one: nothing outside their folder is read, and no reference is followed out of a schema.
package form

import (
	"encoding/json"

	"github.com/mcpgen/mcpgen/gen/jsonschema"
	"github.com/mcpgen/mcpgen/gen/schema/validate"
	"github.com/mcpgen/mcpgen/runner/internal/expr"
)

// Form is a form as its file describes it. It is safe for concurrent use.
type Form struct {
	Name  string
	Title string // for people; the name if the file has none
	File  string // its path
	// Schema is the JSON Schema of the fields, an object with at least one property.
	Schema json.RawMessage
	Fields []Field // in the order of the schema
	// Tool is the tool that takes the fields, as server__tool. In the file it may be written server.tool.
	Tool string

	toolLine  int
	fieldsAt  string // the file with the fields, for errors
	root      *jsonschema.Value
	validator *validate.Validator
	arguments *template // nil: the fields are the arguments
}

// Field is a field of a form.
type Field struct {
	Name     string
	Title    string // of its schema; may be empty
	Required bool

	schema *jsonschema.Value
	mapped bool // the file says where it comes from
	from   []source
	value  json.RawMessage // the default; nil: the field has none
}

// Label returns the title, or else the name.
func (f *Field) Label() string {
	if f.Title != "" {
		return f.Title
	}
	return f.Name
}

// source is a place in the data: a path, or an expression on data.
type source struct {
	text       string // as in the file
	expression *expr.Expression
}

// field returns a field by its name, or nil.
func (f *Form) field(name string) *Field {
	for i := range f.Fields {
		if f.Fields[i].Name == name {
			return &f.Fields[i]
		}
	}
	return nil
}

// names returns the names of the fields.
func (f *Form) names() []string {
	out := make([]string, len(f.Fields))
	for i := range f.Fields {
		out[i] = f.Fields[i].Name
	}
	return out
}
