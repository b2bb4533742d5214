package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/internal/expr"
	"github.com/mcpgen/mcpgen/runner/policy/internal/spelling"
	"github.com/mcpgen/mcpgen/runner/risk"
)

// environment has the variables of conditions.
var environment = sync.OnceValue(func() *cel.Env {
	options := []cel.EnvOption{
		cel.Variable("server", cel.StringType),
		cel.Variable("tool", cel.StringType),
		cel.Variable("args", cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable("hints", cel.MapType(cel.StringType, cel.BoolType)),
		cel.Variable("risk", cel.IntType),
		cel.Variable("calls", cel.IntType),
		cel.Variable("customer", cel.StringType),
		cel.Variable("session", cel.StringType),
		cel.Variable("taint", cel.ListType(cel.StringType)),
	}
	options = append(append(options, expr.Options()...), functions()...)
	for _, r := range risk.All() {
		options = append(options, cel.Constant(r.String(), cel.IntType, types.Int(r)))
	}
	env, err := cel.NewEnv(options...)
	if err != nil {
		panic(err) // made of constants: any test would find the error
	}
	return env
})

// condition is a compiled condition.
type condition struct {
	file    string
	at      config.Position // where the text begins
	text    string
	ast     *cel.Ast
	program cel.Program
	partial func() (cel.Program, error) // for facts known before a run
	paths   [][]string                  // the arguments it reads
	risk    bool                        // it reads the risk
	tainted bool                        // it reads taint
}

// compile compiles the condition of a rule. It returns nil if the rule has none.
func compile(file, key string, rule *config.PolicyRule) (*condition, error) {
	if rule.When == "" {
		return nil, nil
	}
	wrong := func(line, column int, problem string) error {
		return &config.FileError{File: file, Line: rule.WhenAt.Line + max(0, line-1), Column: rule.WhenAt.Column + column, Key: key + ".when", Problem: problem,
			Remedy: "write a CEL condition on server, tool, args, hints, risk, calls, customer, session and taint"}
	}
	ast, issues := environment().Compile(rule.When)
	if bad := expr.Problem(issues); bad != nil {
		return nil, wrong(bad.Line+1, bad.Column, bad.Problem)
	}
	if t := ast.OutputType(); !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		return nil, wrong(1, 0, fmt.Sprintf("the condition has type %s, not bool", t))
	}
	program, err := environment().Program(ast, cel.EvalOptions(cel.OptOptimize), cel.CostLimit(expr.MaxCost), costs())
	if err != nil {
		return nil, wrong(1, 0, err.Error())
	}
	c := &condition{file: file, at: rule.WhenAt, text: rule.When, ast: ast, program: program}
	used := newProbes()
	used.add(c)
	c.tainted = used.uses["taint"]
	c.partial = sync.OnceValues(func() (cel.Program, error) {
		return environment().Program(ast, cel.EvalOptions(cel.OptOptimize, cel.OptPartialEval), cel.CostLimit(expr.MaxCost), costs())
	})
	for _, check := range []func(celast.Expr) (int64, string){unknownHint, badFolder} {
		if id, problem := check(ast.NativeRep().Expr()); problem != "" {
			loc := ast.NativeRep().SourceInfo().GetStartLocation(id)
			return nil, wrong(loc.Line(), max(0, loc.Column()), problem)
		}
	}
	p := newProbes()
	p.add(c)
	c.risk = p.uses["risk"]
	for path := range p.paths {
		c.paths = append(c.paths, strings.Split(path, separator))
	}
	return c, nil
}

// position returns the line and the column of an expression in the file.
func (c *condition) position(id int64) (line, column int) {
	loc := c.ast.NativeRep().SourceInfo().GetStartLocation(id)
	return c.at.Line + max(0, loc.Line()-1), c.at.Column + max(0, loc.Column())
}

// holds evaluates the condition. A nil condition holds.
func (c *condition) holds(facts map[string]any) (bool, error) {
	if c == nil {
		return true, nil
	}
	for _, path := range c.paths {
		if err := misread(facts["args"], path); err != nil {
			return false, err
		}
	}
	out, _, err := c.program.Eval(facts)
	if err != nil {
		return false, err
	}
	holds, ok := out.Value().(bool)
	if !ok {
		return false, fmt.Errorf("the condition returned %s, not bool", out.Type())
	}
	return holds, nil
}

// badFolder returns the place of a folder that cannot be compared with any path, and what is wrong with it.
func badFolder(e celast.Expr) (id int64, problem string) {
	celast.PostOrderVisit(e, celast.NewExprVisitor(func(e celast.Expr) {
		if e.Kind() != celast.CallKind || e.AsCall().FunctionName() != "under" || e.AsCall().Args()[1].Kind() != celast.LiteralKind {
			return
		}
		if dir, ok := e.AsCall().Args()[1].AsLiteral().Value().(string); ok && problem == "" {
			if err := spelling.CheckDir(dir); err != nil {
				id, problem = e.AsCall().Args()[1].ID(), err.Error()
			}
		}
	}))
	return id, problem
}

// explain adds advice on what to write instead to the error of a rule's condition.
func (r *rule) explain(req *Request, err error) error {
	if strings.HasPrefix(err.Error(), "no such overload") {
		return fmt.Errorf("%w; a value has another type than the condition expects: compare numbers with double(args.x), or test type(args.x) == string first", err)
	}
	key, ok := strings.CutPrefix(err.Error(), "no such key: ")
	if !ok {
		return err
	}
	for _, path := range r.when.paths {
		i := slices.Index(path, key)
		if i < 0 || slices.ContainsFunc(path[:i+1], func(step string) bool { return !ident.IsIdentifier(step) }) {
			continue
		}
		if s := newDeclaration(req.Input); i == 0 && s.lacks(key) {
			return fmt.Errorf("%w; %s has no such argument, but %s: name only tools that have it in this rule, and write another rule for %s",
				err, req.Tool, orNone(ident.List(s.names())), req.Tool)
		}
		has := "has(args." + strings.Join(path[:i+1], ".") + ")"
		if r.effect == Allow {
			return fmt.Errorf("%w; to allow only calls that have it, begin with %s && …", err, has)
		}
		return fmt.Errorf("%w; to apply the rule to calls without it too, begin with !%s || …; to let them pass, with %s && …", err, has, has)
	}
	return err
}

// facts returns the variables of a condition.
func (r *Request) facts(calls int, taint []string) (map[string]any, error) {
	args, err := decode(r.Args)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"server": r.Server, "tool": r.Tool, "args": args, "risk": int64(r.Risk()), "calls": int64(calls), "taint": taint,
		"customer": r.Run.Customer, "session": r.Run.Session,
		"hints": r.Hints.facts(),
	}, nil
}

// facts returns the hints under the names that conditions use.
func (h Hints) facts() map[string]bool {
	return map[string]bool{"readOnly": h.ReadOnly, "idempotent": h.Idempotent, "destructive": h.Destructive, "openWorld": h.OpenWorld}
}

// decode reads arguments for CEL.
func decode(raw []byte) (map[string]any, error) {
	if len(raw) == 0 {
		return map[string]any{}, nil
	}
	value, err := expr.Decode(raw)
	if err != nil {
		return nil, fmt.Errorf("cannot read the arguments: %w", err)
	}
	out, ok := value.(map[string]any)
	if !ok && value != nil {
		return nil, errors.New("cannot read the arguments: they are not an object")
	}
	return out, nil
}

// misread rejects an argument whose name differs from a step of the path only in case: many servers treat them as the same argument.
func misread(value any, path []string) error {
	if len(path) == 0 {
		return nil
	}
	switch v := value.(type) {
	case map[string]any:
		for name := range v {
			if name != path[0] && strings.EqualFold(name, path[0]) {
				return fmt.Errorf("the argument %.100q differs from %q only in case", name, path[0])
			}
		}
		return misread(v[path[0]], path[1:])
	case []any:
		for _, each := range v {
			if err := misread(each, path[1:]); path[0] == element && err != nil {
				return err
			}
		}
	}
	return nil
}
