package hostile

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/render"
	"github.com/mcpgen/mcpgen/gen/render/python"
	"github.com/mcpgen/mcpgen/gen/render/typescript"
	"github.com/mcpgen/mcpgen/gen/schema"
	"github.com/mcpgen/mcpgen/gen/verify"
)

// tree is the generated files of a hostile server.
type tree struct {
	files    map[string][]byte
	tools    map[string]toolFile // by file
	indexes  map[string][]string // by file: the functions
	names    []string
	dropped  int
	received int
}

type toolFile struct{ id, function string }

// generate passes tool definitions through the parts of a sync that generate files.
func generate(key, title, instructions string, definitions []json.RawMessage, names []string) (*tree, error) {
	server, warnings := catalog.NewServer(key, title, instructions, definitions)
	c, err := catalog.New([]catalog.Server{server})
	if err != nil {
		return nil, err
	}
	s := c.Servers[0]
	out := &tree{files: map[string][]byte{}, tools: map[string]toolFile{}, indexes: map[string][]string{}, names: append(names, key), received: len(s.Tools)}
	for _, w := range warnings {
		if w.Dropped {
			out.dropped++
		}
	}
	rs := render.Server{Key: s.Key, Dir: s.Dir, Title: s.Title, Instructions: s.Instructions}
	for _, t := range s.Tools {
		rt := render.Tool{ID: t.ID, Name: t.Name, Title: t.Title, Description: t.Description, Hints: render.Hints(t.Hints)}
		rt.Input, _ = schema.Convert(t.Input)
		if t.Output != nil {
			output, _ := schema.Convert(t.Output)
			rt.Output = &output
		}
		rs.Tools = append(rs.Tools, rt)
	}
	rendered, err := render.Render([]render.Server{rs}, []*render.Language{typescript.Language(), python.Language()})
	if err != nil {
		return nil, err
	}
	for name, content := range rendered.Tree {
		if strings.HasPrefix(name, s.Dir+"/") || strings.HasSuffix(name, ".md") {
			out.files[name] = content
		}
	}
	for language, index := range map[string]string{"typescript": "index.ts", "python": "__init__.py"} {
		functions := []string{}
		for _, t := range s.Tools {
			n := rendered.Names[language][t.ID]
			out.tools[n.File] = toolFile{t.ID, n.Function}
			functions = append(functions, n.Function)
		}
		out.indexes[s.Dir+"/"+index] = functions
	}
	return out, nil
}

// check reports every file whose name or content breaks the rules for generated files.
func (t *tree) check() error {
	var errs []error
	allowed := t.derived()
	folded := map[string]string{}
	for name, src := range t.files {
		if other, taken := folded[strings.ToLower(name)]; taken {
			errs = append(errs, fmt.Errorf("%q and %q are one file where case is ignored", name, other))
		}
		folded[strings.ToLower(name)] = name
		if err := fileName(name); err != nil {
			errs = append(errs, err)
		}
		if strings.HasSuffix(name, ".md") {
			continue
		}
		if err := t.verify(name, src); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w\n%s", name, err, src))
		}
		if err := noTextIsCode(name, string(src), allowed); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w\n%s", name, err, src))
		}
	}
	return errors.Join(errs...)
}

func (t *tree) verify(name string, src []byte) error {
	functions, index := t.indexes[name]
	w := verify.Wrapper{ID: t.tools[name].id, Function: t.tools[name].function}
	switch ts := strings.HasSuffix(name, ".ts"); {
	case index && ts:
		return verify.Index{Functions: functions}.TypeScript(src)
	case index:
		return verify.Index{Functions: functions}.Python(src)
	case ts:
		return w.TypeScript(src)
	default:
		return w.Python(src)
	}
}

var fileForm = regexp.MustCompile(`^[a-z][a-z0-9_]*/([A-Za-z0-9][A-Za-z0-9_]*|__init__)\.(ts|py)$`)

func fileName(name string) error {
	if name == "README.md" {
		return nil
	}
	base, _, _ := strings.Cut(name[strings.Index(name, "/")+1:], ".")
	if !fileForm.MatchString(name) || len(base) > 100 || ident.ReservedFile(base) {
		return fmt.Errorf("%q is not a valid file name", name)
	}
	return nil
}

// These match comments and strings, independently of gen/verify.
var (
	tsText = regexp.MustCompile(`(?s:/\*.*?\*/)|//[^\n]*|"(?:[^"\\\n]|\\[^\n])*"`)
	pyText = regexp.MustCompile(`(?s:"""(?:[^\\]|\\.)*?""")|"(?:[^"\\\n]|\\[^\n])*"|#[^\n]*`)
	// Types in single quotation marks are code.
	code = regexp.MustCompile(`[A-Za-z_$][A-Za-z0-9_$]*|[0-9][0-9.eE+]*|\.\.\.|->|[][{}()<>|&;:,?=.@*'/-]|\s+`)
)

// vocabulary holds the words of the languages that generated files may contain in code.
var vocabulary = func() map[string]bool {
	words := map[string]bool{}
	for _, w := range strings.Fields(`import from export type interface async function return callMCPTool input Promise Record Array
		string number boolean null undefined unknown never object Function key true false void readonly
		class def as tool any_tool UNSET TypedDict Literal NotRequired Required ReadOnly TypeAlias Mapping Sequence Union Never annotations __future__ collections abc typing client
		str int float bool None list dict tuple total True False closed extra_items item
		Any AnyUndeclared Extra NoValue OneOf Open TextOrContent extra if else pass TYPE_CHECKING typing_extensions _T TypeVar Callable`) {
		words[w] = true
	}
	return words
}()

// derived returns the identifiers that names may become, in lower case.
func (t *tree) derived() map[string]bool {
	forms := map[string]bool{"extra": true, "open": true, "item": true, "definition": true, "literal": true, "oneof": true} // these may be taken, and become Extra2
	for _, name := range t.names {
		name = strings.ToValidUTF8(name, "\uFFFD")
		for _, form := range []string{name, ident.Snake(name), ident.Camel(name), ident.Pascal(name), strings.Trim(name, "_")} {
			forms[strings.ToLower(form)] = true
		}
	}
	for _, f := range t.tools {
		forms[strings.ToLower(f.function)] = true
		forms[strings.ToLower(ident.Pascal(f.function))] = true
		forms[strings.ToLower(ident.Camel(f.function))] = true
	}
	return forms
}

// pieces are the words that may be added to names to make identifiers unique.
var pieces = strings.Fields("input output item value root arg fields keys literal definition property properties items then else not anyof oneof allof if contains additional extra _ n 0 1 2 3 4 5 6 7 8 9")

var hash = regexp.MustCompile(`^[0-9a-f]{6}`)

// isDerived reports whether an identifier, in lower case, was derived from names: it consists of their forms, one or
// several, with numbers, hashes and [pieces] between them.
func isDerived(form string, derived map[string]bool) bool {
	if derived[form] || strings.Contains(form, "zqxname") {
		return true
	}
	reached := make([]bool, len(form)+1)
	reached[0] = true
	for i := range form {
		if !reached[i] {
			continue
		}
		rest := form[i:]
		if hash.MatchString(rest) {
			reached[i+6] = true
		}
		for _, p := range pieces {
			if strings.HasPrefix(rest, p) {
				reached[i+len(p)] = true
			}
		}
		for f := range derived {
			if f != "" && strings.HasPrefix(rest, f) {
				reached[i+len(f)] = true
			}
			// Long names are cut, and a hash of the whole name replaces the rest.
			if cut := max(len(rest)-6, 0); len(form) > 70 && hash.MatchString(rest[cut:]) && strings.HasPrefix(f, rest[:cut]) {
				return true
			}
		}
	}
	return reached[len(form)]
}

// noTextIsCode returns an error if a file, without its comments and strings, contains anything but words of the language,
// identifiers derived from names, and punctuation.
func noTextIsCode(name, src string, derived map[string]bool) error {
	text := tsText
	if strings.HasSuffix(name, ".py") {
		text = pyText
	}
	rest := text.ReplaceAllString(src, " ")
	if i := strings.Index(strings.ToLower(rest), canary); i >= 0 {
		return fmt.Errorf("a text became code: %q", rest[max(0, i-40):min(len(rest), i+60)])
	}
	at := 0
	for _, m := range code.FindAllStringIndex(rest, -1) {
		if m[0] != at {
			break
		}
		at = m[1]
		word := rest[m[0]:m[1]]
		if c := word[0]; c != '_' && c != '$' && (c|0x20 < 'a' || c|0x20 > 'z') || vocabulary[word] {
			continue
		}
		if !isDerived(strings.ToLower(word), derived) {
			return fmt.Errorf("%q is neither a word of the language nor derived from a name", word)
		}
	}
	if at != len(rest) {
		return fmt.Errorf("unexpected code: %q", rest[at:min(len(rest), at+60)])
	}
	return nil
}

// exportAll matches the line of an index that exports everything of a wrapper.
var exportAll = regexp.MustCompile(`export\*from"\./([\w$]+)\.ts";`)

// compile compiles the TypeScript files with esbuild, and compares the resulting JavaScript with what is expected.
func (t *tree) compile() error {
	var errs []error
	for name, src := range t.files {
		if !strings.HasSuffix(name, ".ts") {
			continue
		}
		result := api.Transform(string(src), api.TransformOptions{Loader: api.LoaderTS, MinifyWhitespace: true, LegalComments: api.LegalCommentsNone, Target: api.ESNext, TsconfigRaw: `{"compilerOptions":{"verbatimModuleSyntax":true}}`})
		if len(result.Errors) > 0 {
			errs = append(errs, fmt.Errorf("%s: esbuild: %s\n%s", name, result.Errors[0].Text, src))
			continue
		}
		// A wrapper exports one value, its function; [tree.javaScript] of that file checks that.
		got := exportAll.ReplaceAllString(strings.TrimSpace(string(result.Code)), `export{$1}from"./$1.ts";`)
		if want := t.javaScript(name); got != want && got != strings.Replace(want, "){return", "={}){return", 1) {
			errs = append(errs, fmt.Errorf("%s compiles to %s, want %s", name, got, want))
		}
	}
	return errors.Join(errs...)
}

// javaScript returns what a TypeScript file must be without its types.
func (t *tree) javaScript(name string) string {
	if functions, ok := t.indexes[name]; ok {
		var b strings.Builder
		for _, f := range functions {
			fmt.Fprintf(&b, `export{%s}from"./%s.ts";`, f, f)
		}
		if len(functions) == 0 {
			return "export{};"
		}
		return b.String()
	}
	f, input := t.tools[name], "input"
	if f.function == input {
		input = "input2" // as esbuild renames it
	}
	return fmt.Sprintf(`import{callMCPTool}from"../client.ts";export async function %s(%s){return callMCPTool(%q,%s)}`, f.function, input, f.id, input)
}
