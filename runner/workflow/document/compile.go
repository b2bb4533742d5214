package document

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/cel-go/cel"
	"go.yaml.in/yaml/v3"

	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/config/node"
	"github.com/mcpgen/mcpgen/gen/config/shape"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/schema/validate"
	"github.com/mcpgen/mcpgen/runner/internal/expr"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
)

// Options are what a document is checked against.
type Options struct {
	// Tree has the tools. Nil: none, and every call of a tool is a problem.
	Tree *gen.Tree
	// Dir is the absolute folder of the document, in which call: script finds files. Empty: none.
	Dir string
	// Skill returns an error if a skill does not exist. It may be an error with a hint. Nil: there are no skills.
	Skill func(name string) error
	// Form returns an error if a form does not exist. Nil: forms are not looked up.
	Form func(name string) error
	// Read reads the script with what it imports, as [script.Bundler.Read] does, if it imports scripts or skills. Its *[script.Error] says what
	// they do not export. Nil: that is not checked.
	Read func(ctx context.Context, src script.Source) error
}

// Compiled is a document that was checked, and the script that it became.
type Compiled struct {
	*Document
	// Code is TypeScript. It reads the variable input of the run, and its result is that of the workflow.
	Code string
	// Tools are the ids of the tools that it calls, sorted.
	Tools []string
	// Input is the JSON Schema of the input, or nil: anything.
	Input json.RawMessage

	answers map[question]*evaluator
}

type part = expr.Part

// compiler turns a document into a script, and finds what is wrong with it on the way.
type compiler struct {
	doc      *Document
	opt      *Options
	problems *Problems
	types    *declared
	env      *cel.Env
	answers  answers

	taken   map[string]bool       // identifiers of the script
	imports map[string][]string   // what is imported, by module
	known   map[string]string     // identifiers of functions that are imported, by module and name
	library map[string]bool       // what is imported of mcprun
	modules map[string]*yaml.Node // where scripts and skills are called first, by module
	helpers map[string]bool       // functions of helpers.ts
	tools   map[string]bool       // ids
	defined map[string]*yaml.Node // all tasks
	used    map[string]bool       // tasks whose results expressions read
}

// Compile checks the document, and compiles it. The error is [*Problems] and lists everything that was found.
func (d *Document) Compile(ctx context.Context, opt *Options) (*Compiled, error) {
	c, err := d.compiler(opt)
	if err != nil {
		return nil, err
	}
	out := &Compiled{Document: d}
	out.Code = c.script(out)
	if len(c.modules) > 0 && opt.Read != nil {
		if err := c.read(ctx, out.Code); err != nil {
			return nil, err
		}
	}
	if len(c.problems.List) > 0 {
		return nil, c.problems.sorted()
	}
	out.Tools = slices.Sorted(maps.Keys(c.tools))
	out.answers, err = c.answers.compiled()
	return out, err
}

// Answers returns the methods of [Compiled.Answers] for the text of a document that was compiled before. It needs nothing else, and reports no
// problems except those of the document's form.
func Answers(text []byte) (map[string]Method, error) {
	file := "workflow.yaml"
	if jsontext.Value(text).IsValid() {
		file = "workflow.json"
	}
	d, err := Read(file, text)
	if err != nil {
		return nil, err
	}
	c, err := d.compiler(&Options{})
	if err != nil {
		return nil, err
	}
	out := &Compiled{Document: d}
	c.script(out)
	if out.answers, err = c.answers.compiled(); err != nil {
		return nil, err
	}
	return out.Answers(), nil
}

// CheckInput returns an error that lists where an input does not match the document's schema.
func (c *Compiled) CheckInput(input json.RawMessage) error {
	if c.Input == nil {
		return nil
	}
	v, err := validate.Compile(c.Input)
	if err != nil {
		return err
	}
	return v.ValidateAs("the input", input)
}

// compiler returns a compiler with the names of all tasks.
func (d *Document) compiler(opt *Options) (*compiler, error) {
	types, err := newDeclared()
	if err != nil {
		return nil, err
	}
	env, err := cel.NewEnv(append(expr.Options(), cel.CustomTypeProvider(types))...)
	if err != nil {
		return nil, err
	}
	c := &compiler{
		doc: d, opt: opt, problems: &Problems{}, types: types, env: env, answers: answers{map[question][]string{}},
		taken: map[string]bool{}, imports: map[string][]string{}, known: map[string]string{}, library: map[string]bool{"vars": true}, modules: map[string]*yaml.Node{}, helpers: map[string]bool{},
		tools: map[string]bool{}, defined: map[string]*yaml.Node{}, used: map[string]bool{},
	}
	for _, name := range strings.Fields("input given output context tasks undo caught vars workflow evaluate fillForm result run " +
		"Raised placed located places at problem matches together compete console Promise Object Error JSON callMCPTool undoAll globalThis undefined") {
		c.taken[name] = true
	}
	c.names(d.tasks)
	return c, nil
}

// read reports what is wrong with the scripts and skills that the script imports.
func (c *compiler) read(ctx context.Context, code string) error {
	err := c.opt.Read(ctx, script.Source{Name: c.doc.Script(), Code: code, Language: sandbox.LangTypeScript, Dir: c.opt.Dir})
	bad, ok := errors.AsType[*script.Error](err)
	if !ok {
		return err
	}
	names, others := slices.Sorted(maps.Keys(c.modules)), len(c.problems.List) > 0
	for _, p := range bad.Problems {
		at := c.modules[names[0]]
		if others { // what is missing because of other problems is no problem of its own
			at = nil
		}
		for _, name := range names {
			if strings.Contains(p.Source, quote(name)) || strings.Contains(p.Text, quote(name)) || p.File != "" && strings.HasSuffix(name, p.File) {
				at = c.modules[name]
			}
		}
		text := p.Text
		if p.File != c.doc.Script() && p.File != "" {
			text = fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
		}
		if at != nil {
			c.wrong(at, text, "")
		}
	}
	return nil
}

func (c *compiler) wrong(n *yaml.Node, message, hint string) {
	c.problems.add(c.doc, n, message, hint)
}

// names collects the names of all tasks, which must differ.
func (c *compiler) names(list []*task) {
	for _, t := range list {
		switch first := c.defined[t.name]; {
		case t.name == "" || len(t.name) > 100 || ident.CleanLine(t.name) != t.name:
			c.wrong(t.key, "the name of the task is empty, too long or has invisible characters", "use letters, digits, - and _")
		case slices.Contains([]string{"continue", "exit", "end", "__proto__"}, t.name):
			c.wrong(t.key, fmt.Sprintf("no task can be called %s", t.name), "the word has another meaning")
		case first != nil:
			c.wrong(t.key, fmt.Sprintf("a task on line %d is called %q, too", first.Line, t.name), "rename one of them: expressions and records refer to tasks by name")
		default:
			c.defined[t.name] = t.key
		}
		for _, name := range slices.Sorted(maps.Keys(t.lists)) {
			c.names(t.lists[name])
		}
	}
}

// scope is what a task can refer to.
type scope struct {
	vars    []variable           // of loops and errors, the innermost last
	tasks   map[string]*cel.Type // tasks with a result, by names that are identifiers
	input   *cel.Type
	output  *cel.Type // of the task before
	results string    // the variable of the results in the script
	step    string    // code that is added to the names of steps: indexes of loops
	// inside is what the tasks are in that cannot end the workflow or export: "a fork" or "a compensation". Otherwise it is empty.
	inside string
	// race is the function of the innermost race that the task takes part in, which says that it stops there, or empty.
	race string
}

// variables returns the variables of expressions; inner ones hide outer ones. Any task has type dyn.
func (s *scope) variables() []variable {
	all := []variable{{"input", "input", s.input}, {"context", "context", cel.DynType}, {"output", "output", s.output}, {"tasks", s.results, cel.DynType}}
	for _, v := range s.vars {
		all = slices.DeleteFunc(all, func(outer variable) bool { return outer.name == v.name })
		all = append(all, v)
	}
	return all
}

// with returns the scope with another variable, which a node names, and what it is called in the script.
func (c *compiler) with(n *yaml.Node, s scope, name string, t *cel.Type) (*scope, string) {
	if slices.Contains([]string{"input", "output", "context", "tasks", "__proto__"}, name) {
		c.wrong(n, fmt.Sprintf("no variable can be called %s", name), "the word has another meaning in expressions")
	}
	v := variable{name, c.unique(name), t}
	s.vars = append(slices.Clone(s.vars), v)
	return &s, v.script
}

// unique returns an identifier that the script does not have yet.
func (c *compiler) unique(name string) string {
	base := name
	if !ident.IsIdentifier(name) || ident.TypeScriptReserved(name) {
		base = ident.Camel(name) + "_"
	}
	name = base
	for i := 2; c.taken[name]; i++ {
		name = fmt.Sprintf("%s%d", base, i)
	}
	c.taken[name] = true
	return name
}

// script returns the whole script.
func (c *compiler) script(out *Compiled) string {
	s := &scope{tasks: map[string]*cel.Type{}, input: cel.DynType, output: cel.DynType, results: "tasks"}
	if n := at(c.doc.root, "input", "schema", "document"); n != nil {
		out.Input = c.schema(n)
		s.input = c.types.of(out.Input)
	}
	input := "given"
	if from := at(c.doc.root, "input", "from"); from != nil {
		own := &scope{vars: []variable{{"input", "given", s.input}}, input: s.input, output: cel.DynType, results: "tasks"}
		input, s.input = c.value(from, own)
	}
	s.output = s.input
	body := c.list(c.doc.tasks, s, "")
	result := "await run(input)"
	var last []string
	if as := at(c.doc.root, "output", "as"); as != nil {
		last = []string{"const output: any = await run(input);"}
		result, _ = c.value(as, s)
	}
	c.helpers["placed"], c.helpers["located"] = true, true
	end := []string{"throw located(caught, at);"}
	if c.helpers["undo"] {
		end = []string{"const failed = located(caught, at);", "await undoAll();", "throw failed;"}
	}
	body = guarded(body, end...)
	return c.assemble(input, body, append(last, "export const result: any = "+result+";",
		`if (result !== null && result !== undefined) console.log(typeof result === "string" ? result : JSON.stringify(result, null, 2));`))
}

// assemble puts the script together.
func (c *compiler) assemble(input string, body, last []string) string {
	var lines []string
	add := func(more ...string) { lines = append(lines, more...) }
	add(fmt.Sprintf("// The workflow %s %s, compiled by mcprun workflow compile. Expressions are CEL, which the host evaluates.", c.doc.Name, c.doc.Version))
	c.helpers["Raised"] = c.helpers["Raised"] || c.helpers["problem"]
	add("import { " + strings.Join(slices.Sorted(maps.Keys(c.library)), ", ") + ` } from "mcprun";`)
	for _, module := range slices.Sorted(maps.Keys(c.imports)) {
		add("import { " + strings.Join(c.imports[module], ", ") + " } from " + quote(module) + ";")
	}
	add("", "const given: any = vars.input ?? {};", "const input: any = "+input+";")
	var results []string
	for _, name := range slices.Sorted(maps.Keys(c.used)) {
		results = append(results, name+": null")
	}
	if len(results) > 0 || c.helpers["undo"] {
		add("const tasks: Record<string, any> = { " + strings.Join(results, ", ") + " };")
	}
	add("let context: any = {};")
	if c.helpers["undo"] {
		add("const undo: (() => Promise<void>)[] = [];")
	}
	add("", "async function run(output: any): Promise<any> {")
	add(indented(body)...)
	add("}", "")
	add(c.helperCode()...)
	add(last...)
	var out strings.Builder
	for _, line := range lines {
		if rest, ok := strings.CutPrefix(strings.TrimLeft(line, " "), marker); ok { // only if the result of the task is used
			name, code, _ := strings.Cut(rest, marker)
			if !c.used[name] {
				continue
			}
			line = line[:len(line)-len(strings.TrimLeft(line, " "))] + code
		}
		out.WriteString(line + "\n")
	}
	return out.String()
}

// guarded returns the body of a function that runs tasks and returns output. Of an error, the last lines know in which task it was thrown: at.
func guarded(body []string, caught ...string) []string {
	return slices.Concat([]string{`let at = "";`, "try {"}, indented(append(body, "return output;")), []string{"} catch (caught) {"}, indented(caught), []string{"}"})
}

// marker encloses the name of a task at the beginning of a line that is only needed if an expression uses the task's result.
const marker = "\x00"

// indented indents lines.
func indented(lines []string) []string {
	out := make([]string, 0, len(lines))
	for _, line := range lines {
		for _, one := range strings.Split(line, "\n") {
			out = append(out, "  "+one)
		}
	}
	return out
}

// quote returns a text as a string literal, in which nothing is invisible.
func quote(text string) string {
	raw, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(text, "\ufffd")) // valid UTF-8 can always be quoted
	return string(ident.EscapeJSON(raw, func(_, r rune) bool { return !ident.Shows(r) }))
}

// key returns the key of an object literal. A computed key is an own property even if it is __proto__.
func key(name string) string {
	switch {
	case name == "__proto__":
		return `["__proto__"]`
	case ident.IsIdentifier(name):
		return name
	}
	return quote(name)
}

// maxLine is the length up to which an object or a list is written on one line.
const maxLine = 100

// value returns the code of a value in which texts may hold expressions, and its type.
func (c *compiler) value(n *yaml.Node, s *scope) (string, *cel.Type) {
	n = follow(n)
	switch n.Kind {
	case yaml.MappingNode:
		var members []string
		fields := map[string]*cel.Type{}
		for k, v := range node.Pairs(n) {
			code, t := c.value(v, s)
			members = append(members, key(k.Value)+": "+code)
			fields[k.Value] = t
		}
		if len(members) == 0 {
			return "{}", cel.MapType(cel.StringType, cel.DynType)
		}
		return bracketed("{ ", members, " }"), c.types.object(fields)
	case yaml.SequenceNode:
		var elements []string
		for _, v := range n.Content {
			code, _ := c.value(v, s)
			elements = append(elements, code)
		}
		return bracketed("[", elements, "]"), cel.ListType(cel.DynType)
	}
	if kind := shape.KindOf(n); kind != "string" {
		types := map[string]*cel.Type{"boolean": cel.BoolType, "integer": cel.IntType}
		return c.literal(n), cmp.Or(types[kind], cel.DynType)
	}
	return c.text(n, s)
}

// text returns the code of a text, which may hold expressions, and its type.
func (c *compiler) text(n *yaml.Node, s *scope) (string, *cel.Type) {
	parts, ok := c.template(n)
	if !ok || !slices.ContainsFunc(parts, func(p part) bool { return p.IsExpression }) {
		return quote(joined(parts)), cel.StringType
	}
	if text, offset, ok := sole(parts); ok {
		return c.evaluation(n, text, offset, asValue, s)
	}
	var all uses
	for _, p := range parts {
		if p.IsExpression {
			_, used := c.checked(n, p.Text, p.Offset, s)
			all.join(used)
		}
	}
	c.answers.add(n.Value, asText, all)
	return c.evaluate(n.Value, asText, all, s), cel.StringType
}

// joined returns the text of parts that have no expression.
func joined(parts []part) string {
	var text strings.Builder
	for _, p := range parts {
		text.WriteString(p.Text)
	}
	return text.String()
}

// bracketed writes the elements of an object or a list, on one line if there is room.
func bracketed(open string, elements []string, end string) string {
	line := open + strings.Join(elements, ", ") + end
	if len(line) <= maxLine && !strings.Contains(line, "\n") {
		return line
	}
	for i, element := range elements {
		elements[i] = strings.Join(indented([]string{element}), "\n")
	}
	return strings.TrimSpace(open) + "\n" + strings.Join(elements, ",\n") + ",\n" + strings.TrimSpace(end)
}

// schema returns a JSON Schema of the document as JSON, and reports one that is not valid.
func (c *compiler) schema(n *yaml.Node) json.RawMessage {
	raw, err := json.Marshal(c.data(n))
	if err == nil {
		_, err = validate.Compile(raw)
	}
	if err != nil {
		c.wrong(n, "the JSON Schema is wrong: "+err.Error(), "")
	}
	return raw
}

// data returns a value as it is, without expressions.
func (c *compiler) data(n *yaml.Node) any {
	n = follow(n)
	switch n.Kind {
	case yaml.MappingNode:
		out := map[string]any{}
		for k, v := range node.Pairs(n) {
			out[k.Value] = c.data(v)
		}
		return out
	case yaml.SequenceNode:
		out := []any{}
		for _, v := range n.Content {
			out = append(out, c.data(v))
		}
		return out
	}
	if shape.KindOf(n) == "string" {
		return n.Value
	}
	return json.RawMessage(c.literal(n))
}
