package render_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
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

// TestWrappersSayAllOfParameters looks in the wrappers of the recorded servers, of the golden ones and of testdata/schemas for every
// description, enum value, constant, default and bound of every parameter, however deeply nested.
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
	checkSaid(t, servers, raw)
}

// TestWrappersSayAllOfRandomSchemas is like [TestWrappersSayAllOfParameters], for schemas whose keywords are nested in ways that no server
// uses yet.
func TestWrappersSayAllOfRandomSchemas(t *testing.T) {
	server := render.Server{Key: "random", Dir: "random"}
	raw := map[string]json.RawMessage{}
	for i := range 300 {
		g := schemaMaker{random: rand.New(rand.NewPCG(uint64(i), 7))}
		name := fmt.Sprintf("t%d", i)
		input := g.input()
		raw["random__"+name] = input
		converted, _ := schema.Convert(input)
		server.Tools = append(server.Tools, render.Tool{ID: "random__" + name, Name: name, Input: converted})
	}
	checkSaid(t, []render.Server{server}, raw)
}

// checkSaid looks in the wrappers of servers for everything in the input schemas in raw, which are keyed by id.
func checkSaid(t *testing.T, servers []render.Server, raw map[string]json.RawMessage) {
	t.Helper()
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
				for _, f := range r.facts {
					if !page.says(f) {
						t.Errorf("%s: %s: %s: %s is not said: %q", target.Name, tool.ID, f.pointer, f.kind, f.words)
					}
				}
			}
		}
	}
	t.Logf("%d facts", facts)
}

// schemaCase is a schema in testdata/schemas.
type schemaCase struct {
	Name   string
	Schema json.RawMessage
}

// schemaCases returns the schemas that describe objects.
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

// fact is something that a schema says about a parameter.
type fact struct {
	pointer, kind string
	words         string
	// coded reports whether the words may be code instead of a comment.
	coded bool
}

// factReader collects the facts in a schema.
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

// constants returns the values of a schema's enum or const, except null, booleans and values that are not scalar.
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

// within reads the schemas within s.
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

// beside requires the description of one of several alternatives to be beside its values.
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
	comments [][]string // the words of each comment
	code     string
}

// readPage separates comments from code. Successive comment lines are one comment.
func readPage(source, mark string) *page {
	p := &page{}
	var code, comment strings.Builder
	end := func() {
		p.comments = append(p.comments, wordsOf(comment.String()))
		comment.Reset()
	}
	blank := true // the line contains nothing but a comment so far
	for i := 0; i < len(source); {
		rest := source[i:]
		n := 1
		switch {
		case mark == "#" && strings.HasPrefix(rest, `"""`):
			for n = 3; !strings.HasPrefix(rest[n:], `"""`); n++ {
				if rest[n] == '\\' {
					n++
				}
			}
			comment.WriteString(strings.ReplaceAll(rest[3:n], `\`, " "))
			end()
			n += 3
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
			for ; n < len(rest) && rest[n] != '"'; n++ {
				if rest[n] == '\\' {
					n++
				}
			}
			n = min(n+1, len(rest))
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

// says reports whether the words of a fact are in one comment, in their order, or, if they are a value, in code.
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

// schemaMaker builds schemas from words that occur only once.
type schemaMaker struct {
	random *rand.Rand
	made   int // number of words and numbers
}

func (g *schemaMaker) input() json.RawMessage {
	properties, defs := map[string]any{}, map[string]any{}
	for range 3 {
		properties[g.word()] = g.schema(3)
		defs[fmt.Sprintf("D%d", len(defs))] = g.schema(2)
	}
	return json.RawMessage(jsonOf(map[string]any{"type": "object", "properties": properties, "$defs": defs}))
}

func (g *schemaMaker) word() string { return fmt.Sprintf("w%dx", g.number()) }

func (g *schemaMaker) number() int {
	g.made++
	return 1000 + g.made
}

// schema builds a schema with at most depth nested levels. Most schemas have a description.
func (g *schemaMaker) schema(depth int) map[string]any {
	s := g.scalar()
	if depth > 0 {
		s = g.composed(depth - 1)
	}
	if g.random.IntN(3) > 0 {
		s["description"] = g.word() + " and " + g.word()
	}
	return s
}

func (g *schemaMaker) composed(depth int) map[string]any {
	switch g.random.IntN(10) {
	case 0, 1:
		return g.object(depth)
	case 2:
		return map[string]any{"type": "array", "items": g.schema(depth), "minItems": 1, "maxItems": g.number()}
	case 3:
		return map[string]any{"type": "array", "prefixItems": []any{g.schema(depth), g.schema(depth)}, "items": g.random.IntN(2) > 0}
	case 4, 5:
		wider := []any{map[string]any{"type": "object"}, map[string]any{"type": "string"}, map[string]any{"type": "null"}, map[string]any{}}
		return map[string]any{"anyOf": []any{g.schema(depth), g.schema(depth), wider[g.random.IntN(len(wider))]}}
	case 6:
		return map[string]any{"type": "object", "additionalProperties": g.schema(depth)}
	case 7:
		return map[string]any{"allOf": []any{g.open(depth), g.open(depth)}}
	case 8:
		return map[string]any{"$ref": fmt.Sprintf("#/$defs/D%d", g.random.IntN(3))}
	}
	return g.scalar()
}

// open builds an object that accepts other properties too, so that it can be met with another object.
func (g *schemaMaker) open(depth int) map[string]any {
	properties := map[string]any{}
	for range 1 + g.random.IntN(3) {
		properties[g.word()] = g.schema(depth)
	}
	return map[string]any{"type": "object", "properties": properties, "required": slices.Sorted(maps.Keys(properties))[:g.random.IntN(2)]}
}

func (g *schemaMaker) object(depth int) map[string]any {
	s := g.open(depth)
	switch g.random.IntN(6) {
	case 0:
		s["additionalProperties"] = false
	case 1:
		s["additionalProperties"] = g.schema(depth)
	case 2:
		s["patternProperties"] = map[string]any{"^" + g.word(): g.schema(depth)}
	}
	return s
}

func (g *schemaMaker) scalar() map[string]any {
	switch g.random.IntN(6) {
	case 0:
		return map[string]any{"enum": []any{g.word(), g.word()}}
	case 1:
		return map[string]any{"type": "integer", "minimum": g.number(), "maximum": g.number()}
	case 2:
		return map[string]any{"type": "string", "maxLength": g.number(), "default": g.word()}
	case 3:
		return map[string]any{"const": g.word()}
	case 4:
		return map[string]any{"type": "boolean", "default": true}
	}
	return map[string]any{"type": []any{"string", "number"}}
}
