package form

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/mcpgen/mcpgen/gen/config/node"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/jsonschema"
	"github.com/mcpgen/mcpgen/gen/schema/validate"
	"github.com/mcpgen/mcpgen/runner/internal/expr"
)

const (
	maxFile     = 256 << 10 // bytes
	maxFields   = 200
	maxProblems = 1000
)

// extensions are those of files with forms.
var extensions = []string{".yaml", ".yml", ".json"}

// formName matches names of forms.
var formName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// Folder is a folder of forms.
type Folder struct{ dir string }

// NewFolder returns the forms in a folder, which need not exist. Nothing is read yet.
func NewFolder(dir string) *Folder { return &Folder{dir} }

// UnknownError says that a folder has no form of a name.
type UnknownError struct {
	Name, Dir string
	Near      []string // similar names of other forms
}

func (e *UnknownError) Error() string { return fmt.Sprintf("no form %.100q in %s", e.Name, e.Dir) }

// Hint says what to do.
func (e *UnknownError) Hint() string {
	if len(e.Near) > 0 {
		return "did you mean " + strings.Join(e.Near, " or ") + "?"
	}
	return "a form is a file such as forms/lead.yaml; run.forms in mcpgen.yaml names another folder"
}

// List returns the names of the forms, sorted. A folder that does not exist has none.
func (d *Folder) List() ([]string, error) {
	entries, err := os.ReadDir(d.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		ext := filepath.Ext(e.Name())
		name := strings.TrimSuffix(e.Name(), ext)
		if !e.IsDir() && slices.Contains(extensions, ext) && formName.MatchString(name) && !strings.HasSuffix(name, ".schema") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// Read reads a form. Mistakes in its file are [*node.FileError] with the line; a form that does not exist is an [*UnknownError].
func (d *Folder) Read(name string) (*Form, error) {
	unknown := func() error {
		names, _ := d.List() // for a hint
		return &UnknownError{name, d.dir, ident.Nearest(name, names, 3)}
	}
	if !formName.MatchString(name) {
		return nil, unknown()
	}
	root, err := os.OpenRoot(d.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, unknown()
	}
	if err != nil {
		return nil, fmt.Errorf("open the folder of forms: %w", err)
	}
	defer root.Close()
	for _, ext := range extensions {
		text, err := readFile(root, name+ext)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the form %s: %w", name, err)
		}
		r := &reader{root: root, file: &node.File{Name: filepath.Join(d.dir, name+ext), Text: text}, form: &Form{Name: name, Title: name, File: filepath.Join(d.dir, name+ext)}}
		if err := r.read(); err != nil {
			return nil, err
		}
		return r.form, nil
	}
	return nil, unknown()
}

// readFile reads a regular file below a root.
func readFile(root *os.Root, name string) ([]byte, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, fmt.Errorf("%q is not a file of at most %d KiB", name, maxFile>>10)
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFile))
}

// reader reads the file of one form.
type reader struct {
	root *os.Root
	file *node.File
	form *Form
}

func (r *reader) read() error {
	top, err := r.file.ParseYAML()
	if err != nil {
		return err
	}
	if top.Kind != yaml.MappingNode {
		return r.file.ErrorAt(top.Line, "", "the file is not a mapping", "write the keys schema and submit")
	}
	known := []string{"name", "title", "schema", "map", "defaults", "submit"}
	if err := r.onlyKeys(top, "", known); err != nil {
		return err
	}
	for _, key := range []string{"schema", "submit"} {
		if node.Value(top, key) == nil {
			return r.file.ErrorAt(top.Line, "", "the key "+key+" is missing", "write "+key+": …")
		}
	}
	if n := node.Value(top, "name"); n != nil && n.Value != r.form.Name {
		return r.file.ErrorAt(n.Line, "name", "it differs from the file's name", "write name: "+r.form.Name+", or leave it out")
	}
	if n := node.Value(top, "title"); n != nil {
		if r.form.Title = ident.Clip(n.Value, 300); n.Kind != yaml.ScalarNode || n.Value == "" {
			return r.file.ErrorAt(n.Line, "title", "it is not a text", "write a title for people")
		}
	}
	if err := r.schema(node.Value(top, "schema")); err != nil {
		return err
	}
	if err := r.mapping(node.Value(top, "map")); err != nil {
		return err
	}
	if err := r.defaults(node.Value(top, "defaults")); err != nil {
		return err
	}
	return r.submit(node.Value(top, "submit"))
}

// onlyKeys refuses keys of a mapping that are not known.
func (r *reader) onlyKeys(n *yaml.Node, place string, known []string) error {
	for k := range node.Pairs(n) {
		if !slices.Contains(known, k.Value) {
			return r.file.ErrorAt(k.Line, node.Join(place, k.Value), "there is no such key", didYouMean(k.Value, known))
		}
	}
	return nil
}

func didYouMean(name string, known []string) string {
	if near := ident.Nearest(name, known, 1); len(near) > 0 {
		return "did you mean " + near[0] + "?"
	}
	return "use one of " + ident.List(known)
}

// schema reads the schema of the fields, which is in the file or in another one of the folder.
func (r *reader) schema(n *yaml.Node) error {
	file := r.file
	if n.Kind == yaml.ScalarNode {
		name := filepath.FromSlash(n.Value)
		if n.ShortTag() != "!!str" || !filepath.IsLocal(name) {
			return file.ErrorAt(n.Line, "schema", "it names no file in the folder of forms", "write a JSON Schema here, or a path from here such as lead.schema.json")
		}
		text, err := readFile(r.root, name)
		if err != nil {
			return file.ErrorAt(n.Line, "schema", fmt.Sprintf("its file cannot be read: %v", err), "write a path from here to a file in this folder")
		}
		file = &node.File{Name: filepath.Join(filepath.Dir(r.file.Name), name), Text: text}
		if n, err = file.ParseYAML(); err != nil {
			return err
		}
	}
	raw, err := file.JSON(n, "schema")
	if err != nil {
		return err
	}
	bad := func(key, problem, remedy string) error {
		line := n.Line
		if at := node.Value(n, key); at != nil {
			line = at.Line
		}
		return file.ErrorAt(line, strings.TrimSuffix("schema."+key, "."), problem, remedy)
	}
	f := r.form
	f.Schema, f.fieldsAt = raw, file.Name
	if f.root, err = jsonschema.Parse(raw, jsonschema.Limits{}); err != nil {
		return bad("", "it "+err.Error(), "write a smaller schema")
	}
	if f.validator, err = (validate.Options{Formats: true, Problems: maxProblems}).Compile(raw); err != nil {
		return bad("", err.Error(), "write a JSON Schema, without references to other files")
	}
	if t := f.root.Get("type"); t == nil || t.Text != "object" {
		return bad("type", "a form's fields are the properties of an object", "write type: object")
	}
	properties := f.root.Get("properties")
	if properties == nil || len(properties.Members) == 0 || len(properties.Members) > maxFields {
		return bad("properties", "they are not the fields of a form", fmt.Sprintf("write 1 to %d properties", maxFields))
	}
	required := jsonschema.RequiredNames(f.root)
	for _, m := range properties.Members {
		f.Fields = append(f.Fields, Field{Name: m.Key, Title: ident.Clip(m.Value.Str("title"), 300), Required: slices.Contains(required, m.Key), schema: m.Value, value: defaultOf(m.Value)})
	}
	for _, name := range required {
		if f.field(name) == nil {
			return bad("required", fmt.Sprintf("%q is not a field", name), didYouMean(name, f.names()))
		}
	}
	return nil
}

func defaultOf(schema *jsonschema.Value) json.RawMessage {
	if d := schema.Get("default"); d != nil {
		return d.AppendJSON(nil)
	}
	return nil
}

// mapping reads where fields come from.
func (r *reader) mapping(n *yaml.Node) error {
	for k, v := range node.Pairs(n) {
		place := node.Join("map", k.Value)
		f := r.form.field(k.Value)
		if f == nil {
			return r.noField(k, place)
		}
		items := []*yaml.Node{v}
		if v.Kind == yaml.SequenceNode {
			items = v.Content
		}
		f.mapped = true
		for _, item := range items {
			if item.Kind != yaml.ScalarNode || item.Value == "" {
				return r.file.ErrorAt(item.Line, place, "it is not a place in the data", "write the name of a column, a path such as contact.email, a list of these, or ${…} with an expression on data")
			}
			s := source{text: item.Value}
			if text, ok := expr.Braced(item.Value); ok {
				var err error
				if s.expression, err = r.compile(item, place, text, "data"); err != nil {
					return err
				}
			}
			f.from = append(f.from, s)
		}
	}
	return r.isMapping(n, "map")
}

func (r *reader) isMapping(n *yaml.Node, key string) error {
	if n != nil && n.Kind != yaml.MappingNode && n.Kind != yaml.AliasNode {
		return r.file.ErrorAt(n.Line, key, "it is not a mapping", "write NAME: VALUE, one a line")
	}
	return nil
}

func (r *reader) noField(key *yaml.Node, place string) error {
	return r.file.ErrorAt(key.Line, place, "the schema has no such field", didYouMean(key.Value, r.form.names()))
}

// compile compiles the expression in the text of a node.
func (r *reader) compile(n *yaml.Node, place, text, variable string) (*expr.Expression, error) {
	e, err := expr.Compile(text, variable)
	if bad, ok := errors.AsType[*expr.SyntaxError](err); ok {
		return nil, &node.FileError{File: r.file.Name, Line: n.Line + bad.Line, Key: place, Problem: bad.Problem, Remedy: "write a CEL expression on " + variable}
	}
	return e, err
}

// defaults reads the values of fields that the data lacks.
func (r *reader) defaults(n *yaml.Node) error {
	for k, v := range node.Pairs(n) {
		place := node.Join("defaults", k.Value)
		f := r.form.field(k.Value)
		if f == nil {
			return r.noField(k, place)
		}
		raw, err := r.file.JSON(v, place)
		if err != nil {
			return err
		}
		if p := r.form.problemsOf(f.Name, raw); len(p) > 0 {
			return r.file.ErrorAt(v.Line, place, p[0].Message, "write a value that the schema accepts")
		}
		f.value = raw
	}
	return r.isMapping(n, "defaults")
}

// submit reads the tool and its arguments.
func (r *reader) submit(n *yaml.Node) error {
	if err := r.isMapping(n, "submit"); err != nil {
		return err
	}
	if err := r.onlyKeys(n, "submit", []string{"tool", "with"}); err != nil {
		return err
	}
	tool := node.Value(n, "tool")
	if tool == nil || tool.Kind != yaml.ScalarNode || tool.Value == "" {
		return r.file.ErrorAt(n.Line, "submit.tool", "the tool is missing", "write tool: server__tool")
	}
	r.form.Tool, r.form.toolLine = tool.Value, tool.Line
	with := node.Value(n, "with")
	if with == nil {
		return nil
	}
	if with.Kind != yaml.MappingNode {
		return r.isMapping(with, "submit.with")
	}
	var err error
	r.form.arguments, err = r.template(with, "submit.with")
	return err
}

// template reads arguments: JSON in which texts may be ${…} with an expression on fields.
func (r *reader) template(n *yaml.Node, place string) (*template, error) {
	t := &template{line: n.Line}
	if n.Kind == yaml.AliasNode {
		return nil, r.file.ErrorAt(n.Line, place, "an alias is not supported here", "write the value itself")
	}
	switch n.Kind {
	case yaml.MappingNode:
		t.members = []member{}
		for k, v := range node.Pairs(n) {
			value, err := r.template(v, node.Join(place, k.Value))
			if err != nil {
				return nil, err
			}
			t.members = append(t.members, member{k.Value, k.Line, value})
		}
		return t, nil
	case yaml.SequenceNode:
		t.items = []*template{}
		for i, v := range n.Content {
			value, err := r.template(v, fmt.Sprintf("%s.%d", place, i))
			if err != nil {
				return nil, err
			}
			t.items = append(t.items, value)
		}
		return t, nil
	}
	var err error
	if text, ok := expr.Braced(n.Value); ok && n.ShortTag() == "!!str" {
		t.text = n.Value
		t.expression, err = r.compile(n, place, text, "fields")
		return t, err
	}
	if t.constant, err = r.file.JSON(n, place); err != nil {
		return nil, err
	}
	t.constant = bytes.TrimSpace(t.constant)
	return t, nil
}
