package render_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/render"
	"github.com/mcpgen/mcpgen/gen/render/internal/rendertest"
	"github.com/mcpgen/mcpgen/gen/render/internal/text"
	"github.com/mcpgen/mcpgen/gen/schema"
)

// TestWrappersSayAllOfParameters looks in the wrappers of the recorded servers, of the golden ones and of testdata/schemas
// for every description, enum value, constant, default and bound of every parameter, however deep it is.
func TestWrappersSayAllOfParameters(t *testing.T) {
	var servers []render.Server
	raw := map[string]json.RawMessage{}
	for _, path := range append(rendertest.CorpusPaths(t), rendertest.GoldenDir(t)+"/google-drive.json", rendertest.GoldenDir(t)+"/docs.json") {
		server := rendertest.LoadServer(t, path)
		servers = append(servers, server)
		for id, definition := range rawTools(t, path) {
			var d struct{ InputSchema json.RawMessage }
			if err := json.Unmarshal(definition, &d); err != nil {
				t.Fatal(err)
			}
			raw[id] = d.InputSchema
		}
	}
	made := render.Server{Key: "made", Dir: "made"}
	for _, c := range schemaCases(t) {
		id := "made__" + ident.Snake(c.Name)
		raw[id] = c.Schema
		input, _ := schema.Convert(c.Schema)
		made.Tools = append(made.Tools, render.Tool{ID: id, Name: c.Name, Input: input})
	}
	servers = append(servers, made)
	result, err := render.Render(servers, languages())
	if err != nil {
		t.Fatal(err)
	}
	facts := 0
	for _, target := range languages() {
		for _, server := range servers {
			for _, tool := range server.Tools {
				source := string(result.Tree[result.Names[target.Name][tool.ID].File])
				page := readPage(source, target.Comment)
				r := factReader{root: decode(t, raw[tool.ID]), seen: map[string]bool{}}
				r.read(r.root, "")
				facts += len(r.facts)
				missing := 0
				for _, f := range r.facts {
					if !page.says(f) {
						missing++
						t.Errorf("%s: %s: %s: %s is not said: %q", target.Name, tool.ID, f.pointer, f.kind, f.words)
					}
				}
				if missing > 0 && server.Key == "made" {
					t.Log(source)
				}
			}
		}
	}
	t.Logf("%d facts", facts)
}

// schemaCase is a schema of testdata/schemas.
type schemaCase struct {
	Name   string
	Schema json.RawMessage
}

// schemaCases returns those schemas that are of objects.
func schemaCases(t *testing.T) []schemaCase {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(rendertest.Root(t), "testdata/schemas/*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no schemas: %v", err)
	}
	var out []schemaCase
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var cases []schemaCase
		if err := json.Unmarshal(raw, &cases); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, c := range cases {
			if strings.Contains(string(c.Schema), `"properties"`) {
				c.Name = strings.TrimSuffix(filepath.Base(path), ".json") + " " + c.Name
				out = append(out, c)
			}
		}
	}
	return out
}

func decode(t *testing.T, raw json.RawMessage) any {
	t.Helper()
	var v any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// fact is something that a schema says of a parameter.
type fact struct {
	pointer, kind string
	words         string
	// coded says that the words may be code instead of a comment.
	coded bool
}

// factReader collects what a schema says.
type factReader struct {
	root  any
	seen  map[string]bool // references
	facts []fact
}

func (r *factReader) add(pointer, kind, words string, coded bool) {
	if utf8.RuneCountInString(words) <= text.Max {
		r.facts = append(r.facts, fact{pointer, kind, words, coded})
	}
}

func (r *factReader) read(v any, pointer string) {
	s, ok := v.(map[string]any)
	if !ok {
		return
	}
	if ref, ok := s["$ref"].(string); ok && !r.seen[ref] {
		r.seen[ref] = true
		r.read(r.target(ref), ref)
	}
	if description, ok := s["description"].(string); ok {
		r.add(pointer, "description", description, false)
	}
	if value, ok := s["default"]; ok && value != nil {
		r.add(pointer, "default", show(value), false)
	}
	for _, value := range constants(s) {
		r.add(pointer, "value", show(value), true)
	}
	r.bounds(s, pointer)
	r.within(s, pointer)
}

// constants are the values of a schema's enum or const, but for null, booleans and what is not scalar.
func constants(s map[string]any) []any {
	values, _ := s["enum"].([]any)
	if value, ok := s["const"]; ok {
		values = append(values, value)
	}
	var out []any
	for _, value := range values {
		switch value.(type) {
		case string, json.Number:
			out = append(out, value)
		}
	}
	return out
}

func show(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return fmt.Sprint(jsonOf(v))
}

func jsonOf(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
	return strings.TrimSpace(b.String())
}

func (r *factReader) bounds(s map[string]any, pointer string) {
	for _, keyword := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"} {
		n, ok := s[keyword].(json.Number)
		least := strings.HasPrefix(keyword, "min") && keyword != "minimum"
		switch {
		case !ok, strings.Trim(n.String(), "-") == "9007199254740991", least && n == "0":
		case least && n == "1":
			r.add(pointer, keyword, "1|not empty", false)
		default:
			r.add(pointer, keyword, n.String(), false)
		}
	}
	if s["uniqueItems"] == true {
		r.add(pointer, "uniqueItems", "no repeats", false)
	}
	format, _ := s["format"].(string)
	pattern, _ := s["pattern"].(string)
	switch {
	case pattern != "" && format != "":
		r.add(pointer, "pattern", pattern+"|"+format, false)
	case pattern != "" && len(pattern) < 500:
		r.add(pointer, "pattern", pattern, false)
	case format != "":
		r.add(pointer, "format", format, false)
	}
}

// within reads the schemas inside s.
func (r *factReader) within(s map[string]any, pointer string) {
	for _, keyword := range []string{"properties", "patternProperties", "dependentSchemas"} {
		inner, _ := s[keyword].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(inner)) {
			r.read(inner[name], pointer+"/"+keyword+"/"+name)
		}
	}
	for _, keyword := range []string{"items", "prefixItems", "additionalProperties", "anyOf", "oneOf", "allOf", "then", "else", "contains", "propertyNames"} {
		list, ok := s[keyword].([]any)
		if !ok {
			r.read(s[keyword], pointer+"/"+keyword)
		}
		for i, inner := range list {
			at := fmt.Sprintf("%s/%s/%d", pointer, keyword, i)
			r.read(inner, at)
			if keyword == "anyOf" || keyword == "oneOf" {
				r.beside(inner, at, list)
			}
		}
	}
}

// beside wants the description of one of several alternatives beside its values.
func (r *factReader) beside(v any, pointer string, all []any) {
	others := slices.DeleteFunc(slices.Clone(all), func(v any) bool {
		m, ok := v.(map[string]any)
		return ok && m["type"] == "null"
	})
	s, _ := v.(map[string]any)
	description, _ := s["description"].(string)
	values := constants(s)
	if description == "" || len(values) == 0 || len(others) < 2 {
		return
	}
	var words []string
	for _, value := range values {
		words = append(words, show(value))
	}
	r.add(pointer, "value with its description", strings.Join(words, " ")+" "+description, false)
}

func (r *factReader) target(ref string) any {
	at := r.root
	for _, token := range strings.Split(strings.TrimPrefix(ref, "#"), "/")[1:] {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		m, _ := at.(map[string]any)
		at = m[token]
	}
	return at
}

// page is a wrapper as its reader sees it.
type page struct {
	comments [][]string // the words of each
	code     string
}

// readPage separates comments from code. Lines of comments in a row are one comment.
func readPage(source, mark string) *page {
	p := &page{}
	var code, comment strings.Builder
	end := func() {
		p.comments = append(p.comments, wordsOf(comment.String()))
		comment.Reset()
	}
	blank := true // nothing but a comment is in the line so far
	for i := 0; i < len(source); {
		rest := source[i:]
		n := 1
		switch {
		case mark == "#" && strings.HasPrefix(rest, `"""`):
			n = 6 + strings.Index(rest[3:], `"""`)
			comment.WriteString(strings.ReplaceAll(rest[3:n-3], `\`, " "))
			end()
		case strings.HasPrefix(rest, "/*"):
			n = 4 + strings.Index(rest[2:], "*/")
			comment.WriteString(rest[:n])
			end()
		case strings.HasPrefix(rest, mark):
			n = len(rest)
			if line := strings.IndexByte(rest, '\n'); line >= 0 {
				n = line
			}
			if !blank {
				end()
			}
			comment.WriteString(rest[len(mark):n] + "\n")
			if !blank {
				end()
			}
		case source[i] == '"':
			for n < len(rest) && rest[n] != '"' {
				if rest[n] == '\\' {
					n++
				}
				n++
			}
			n++
			code.WriteString(rest[:n])
			blank = false
		default:
			code.WriteByte(source[i])
			switch {
			case source[i] == '\n':
				blank = true
			case source[i] != ' ':
				if blank {
					end()
				}
				blank = false
			}
		}
		i += n
	}
	p.code = code.String()
	return p
}

// wordsOf returns the words and the numbers of a text.
func wordsOf(text string) []string { return word.FindAllString(strings.ToLower(text), -1) }

var word = regexp.MustCompile(`\pN+|\pL+`)

// says reports whether the words of a fact are in one comment, in their order, or where they are a value in code.
func (p *page) says(f fact) bool {
	if f.coded && (strings.Contains(p.code, text.Quote(f.words, text.Braces)) || strings.Contains(p.code, text.Quote(f.words, text.Long)) || slices.Contains(strings.FieldsFunc(p.code, notNumber), f.words)) {
		return true
	}
	for _, words := range strings.Split(f.words, "|") {
		want := wordsOf(words)
		for _, comment := range p.comments {
			named := f.kind != "default" || slices.ContainsFunc(comment, func(w string) bool { return strings.HasPrefix(w, "default") })
			if named && inOrder(comment, want) {
				return true
			}
		}
	}
	return false
}

func notNumber(r rune) bool { return !unicode.IsNumber(r) && r != '.' && r != '-' }

func inOrder(words, want []string) bool {
	for _, word := range words {
		if len(want) > 0 && word == want[0] {
			want = want[1:]
		}
	}
	return len(want) == 0
}
