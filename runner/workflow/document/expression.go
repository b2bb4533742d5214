package document

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	celast "github.com/google/cel-go/common/ast"
	"go.yaml.in/yaml/v3"

	"github.com/mcpgen/mcpgen/gen/config/shape"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/internal/expr"
)

// form of results that the script asks of an expression, and the methods' parameter.
const (
	asValue   = ""        // any JSON
	asBoolean = "boolean" // true or false
	asList    = "list"
	asSeconds = "seconds" // a number of seconds, or a duration as a text
	asText    = "text"    // the expression is a template, and the result its text
)

// variable is a variable of expressions.
type variable struct {
	name   string // in CEL
	script string // in TypeScript
	t      *cel.Type
}

// evaluation returns the code that evaluates an expression, which is at an offset in the value of a node, and its type.
func (c *compiler) evaluation(n *yaml.Node, text string, offset int, as string, s *scope) (string, *cel.Type) {
	t, used := c.checked(n, text, offset, s)
	text = strings.TrimSpace(text)
	c.answers.add(text, as, used)
	return c.evaluate(text, as, used, s), t
}

// evaluate returns the call of evaluate with the variables that an expression uses.
func (c *compiler) evaluate(text, as string, used uses, s *scope) string {
	var vars []string
	for _, v := range s.variables() {
		switch {
		case v.name == "tasks" && len(used.tasks) > 0:
			var results []string
			for _, name := range used.tasks {
				c.used[name] = true
				results = append(results, name+": "+s.results+"."+name)
			}
			vars = append(vars, "tasks: { "+strings.Join(results, ", ")+" }")
		case v.name == "tasks" || !slices.Contains(used.variables, v.name):
		case v.name == v.script:
			vars = append(vars, v.name)
		default:
			vars = append(vars, v.name+": "+v.script)
		}
	}
	code := "await evaluate(" + quote(text)
	switch {
	case len(vars) > 0:
		code += ", { " + strings.Join(vars, ", ") + " }"
	case as != asValue:
		code += ", {}"
	}
	if as != asValue {
		code += ", " + quote(as)
	}
	c.library["evaluate"] = true
	return code + ")"
}

// uses are what an expression reads.
type uses struct {
	variables []string // sorted, without tasks
	tasks     []string // whose results it reads, sorted
}

func (u *uses) join(o uses) {
	u.variables = slices.Compact(slices.Sorted(slices.Values(append(u.variables, o.variables...))))
	u.tasks = slices.Compact(slices.Sorted(slices.Values(append(u.tasks, o.tasks...))))
}

// checked checks an expression against the variables of a scope. Problems are reported; the type is then dyn.
func (c *compiler) checked(n *yaml.Node, text string, offset int, s *scope) (*cel.Type, uses) {
	var options []cel.EnvOption
	for _, v := range s.variables() {
		if v.name == "tasks" && v.script == s.results {
			v.t = c.types.object(maps.Clone(s.tasks))
		}
		options = append(options, cel.Variable(v.name, v.t))
	}
	env, err := c.env.Extend(options...)
	if err != nil {
		c.wrong(n, err.Error(), "")
		return cel.DynType, uses{}
	}
	ast, issues := env.Parse(text)
	var u uses
	if issues.Err() == nil {
		var ok bool
		if u, ok = c.references(n, text, offset, ast.NativeRep(), s); !ok {
			return cel.DynType, u
		}
		ast, issues = env.Check(ast)
	}
	if bad := expr.Problem(issues); bad != nil {
		line, column := c.place(n, text, offset, bad.Line, bad.Column)
		c.problems.addAt(c.doc, line, column, "the expression is wrong: "+bad.Problem, c.advice(bad.Problem, s))
		return cel.DynType, u
	}
	return ast.OutputType(), u
}

// references finds what a parsed expression reads of the variables of a scope. It reports references to tasks that have no result there, and
// whether there are no such references.
func (c *compiler) references(n *yaml.Node, text string, offset int, ast *celast.AST, s *scope) (u uses, ok bool) {
	ok = true
	known := map[string]bool{}
	for _, v := range s.variables() {
		known[v.name] = true
	}
	wrong := func(e celast.Expr, message, hint string) {
		loc := ast.SourceInfo().GetStartLocation(e.ID())
		line, column := c.place(n, text, offset, max(0, loc.Line()-1), max(0, loc.Column()))
		c.problems.addAt(c.doc, line, column, message, hint)
		ok = false
	}
	selected := map[int64]bool{} // idents that are the operand of a selection
	celast.PreOrderVisit(ast.Expr(), celast.NewExprVisitor(func(e celast.Expr) {
		switch e.Kind() {
		case celast.SelectKind:
			of := e.AsSelect().Operand()
			if of.Kind() != celast.IdentKind || of.AsIdent() != "tasks" {
				return
			}
			selected[of.ID()] = true
			name := e.AsSelect().FieldName()
			if s.tasks[name] == nil {
				message, hint := c.missingTask(n, name, s)
				wrong(e, message, hint)
				return
			}
			u.join(uses{tasks: []string{name}})
		case celast.IdentKind:
			name := e.AsIdent()
			if plain, ok := strings.CutPrefix(name, "."); ok { // jq's, with which Serverless Workflow's examples are written
				hint := "an expression is CEL: write " + plain + " without the dot"
				if !known[plain] {
					hint = "an expression is CEL: write input." + plain + ", output." + plain + " or tasks.NAME." + plain
				}
				wrong(e, fmt.Sprintf("%s begins with a dot", name), hint)
				return
			}
			if name == "tasks" && !selected[e.ID()] {
				wrong(e, "tasks is used as a whole", "name one task: tasks.NAME, where NAME is made of letters, digits and _")
				return
			}
			if known[name] && name != "tasks" {
				u.join(uses{variables: []string{name}})
			}
		}
	}))
	return u, ok
}

// missingTask says why an expression cannot read the result of a task.
func (c *compiler) missingTask(n *yaml.Node, name string, s *scope) (message, hint string) {
	if at := c.defined[name]; at != nil && at.Line > n.Line {
		return fmt.Sprintf("the task %s comes later, on line %d", name, at.Line), "an expression reads the results of tasks before its own"
	} else if at != nil {
		return fmt.Sprintf("the task %s, on line %d, has no result here", name, at.Line), "it is not done yet, or runs at the same time, or only if the workflow fails"
	}
	var names []string
	for visible := range s.tasks {
		names = append(names, visible)
	}
	slices.Sort(names)
	message = fmt.Sprintf("there is no task %q before this one", name)
	if near := ident.Nearest(name, names, 1); len(near) > 0 {
		return message, fmt.Sprintf("did you mean tasks.%s?", near[0])
	}
	if len(names) == 0 {
		return message, "no task comes before this one"
	}
	return message, "there are: " + ident.List(names)
}

// advice returns what to do about a mistake in an expression.
func (c *compiler) advice(problem string, s *scope) string {
	var names []string
	for _, v := range s.variables() {
		names = append(names, v.name)
	}
	if _, rest, ok := strings.Cut(problem, "undeclared reference to '"); ok {
		name, _, _ := strings.Cut(rest, "'")
		if s.tasks[name] != nil {
			return fmt.Sprintf("for the result of the task, write tasks.%s", name)
		}
		return "an expression is CEL; the variables here are " + strings.Join(names, ", ")
	}
	if _, rest, ok := strings.Cut(problem, "undefined field '"); ok {
		name, _, _ := strings.Cut(rest, "'")
		var fields []string
		for _, object := range c.types.objects {
			for field := range object {
				fields = append(fields, field)
			}
		}
		if near := ident.Nearest(name, fields, 1); len(near) > 0 {
			return fmt.Sprintf("did you mean %s?", near[0])
		}
		return "the schema of the value does not declare it"
	}
	return "an expression is CEL, as in policies"
}

// place returns where in the file the character at a line and column, from 0, of an expression is. The expression begins at an offset in the
// value of the node. For values that YAML folds or unescapes, it is the place of the value.
func (c *compiler) place(n *yaml.Node, text string, offset, line, column int) (int, int) {
	lines := strings.Split(n.Value[:min(offset, len(n.Value))], "\n")
	if line == 0 {
		column += utf8.RuneCountInString(lines[len(lines)-1])
	}
	line += len(lines) - 1
	source := func(at int) string {
		if at < 1 || at > len(c.doc.lines) {
			return ""
		}
		return strings.TrimSuffix(c.doc.lines[at-1], "\r")
	}
	switch {
	case n.Style&yaml.LiteralStyle != 0:
		first := source(n.Line + 1)
		return n.Line + 1 + line, len(first) - len(strings.TrimLeft(first, " ")) + column + 1
	case n.Style&yaml.FoldedStyle != 0 || strings.Contains(n.Value, "\n"):
		return n.Line, n.Column
	}
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
		column++
	}
	// Escapes make the text in the file longer than the value. The place is then that of the value.
	if !strings.Contains(source(n.Line), strings.TrimSpace(text)) {
		return n.Line, n.Column
	}
	return n.Line, n.Column + column
}

// template returns the parts of a text. ok is false if it has a mistake, which is reported.
func (c *compiler) template(n *yaml.Node) (parts []expr.Part, ok bool) {
	parts, err := expr.Template(n.Value)
	if bad, wrong := errors.AsType[*expr.SyntaxError](err); wrong {
		line, column := c.place(n, n.Value, 0, bad.Line, bad.Column)
		c.problems.addAt(c.doc, line, column, bad.Problem, "")
		return nil, false
	}
	return parts, true
}

// sole returns the expression of a text that consists of one, and its offset.
func sole(parts []expr.Part) (text string, offset int, ok bool) {
	found := -1
	for i, p := range parts {
		if p.IsExpression && found >= 0 || !p.IsExpression && strings.TrimSpace(p.Text) != "" {
			return "", 0, false
		}
		if p.IsExpression {
			found = i
		}
	}
	if found < 0 {
		return "", 0, false
	}
	return parts[found].Text, parts[found].Offset, true
}

// condition returns the code of an expression with or without ${ } that gives a value of one form, true or false or a list, and its type.
func (c *compiler) condition(n *yaml.Node, as string, s *scope) (string, *cel.Type) {
	n = follow(n)
	text, offset := n.Value, 0
	if strings.Contains(text, "${") {
		parts, ok := c.template(n)
		if !ok {
			return "false", cel.DynType
		}
		if text, offset, ok = sole(parts); !ok {
			c.wrong(n, "there is text around the expression", "write one expression: ${ … }")
			return "false", cel.DynType
		}
	}
	code, t := c.evaluation(n, text, offset, as, s)
	allowed := map[string]cel.Kind{asBoolean: cel.BoolKind, asList: cel.ListKind}
	if want := allowed[as]; t.Kind() != want && t.Kind() != cel.DynKind {
		c.wrong(n, fmt.Sprintf("the expression gives %s, not %s", nameOf(t), shape.WithArticle(map[string]string{asBoolean: "boolean", asList: "array"}[as])), "")
	}
	return code, t
}

// nameOf returns the name of a type for people.
func nameOf(t *cel.Type) string {
	names := typesOf(t).Names()
	if len(names) != 1 {
		return t.String()
	}
	return shape.WithArticle(names[0])
}
