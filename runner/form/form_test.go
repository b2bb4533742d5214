package form

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/config/node"
)

const lead = `title: A new lead
schema:
  type: object
  required: [name, email, due]
  properties:
    name: {type: string, title: Full name, minLength: 1}
    email: {type: string, format: email}
    due: {type: string, format: date}
    seats: {type: integer, minimum: 1}
    paid: {type: boolean}
    site: {type: string, format: uri}
    address:
      type: object
      required: [city]
      properties: {city: {type: string}, zip: {type: string}}
    tags: {type: array, items: {type: string}}
    source: {type: string}
map:
  email: [Mail, contact.email, contact.all.0]
  seats: ${data.plan.seats * 2}
defaults: {source: web}
submit:
  tool: crm.create
  with:
    kind: Lead
    data:
      Name: ${fields.name}
      Mail: ${fields.email}
      Tags: ['${fields.?tags[?0]}', new]
      Phone: ${fields.?phone}
`

// write writes a folder of forms.
func write(t *testing.T, files map[string]string) *Folder {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return NewFolder(dir)
}

func readForm(t *testing.T, text string) *Form {
	t.Helper()
	f, err := write(t, map[string]string{"lead.yaml": text}).Read("lead")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFill(t *testing.T) {
	f := readForm(t, lead)
	for _, tt := range []struct{ name, data, values, problems, missing string }{
		{"nothing", ``, `{"source":"web"}`, ``, `name email due`},
		{"names, titles and spellings", `{"Full name":" Ann ","Mail":"ann@example.com","DUE":"2026-12-31","Paid":"TRUE"}`,
			`{"name":"Ann","email":"ann@example.com","due":"2026-12-31","paid":true,"source":"web"}`, ``, ``},
		{"paths and an expression", `{"name":"A","contact":{"email":"","all":["b@example.com"]},"due":"2026-12-31","plan":{"seats":21}}`,
			`{"name":"A","email":"b@example.com","due":"2026-12-31","seats":42,"source":"web"}`, ``, ``},
		{"a default gives way", `{"source":"fair"}`, `{"source":"fair"}`, ``, `name email due`},
		{"two that are alike", `{"D U E":"2026-12-31","d-u-e":"2026-12-30"}`, `{"source":"web"}`, ``, `name email due`},
		{"numbers as texts", `{"name":42,"tags":[1,"b "],"Mail":"a@b.c","due":"2026-12-31"}`,
			`{"name":"42","email":"a@b.c","due":"2026-12-31","tags":["1","b"],"source":"web"}`, ``, ``},
		{"nested", `{"name":"A","Mail":"a@b.c","due":"2026-12-31","address":{"zip":8000}}`,
			`{"name":"A","email":"a@b.c","due":"2026-12-31","address":{"zip":"8000"},"source":"web"}`, ``, `address.city`},
		{"every problem", `{"name":"A","Mail":"nobody","due":"31.12.2026","paid":"maybe","site":"://","plan":{"seats":0}}`,
			`{"name":"A","email":"nobody","due":"31.12.2026","seats":0,"paid":"maybe","site":"://","source":"web"}`, `email due seats paid site`, ``},
		{"an expression that fails", `{"name":"A","Mail":"a@b.c","due":"2026-12-31","plan":{"seats":"x"}}`,
			`{"name":"A","email":"a@b.c","due":"2026-12-31","source":"web"}`, `seats`, ``},
		{"nulls", `{"name":null,"Mail":null}`, `{"source":"web"}`, ``, `name email due`},
		{"numbers that are not numbers", `{"seats":"1","plan":{}}`, `{"source":"web"}`, ``, `name email due`}, // the mapping alone counts
	} {
		x, err := f.Fill(json.RawMessage(tt.data), nil)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		var fields []string
		for _, p := range x.Problems {
			fields = append(fields, p.Field)
		}
		if got := string(x.Values()); got != tt.values || strings.Join(fields, " ") != tt.problems || strings.Join(x.Missing, " ") != tt.missing {
			t.Errorf("%s: values %s, problems %v, missing %v, want %s, %s, %s", tt.name, got, x.Problems, x.Missing, tt.values, tt.problems, tt.missing)
		}
		if x.Complete() != (tt.problems+tt.missing == "") {
			t.Errorf("%s: Complete() = %v", tt.name, x.Complete())
		}
	}
}

// TestHostileData checks that data of any kind is data.
func TestHostileData(t *testing.T) {
	f := readForm(t, lead)
	for name, data := range map[string]string{
		"a list": `[1]`, "a text": `"x"`, "no JSON": `{`, "null": `null`, "a name twice": `{"name":"a","name":"b"}`,
		"deep": strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200), "large": `{"name":"` + strings.Repeat("x", maxData) + `"}`,
	} {
		if _, err := f.Fill(json.RawMessage(data), nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	x, err := f.Fill(json.RawMessage(`{"name":"${data.x}\u0000","Mail":"a@b.c","due":"2026-12-31","plan":{"seats":1e999}}`), nil)
	if err != nil || x.Complete() {
		t.Errorf("a number without bounds: %v, %v, want a problem", x, err)
	}
	if args, err := f.Arguments(json.RawMessage(`{"name":"${1+1}","email":"a@b.c"}`)); err != nil || !strings.Contains(string(args), `"${1+1}"`) {
		t.Errorf("Arguments() = %s, %v, want the text as it is", args, err)
	}
}

func TestArguments(t *testing.T) {
	f := readForm(t, lead)
	for values, want := range map[string]string{
		`{"name":"A","email":"a@b.c","tags":["x"]}`: `{"kind":"Lead","data":{"Name":"A","Mail":"a@b.c","Tags":["x","new"]}}`,
		`{"name":"A","email":"a@b.c"}`:              `{"kind":"Lead","data":{"Name":"A","Mail":"a@b.c","Tags":["new"]}}`,
	} {
		if got, err := f.Arguments(json.RawMessage(values)); err != nil || string(got) != want {
			t.Errorf("Arguments(%s) = %s, %v, want %s", values, got, err, want)
		}
	}
}

// TestReadErrors checks that mistakes in files are found with their line, hostile ones included.
func TestReadErrors(t *testing.T) {
	const fields = "schema: {type: object, properties: {a: {type: string}, n: {type: integer}}}\n"
	const submit = "submit: {tool: a__b}\n"
	for _, tt := range []struct{ name, text, want string }{
		{"no mapping", "- a", ":1: the file is not a mapping"},
		{"nothing", "", "the key schema is missing"},
		{"no submit", fields, "the key submit is missing"},
		{"no tool", fields + "submit: {with: {}}", ":2: submit.tool: the tool is missing"},
		{"unknown key", fields + submit + "maps: {}", ":3: maps: there is no such key; did you mean map?"},
		{"unknown key of submit", fields + "submit:\n  tool: a\n  wiht: {}", ":4: submit.wiht: there is no such key; did you mean with?"},
		{"another name", fields + submit + "name: other", "name: it differs from the file's name"},
		{"no YAML", "a: b: c", "mapping values are not allowed"},
		{"a key twice", fields + fields + submit, "already defined"},
		{"two documents", fields + submit + "---\n" + fields, "more than one document"},
		{"unknown field", fields + submit + "map:\n  b: x", ":4: map.b: the schema has no such field"},
		{"no place", fields + submit + "map:\n  a: {x: y}", ":4: map.a: it is not a place in the data"},
		{"bad expression", fields + submit + "map:\n  a: ${data.}", ":4: map.a: syntax error"},
		{"unknown variable", fields + submit + "map:\n  a: ${env.HOME}", ":4: map.a: undeclared reference to 'env'"},
		{"unknown default", fields + submit + "defaults:\n  b: x", ":4: defaults.b: the schema has no such field"},
		{"default that does not fit", fields + submit + "defaults:\n  n: x", ":4: defaults.n: n: expected integer"},
		{"bad argument", fields + "submit:\n  tool: a\n  with:\n    x: ${data.a}", ":5: submit.with.x: undeclared reference to 'data'"},
		{"no object", "schema: {type: array}\n" + submit, ":1: schema.type: a form's fields are the properties of an object"},
		{"no fields", "schema: {type: object}\n" + submit, "write 1 to 200 properties"},
		{"required without a field", "schema:\n  type: object\n  required: [b]\n  properties: {a: {}}\n" + submit, `:3: schema.required: "b" is not a field`},
		{"remote reference", "schema: {type: object, properties: {a: {$ref: 'https://example.com/s.json'}}}\n" + submit, `reference to "https://example.com/s.json" leaves the schema`},
		{"reference to a file", "schema: {type: object, properties: {a: {$ref: 'file:///etc/passwd'}}}\n" + submit, "leaves the schema"},
		{"reference to itself", "schema: {type: object, properties: {a: {$ref: '#/properties/a'}}}\n" + submit, "schema"},
		{"a file outside", "schema: ../secret.json\n" + submit, "it names no file in the folder"},
		{"an absolute file", "schema: /etc/passwd\n" + submit, "it names no file in the folder"},
		{"a file that does not exist", "schema: x.json\n" + submit, ":1: schema: its file cannot be read"},
		{"a link outside", "schema: link.json\n" + submit, ":1: schema: its file cannot be read"},
		{"a folder", "schema: dir\n" + submit, "is not a file"},
		{"a huge schema", "schema: {type: object, properties: {a: {enum: [" + strings.Repeat("1,", maxFile) + "1]}}}\n" + submit, "is not a file of at most"},
		{"aliases", "x: &x [1,1,1,1,1,1,1,1,1,1]\n" + bomb() + submit, "excessive aliasing"},
		{"many fields", "schema: {type: object, properties: {" + many(maxFields+1) + "}}\n" + submit, "write 1 to 200 properties"},
	} {
		d := write(t, map[string]string{"lead.yaml": tt.text})
		if err := errors.Join(os.Mkdir(filepath.Join(d.dir, "dir"), 0o700), os.Symlink("/etc/passwd", filepath.Join(d.dir, "link.json"))); err != nil {
			t.Fatal(err)
		}
		_, err := d.Read("lead")
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
}

// bomb returns a schema whose aliases make gigabytes of a few lines.
func bomb() string {
	text := "schema: {type: object, properties: {a: {enum: &a0 [x, x, x, x, x, x, x, x, x, x]}}"
	for i := range 12 {
		text += fmt.Sprintf(", x%d: &a%d [%s]", i, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", "))
	}
	return text + "}\n"
}

func many(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("f%d: {}", i))
	}
	return strings.Join(all, ", ")
}

// TestNames checks that no name leads out of the folder, and that others are suggested.
func TestNames(t *testing.T) {
	d := write(t, map[string]string{"lead.yaml": lead, "lead.schema.json": `{}`, "x.txt": ""})
	if got, err := d.List(); err != nil || !slices.Equal(got, []string{"lead"}) {
		t.Errorf("List() = %v, %v, want lead", got, err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(d.dir, "out.yaml")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"../lead", "/etc/passwd", "", ".", "lead.yaml", "a/b", "out", strings.Repeat("a", 100)} {
		if f, err := d.Read(name); err == nil {
			t.Errorf("Read(%q) = %v, want an error", name, f.File)
		}
	}
	_, err := d.Read("leed")
	if unknown, ok := errors.AsType[*UnknownError](err); !ok || !strings.Contains(unknown.Hint(), "did you mean lead") {
		t.Errorf("Read(leed): %v, want a suggestion", err)
	}
	if got, err := NewFolder(filepath.Join(d.dir, "nowhere")).List(); err != nil || got != nil {
		t.Errorf("List() = %v, %v, want nothing", got, err)
	}
}

// TestSchemaFile checks a form whose schema is a file beside it, and a form in JSON.
func TestSchemaFile(t *testing.T) {
	d := write(t, map[string]string{
		"a.yaml":        "schema: a.schema.json\nsubmit: {tool: x__y}\n",
		"a.schema.json": `{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"integer"}}}`,
		"b.json":        `{"schema": {"type": "object", "properties": {"n": {"type": "number"}}}, "submit": {"tool": "x__y"}}`,
	})
	a, err := d.Read("a")
	if err != nil || !slices.Equal(a.names(), []string{"b", "a"}) {
		t.Errorf("Read(a) = %+v, %v, want the fields b and a", a, err)
	}
	b, err := d.Read("b")
	if err != nil || b.Tool != "x__y" {
		t.Errorf("Read(b) = %+v, %v", b, err)
	}
}

// tools returns a tree with the tool crm__create.
func tools(t *testing.T, input string) *gen.Tree {
	t.Helper()
	server := catalog.Server{Key: "crm", Dir: "crm", Tools: []catalog.Tool{{ID: "crm__create", Name: "create", Input: json.RawMessage(input)}}}
	c, err := catalog.New([]catalog.Server{server})
	if err != nil {
		t.Fatal(err)
	}
	return &gen.Tree{Catalog: c, Lock: &catalog.Lock{}}
}

func TestCheck(t *testing.T) {
	const takes = `{"type":"object","properties":{"kind":{"type":"string"},"data":{"type":"object"}},"required":["kind","data"],"additionalProperties":false}`
	const plain = "schema:\n  type: object\n  required: [kind]\n  properties: {kind: {type: string}, data: {type: object}, due: {type: string}}\nsubmit:\n  tool: crm__create\n"
	for _, tt := range []struct{ name, form, input, want string }{
		{"a template", lead, takes, ""},
		{"an unknown tool", strings.Replace(lead, "crm.create", "crm__creat", 1), takes, `submit.tool: no tool "crm__creat" in the tree; did you mean crm__create?`},
		{"what is not required", plain, takes, `crm__create requires "data", and a field that it reads may be without a value`},
		{"an unknown argument", strings.Replace(plain, "[kind]", "[kind, data]", 1), takes, `crm__create takes no argument "due"; it takes`},
		{"required and given", strings.Replace(plain, "[kind]", "[kind, data]", 1), strings.Replace(takes, "false", "true", 1), ""},
		{"a missing argument", strings.Replace(lead, "    kind: Lead\n", "", 1), takes, `submit.with: crm__create requires "kind", which is not given`},
		{"an expression on what may lack", strings.Replace(lead, "kind: Lead", "kind: ${fields.site}", 1), takes, `crm__create requires "kind", and a field`},
		{"an expression on a default", strings.Replace(lead, "kind: Lead", "kind: ${fields.source}", 1), takes, ""},
	} {
		f := readForm(t, tt.form)
		err := f.Check(tools(t, tt.input))
		if tt.want == "" && (err != nil || f.Tool != "crm__create") {
			t.Errorf("%s: %v, %s", tt.name, err, f.Tool)
		}
		bad, ok := errors.AsType[*node.FileError](err)
		if tt.want != "" && (!ok || !strings.Contains(err.Error(), tt.want) || bad.Line == 0) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestReadRow(t *testing.T) {
	const sheet = "\ufeffName,Due,\nAnn,2026-12-31,x\n\"B, o\",\n"
	for _, tt := range []struct {
		text string
		row  int
		want string
	}{
		{sheet, 1, `{"Name":"Ann","Due":"2026-12-31"}`},
		{sheet, 2, `{"Name":"B, o","Due":""}`},
		{sheet, 0, "error: it has 2 rows"},
		{sheet, 3, "error: it has 2 rows"},
		{sheet, -1, "error: it has 2 rows"},
		{"a,a\n1,2\n", 1, `error: two of its columns are called "a"`},
		{"a\n1,2\n", 1, "error: line 2 has more cells than there are columns"},
		{"a,\"b\n1", 1, "error: it is neither JSON nor CSV"},
		{"", 0, "error: it is empty"},
		{`{"a":1}`, 0, `{"a":1}`},
		{`[{"a":1}]`, 0, `{"a":1}`},
		{`[{"a":1},{"a":2}]`, 2, `{"a":2}`},
		{`[{"a":1}`, 1, "error: it is not a JSON list"},
	} {
		got, err := ReadRow(strings.NewReader(tt.text), tt.row)
		if text := string(got); err != nil && !strings.HasPrefix("error: "+err.Error(), tt.want) || err == nil && text != tt.want {
			t.Errorf("ReadRow(%q, %d) = %s, %v, want %s", tt.text, tt.row, text, err, tt.want)
		}
	}
}
