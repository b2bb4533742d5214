package reading

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/go-sourcemap/sourcemap"
	"github.com/grafana/sobek/ast"
	"github.com/grafana/sobek/file"
	"github.com/grafana/sobek/parser"
	"github.com/grafana/sobek/token"
)

// TypeScript reads a file in two ways. esbuild makes JavaScript of it, in which no name of the file hides another, and a parser reads
// that; its places lead back by the source map, and count only where the file has the same text. What JavaScript does not have, types
// and how imports are written, is read from the file's words, without comments and strings.
func TypeScript(name, text string) (*Module, error) {
	masked := mask(text)
	if tooDeep(masked) {
		return nil, errors.New("cannot be parsed: it is nested too deeply")
	}
	loader := api.LoaderTS
	switch {
	case strings.HasSuffix(name, "x"):
		loader = api.LoaderTSX
	case strings.HasSuffix(name, "js"):
		loader = api.LoaderJS
	}
	res := api.Transform(text, api.TransformOptions{
		Loader: loader, Format: api.FormatESModule, Target: api.ES2022, Sourcemap: api.SourceMapExternal, SourcesContent: api.SourcesContentExclude,
		TsconfigRaw: `{"compilerOptions":{"verbatimModuleSyntax":true}}`, Charset: api.CharsetUTF8, LogLevel: api.LogLevelSilent,
	})
	if len(res.Errors) > 0 {
		e := res.Errors[0]
		if e.Location != nil {
			return nil, fmt.Errorf("line %d: %s", e.Location.Line, e.Text)
		}
		return nil, fmt.Errorf("%s", e.Text)
	}
	code := string(res.Code)
	program, err := parser.ParseFile(nil, name, code, parser.IgnoreRegExpErrors, parser.WithDisableSourceMaps, parser.IsModule)
	if err != nil {
		return nil, fmt.Errorf("cannot be parsed: %w", err)
	}
	consumer, err := sourcemap.Parse("", res.Map)
	if err != nil {
		return nil, fmt.Errorf("read the source map: %w", err)
	}
	r := &reader{text: text, masked: masked, code: code, consumer: consumer, textLines: lines(text), codeLines: lines(code), module: &Module{}, seen: map[any]bool{}}
	r.words()
	r.walk(reflect.ValueOf(program.Body), (*reader).count)
	r.seen = map[any]bool{}
	r.walk(reflect.ValueOf(program.Body), (*reader).node)
	return r.module, nil
}

type reader struct {
	text, code           string
	masked               string // the text, with blanks for comments and strings
	consumer             *sourcemap.Consumer
	textLines, codeLines []int
	module               *Module
	seen                 map[any]bool
	constants            map[string]ast.Expression // of const declarations
	uses                 map[string]int            // of identifiers
	locals               map[string]bool           // imported names
}

// lines returns the offsets at which lines begin.
func lines(text string) []int {
	out := []int{0}
	for i, c := range []byte(text) {
		if c == '\n' {
			out = append(out, i+1)
		}
	}
	return out
}

// at returns the offset in the file of a place in the JavaScript. It is not ok unless the file has want there.
func (r *reader) at(idx file.Idx, want string) (int, bool) {
	offset := int(idx) - 1
	line := sort.SearchInts(r.codeLines, offset+1) - 1
	if offset < 0 || line < 0 {
		return 0, false
	}
	column := 0
	for _, c := range r.code[r.codeLines[line]:offset] {
		column += units(c)
	}
	_, _, sourceLine, sourceColumn, ok := r.consumer.Source(line+1, column)
	if !ok || sourceLine < 1 || sourceLine > len(r.textLines) {
		return 0, false
	}
	at := r.textLines[sourceLine-1]
	for at < len(r.text) && sourceColumn > 0 {
		c, n := utf8.DecodeRuneInString(r.text[at:])
		at, sourceColumn = at+n, sourceColumn-units(c)
	}
	return at, strings.HasPrefix(r.text[at:], want)
}

func units(c rune) int {
	if c > 0xffff {
		return 2
	}
	return 1
}

// identifier is at for a whole name.
func (r *reader) identifier(idx file.Idx, name string) (Span, bool) {
	at, ok := r.at(idx, name)
	end := at + len(name)
	return Span{at, end}, ok && (end == len(r.text) || !wordByte(r.text[end]))
}

func wordByte(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
}

// literal returns where a string stands in the file, with its quotes.
func (r *reader) literal(idx file.Idx, value string) (Span, bool) {
	at, _ := r.at(idx, "")
	for _, quote := range []string{`"`, `'`, "`"} {
		if whole := quote + value + quote; strings.HasPrefix(r.text[at:], whole) {
			return Span{at, at + len(whole)}, true
		}
	}
	return Span{}, false
}

// walk calls visit for each node of a tree, once.
func (r *reader) walk(v reflect.Value, visit func(*reader, any)) {
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			r.walk(v.Elem(), visit)
		}
	case reflect.Pointer:
		if v.IsNil() || r.seen[v.Interface()] || v.Type() == reflect.TypeFor[*file.File]() {
			return
		}
		r.seen[v.Interface()] = true
		visit(r, v.Interface())
		r.walk(v.Elem(), visit)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				r.walk(v.Field(i), visit)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			r.walk(v.Index(i), visit)
		}
	}
}

// count collects what the file declares and how often it uses it.
func (r *reader) count(n any) {
	if r.uses == nil {
		r.uses, r.constants = map[string]int{}, map[string]ast.Expression{}
	}
	switch n := n.(type) {
	case *ast.Identifier:
		r.uses[n.Name.String()]++
	case *ast.PropertyShort:
		r.uses[n.Name.Name.String()]++
	case *ast.LexicalDeclaration:
		for _, b := range n.List {
			name, ok := b.Target.(*ast.Identifier)
			if !ok {
				continue
			}
			r.constants[name.Name.String()] = nil
			if n.Token == token.CONST {
				r.constants[name.Name.String()] = b.Initializer
			}
		}
	}
}

// node reads uses of imported names, and calls.
func (r *reader) node(n any) {
	switch n := n.(type) {
	case *ast.Identifier:
		if name := n.Name.String(); r.locals[name] {
			if at, ok := r.identifier(n.Idx, name); ok {
				r.module.Refs = append(r.module.Refs, Ref{Local: name, At: at})
			}
		}
	case *ast.PropertyShort:
		if name := n.Name.Name.String(); r.locals[name] {
			if at, ok := r.identifier(n.Name.Idx, name); ok {
				r.module.Refs = append(r.module.Refs, Ref{Local: name, At: at, Short: true})
			}
		}
	case *ast.DotExpression:
		if used, ok := r.callee(n); ok && r.locals[used.Local] {
			r.module.Refs = append(r.module.Refs, used)
		}
		r.mention(n.Identifier.Idx, n.Identifier.Name.String())
	case *ast.ObjectPattern:
		for _, p := range n.Properties {
			switch p := p.(type) {
			case *ast.PropertyShort:
				r.mention(p.Name.Idx, p.Name.Name.String())
			case *ast.PropertyKeyed:
				if key, ok := p.Key.(*ast.StringLiteral); ok {
					r.mention(key.Idx, key.Value.String())
				}
			}
		}
	case *ast.PropertyKeyed:
		if key, ok := n.Key.(*ast.StringLiteral); ok && !n.Computed {
			r.seen[key] = true // it is written, not read
		}
	case *ast.StringLiteral:
		r.mention(n.Idx, n.Value.String())
	case *ast.CallExpression:
		r.call(n)
	}
}

// mention notes the name of a member, or a text that may be one.
func (r *reader) mention(idx file.Idx, name string) {
	const longest = 200
	if len(name) > longest {
		return
	}
	at, _ := r.at(idx, "")
	r.module.Mentions = append(r.module.Mentions, Mention{Name: name, Line: 1 + strings.Count(r.text[:at], "\n")})
}

// callee reads a name, or a member of one.
func (r *reader) callee(e ast.Expression) (Ref, bool) {
	switch e := e.(type) {
	case *ast.Identifier:
		return Ref{Local: e.Name.String()}, true
	case *ast.DotExpression:
		inner, ok := r.callee(e.Left)
		name := e.Identifier.Name.String()
		at, found := r.identifier(e.Identifier.Idx, name)
		return Ref{Local: inner.Local, Member: append(slices.Clone(inner.Member), name), At: at}, ok && found
	}
	return Ref{}, false
}

func (r *reader) call(n *ast.CallExpression) {
	used, ok := r.callee(n.Callee)
	byName := used.Local == "callMCPTool" || len(used.Member) > 0 && used.Member[len(used.Member)-1] == "callMCPTool"
	if !ok || !byName && !r.locals[used.Local] {
		return
	}
	start, _ := r.at(n.Idx0(), "")
	c := Call{Callee: used, Line: 1 + strings.Count(r.text[:start], "\n")}
	args := n.ArgumentList
	if byName {
		if len(args) == 0 {
			return
		}
		id, ok := args[0].(*ast.StringLiteral)
		if !ok {
			return
		}
		if c.IDAt, ok = r.literal(id.Idx, id.Value.String()); !ok {
			return
		}
		c.ID, args = id.Value.String(), args[1:]
	}
	if len(args) > 0 {
		c.Input = r.value(args[0], true)
	} else if end := used.At.End; !byName && end == 0 { // f(): what follows the name is read
		if at, ok := r.identifier(n.Callee.Idx0(), used.Local); ok {
			c.Open = emptyCall(r.text, at.End)
		}
	} else if !byName {
		c.Open = emptyCall(r.text, end)
	}
	r.module.Calls = append(r.module.Calls, c)
}

var empty = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*\(\s*\)`) })

// emptyCall returns the place between the parentheses that follow a name; zero if they are not empty.
func emptyCall(text string, end int) int {
	if m := empty().FindString(text[end:]); m != "" {
		return end + strings.IndexByte(m, '(') + 1
	}
	return 0
}

// value reads an expression. A constant that is used once counts as what it is declared as.
func (r *reader) value(e ast.Expression, follow bool) *Value {
	start, _ := r.at(e.Idx0(), "")
	v := &Value{Kind: "other", Line: 1 + strings.Count(r.text[:start], "\n"), At: Span{start, start}}
	switch e := e.(type) {
	case *ast.ObjectLiteral:
		r.object(e, v)
	case *ast.ArrayLiteral:
		v.Kind = "array"
		for _, item := range e.Value {
			if _, spread := item.(*ast.SpreadElement); spread || item == nil {
				v.Spread = true
				continue
			}
			v.Items = append(v.Items, r.value(item, follow))
		}
	case *ast.StringLiteral:
		if at, ok := r.literal(e.Idx, e.Value.String()); ok {
			v.Kind, v.At, v.Text = "string", at, e.Value.String()
		}
	case *ast.TemplateLiteral:
		if len(e.Expressions) == 0 && len(e.Elements) == 1 && e.Tag == nil {
			if at, ok := r.literal(e.OpenQuote, e.Elements[0].Parsed.String()); ok {
				v.Kind, v.At, v.Text = "string", at, e.Elements[0].Parsed.String()
			}
		}
	case *ast.NumberLiteral, *ast.BooleanLiteral, *ast.NullLiteral:
		v.Kind = "plain"
	case *ast.ConditionalExpression:
		v.Kind, v.Items = "choice", []*Value{r.value(e.Consequent, false), r.value(e.Alternate, false)}
	case *ast.BinaryExpression:
		if e.Operator == token.LOGICAL_OR || e.Operator == token.COALESCE {
			v.Kind, v.Items = "choice", []*Value{r.value(e.Left, false), r.value(e.Right, false)}
		}
	case *ast.Identifier:
		name := e.Name.String()
		if made := r.constants[name]; made != nil && r.uses[name] == 2 && follow {
			return r.value(made, false)
		}
	}
	return v
}

func (r *reader) object(e *ast.ObjectLiteral, v *Value) {
	at, ok := r.at(e.LeftBrace, "{")
	if !ok {
		return
	}
	v.Kind, v.At = "object", Span{at, at + 1}
	if len(e.Value) == 0 {
		end := strings.IndexByte(r.text[at:], '}')
		v.At.End = at + end + 1
	}
	for _, p := range e.Value {
		m, ok := r.member(p)
		if !ok {
			v.Spread = true
			continue
		}
		v.Members = append(v.Members, m)
	}
}

// member reads a member with a name that is written down.
func (r *reader) member(p ast.Property) (m Member, ok bool) {
	switch p := p.(type) {
	case *ast.PropertyShort:
		m = Member{Name: p.Name.Name.String(), Short: true}
		m.At, ok = r.identifier(p.Name.Idx, m.Name)
		m.Value = r.value(&p.Name, true)
		return m, ok
	case *ast.PropertyKeyed:
		key, is := p.Key.(*ast.StringLiteral)
		if p.Computed || !is || p.Kind != ast.PropertyKindValue {
			return m, false
		}
		m = Member{Name: key.Value.String(), Value: r.value(p.Value, true)}
		if m.At, ok = r.identifier(key.Idx, m.Name); ok {
			m.Short = strings.HasPrefix(strings.TrimLeft(r.masked[m.At.End:], " \t\r\n"), ",") || strings.HasPrefix(strings.TrimLeft(r.masked[m.At.End:], " \t\r\n"), "}")
			return m, true
		}
		m.At, ok = r.literal(key.Idx, m.Name)
		return m, ok
	}
	return m, false
}

var (
	importStatement = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)(?:^|[;{}]|\s)(import|export)\s+(type\s+)?([\w$*{}\s,]*?)\s*from\s*["']`)
	})
	// importCall matches const { a, b: c } = await import("…"), or const m = …
	importCall = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(?:const|let|var)\s+(?:\{([\w$:\s,]*)\}|([\w$]+))\s*=\s*(?:await\s+import|require)\s*\(\s*["']`)
	})
	destructured = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`([\w$]+)(?:\s*:\s*([\w$]+))?`) })
	specifier    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:(?:\.{1,2}/)*|/?.*/|#)servers(?:/(.*))?$`) })
	clause       = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(\*\s*as\s+([\w$]+))|(?:type\s+)?([\w$]+)(?:\s+as\s+([\w$]+))?`)
	})
	word = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[\w$]+`) })
)

// words reads imports, identifiers and uses of types from the words of the file.
func (r *reader) words() {
	r.locals = map[string]bool{}
	inImport := []Span{}
	for _, m := range importStatement().FindAllStringSubmatchIndex(r.masked, -1) {
		quote := m[1] - 1
		end := strings.IndexByte(r.text[quote+1:], r.text[quote])
		if end < 0 {
			continue
		}
		module := Span{quote + 1, quote + 1 + end}
		found := specifier().FindStringSubmatch(r.text[module.Start:module.End])
		if found == nil {
			continue
		}
		inImport = append(inImport, Span{m[2], module.End})
		r.imports(m, module, segments(found[1]))
	}
	for _, m := range importCall().FindAllStringSubmatchIndex(r.masked, -1) {
		r.importCall(m)
	}
	types := map[string]bool{}
	for _, im := range r.module.Imports {
		r.locals[im.Local] = true
		types[im.Local] = im.Name != ""
	}
	known := map[string]bool{}
	for _, m := range word().FindAllStringIndex(r.masked, -1) {
		name := r.masked[m[0]:m[1]]
		if !known[name] {
			known[name] = true
			r.module.Names = append(r.module.Names, name)
		}
		member := strings.HasSuffix(strings.TrimRight(r.masked[:m[0]], " \t\r\n"), ".") && !strings.HasSuffix(r.masked[:m[0]], "...")
		inside := slices.ContainsFunc(inImport, func(s Span) bool { return m[0] >= s.Start && m[1] <= s.End })
		if types[name] && name[0] >= 'A' && name[0] <= 'Z' && !inside && !member { // names of types begin so, and no function's does
			r.module.Refs = append(r.module.Refs, Ref{Local: name, At: Span{m[0], m[1]}})
		}
	}
}

// importCall reads the names of an import that is an expression. They stay: the import gives what is renamed the former name.
func (r *reader) importCall(m []int) {
	quote := m[1] - 1
	end := strings.IndexByte(r.text[quote+1:], r.text[quote])
	if end < 0 {
		return
	}
	module := Span{quote + 1, quote + 1 + end}
	found := specifier().FindStringSubmatch(r.text[module.Start:module.End])
	if found == nil {
		return
	}
	im := Import{Path: segments(found[1]), Module: module}
	if m[4] >= 0 {
		im.Local = r.masked[m[4]:m[5]]
		r.module.Imports = append(r.module.Imports, im)
		return
	}
	for _, c := range destructured().FindAllStringSubmatchIndex(r.masked[m[2]:m[3]], -1) {
		im.At = Span{m[2] + c[2], m[2] + c[3]}
		im.Name = r.masked[im.At.Start:im.At.End]
		if im.Local, im.Taken = im.Name, true; c[4] >= 0 {
			im.Local = r.masked[m[2]+c[4] : m[2]+c[5]]
		}
		r.module.Imports = append(r.module.Imports, im)
	}
}

// segments splits what follows "servers" in a specifier.
func segments(rest string) []string {
	rest = strings.Trim(rest, "/")
	for _, extension := range []string{".ts", ".js", ".mts", ".mjs"} {
		rest = strings.TrimSuffix(rest, extension)
	}
	parts := strings.Split(rest, "/")
	if parts[len(parts)-1] == "index" {
		parts = parts[:len(parts)-1]
	}
	if len(parts) == 1 && parts[0] == "" {
		return nil
	}
	return parts
}

// imports reads the names of one import or export.
func (r *reader) imports(m []int, module Span, path []string) {
	names := r.masked[m[6]:m[7]]
	exported := r.masked[m[2]:m[3]] == "export"
	for _, c := range clause().FindAllStringSubmatchIndex(names, -1) {
		im := Import{Path: path, Module: module, Exported: exported}
		switch {
		case c[4] >= 0:
			im.Local = names[c[4]:c[5]]
		default:
			im.At = Span{m[6] + c[6], m[6] + c[7]}
			im.Name = names[c[6]:c[7]]
			if im.Local = im.Name; c[8] >= 0 {
				im.Local = names[c[8]:c[9]]
			}
		}
		r.module.Imports = append(r.module.Imports, im)
	}
}

// mask returns the text with blanks in place of comments, and of what is inside of strings.
func mask(text string) string {
	out := []byte(text)
	blank := func(from, to int) {
		for i := from; i < to && i < len(out); i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	last := byte('(') // the last character that is code: a slash after an operator begins a regular expression
	for i := 0; i < len(text); i++ {
		rest, end := text[i:], 0
		switch c := text[i]; {
		case strings.HasPrefix(rest, "//"):
			end = strings.IndexByte(rest+"\n", '\n')
			blank(i, i+end)
		case strings.HasPrefix(rest, "/*"):
			end = strings.Index(rest+"*/", "*/") + 2
			blank(i, i+end)
		case c == '"' || c == '\'' || c == '`' || c == '/' && strings.IndexByte("(,=:[!&|?{};\n", last) >= 0:
			end = closing(rest, c)
			blank(i+1, i+end-1)
			last = c
		case c != ' ' && c != '\t' && c != '\n' && c != '\r':
			last = c
		}
		if end > 0 {
			i += end - 1
		}
	}
	return string(out)
}

// tooDeep reports whether a text is nested more deeply than a parser should be asked to follow.
func tooDeep(masked string) bool {
	const most = 500
	depth, run := 0, 0
	for _, c := range []byte(masked) {
		switch {
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		}
		if run++; c != '\n' && wordByte(c) || c == ';' || c == '\n' || c == ' ' {
			run = 0
		}
		if depth > most || run > most {
			return true
		}
	}
	return false
}

// closing returns the length of a literal that begins a text, its quotes included.
func closing(text string, quote byte) int {
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case text[i] == quote:
			return i + 1
		case text[i] == '\n' && quote != '`':
			return i
		}
	}
	return len(text)
}
