package policy

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// maxNear bounds the number of names suggested in place of an unknown one.
const maxNear = 3

// Misspelt describes likely mistakes in rules: names that match no tool, server or customer, arguments that tools lack, and paths,
// addresses and hosts that are compared as plain text. It leaves out globs that begin with a wildcard and resemble no tool, which are
// written for future tools. tools is called only if there are rules.
func (p *Policy) Misspelt(tools func() []Tool) []string {
	parts := p.parts()
	if !slices.ContainsFunc(parts, func(part *part) bool { return len(part.rules) > 0 }) {
		return nil
	}
	k := p.known(tools())
	var out []string
	for _, part := range parts {
		for _, r := range part.rules {
			for _, text := range k.rule(r) {
				if !slices.Contains(out, text) { // every customer has the general rules too
					out = append(out, text)
				}
			}
		}
	}
	return out
}

// Customers returns the ids that the policy names: those with rules of their own, and those that conditions compare customer with.
func (p *Policy) Customers() []string {
	ids := slices.Collect(maps.Keys(p.customers))
	for _, part := range p.parts() {
		for _, r := range part.rules {
			if r.when == nil {
				continue
			}
			walk(r.when.ast.NativeRep().Expr(), nil, func(variable string, literal celast.Expr) {
				if id, ok := literal.AsLiteral().Value().(string); ok && variable == "customer" {
					ids = append(ids, id)
				}
			})
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// parts returns the general part and that of each customer.
func (p *Policy) parts() []*part {
	parts := []*part{p.all}
	for _, id := range slices.Sorted(maps.Keys(p.customers)) {
		parts = append(parts, p.customers[id])
	}
	return parts
}

// CheckNames checks the names in an example, and adds the other name of each server in Taint, as a run does. An unknown server is an error.
// A customer without rules whose name resembles one with rules causes a warning.
func (p *Policy) CheckNames(tools []Tool, e *Example) (warning string, err error) {
	warning, err = p.known(tools).check(e.Customer, e.Taint)
	e.Taint = received(tools, e.Taint)
	return warning, err
}

// received returns the names of servers, each with its other name; see [Run.Received].
func received(tools []Tool, names []string) []string {
	var out []string
	for _, name := range names {
		out = append(out, name)
		for i := range tools {
			if t := &tools[i]; t.Server == name || t.Dir == name {
				out = append(out, t.Server, t.Dir)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// known are the names that rules and cases may have.
type known struct {
	ids, servers, keys, customers []string // keys are the servers' names in the configuration; servers are these and the names of their folders
	tools                         []Tool
	exact, loose                  [][]string // names of each tool; see Request.names
	declared                      map[int]*declaration
}

// declaration returns what a tool declares.
func (k *known) declaration(tool int) *declaration {
	if k.declared[tool] == nil {
		k.declared[tool] = newDeclaration(k.tools[tool].Input)
	}
	return k.declared[tool]
}

func (p *Policy) known(tools []Tool) *known {
	k := &known{tools: tools, declared: map[int]*declaration{}, customers: slices.Sorted(maps.Keys(p.customers))}
	for i := range tools {
		t := &tools[i]
		exact, loose := (&Example{}).request(t).names()
		k.exact, k.loose = append(k.exact, exact), append(k.loose, loose)
		if t.ID == Scripts {
			k.ids = append(k.ids, t.ID)
			continue
		}
		k.ids, k.keys, k.servers = append(k.ids, t.ID), append(k.keys, t.Server), append(k.servers, t.Server, t.Dir)
	}
	for _, list := range []*[]string{&k.ids, &k.keys, &k.servers} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return k
}

// ruleNames returns the names that decisions may have as their rule.
func (p *part) ruleNames() []string {
	names := []string{DefaultRule, p.defaultRule(), p.rule()}
	for _, r := range p.rules {
		names = append(names, r.name)
	}
	return names
}

// rule describes the unknown names in a rule.
func (k *known) rule(r *rule) []string {
	var out []string
	names := k.loose
	if r.effect == Allow {
		names = k.exact
	}
	fitting := map[int]bool{} // indexes of tools
	for _, glob := range r.globs {
		fits := false
		for i, of := range names {
			if fitsAny(glob, of) && (k.tools[i].ID != Scripts || glob == Scripts) {
				fits, fitting[i] = true, true
			}
		}
		if fits {
			continue
		}
		near := ident.Nearest(glob, globsLike(glob, k.ids), 1)
		if len(near) > 0 || !strings.HasPrefix(glob, "*") {
			out = append(out, fmt.Sprintf("%s: rule %q: no tool in the tree matches %q%s", r.at, r.name, glob, didYouMean(near)))
		}
	}
	if r.when == nil {
		return out
	}
	out = append(out, k.arguments(r, slices.Sorted(maps.Keys(fitting)))...)
	out = append(out, r.textual()...)
	walk(r.when.ast.NativeRep().Expr(), nil, func(variable string, literal celast.Expr) {
		name, ok := literal.AsLiteral().Value().(string)
		if problem := k.unknown(variable, name); ok && problem != "" {
			line, column := r.when.position(literal.ID())
			out = append(out, fmt.Sprintf("%s:%d: rule %q: %s", position(r.when.file, line), column, r.name, problem))
		}
	})
	return out
}

// arguments describes the arguments in a rule's condition that no tool declares, or that some tools lack.
func (k *known) arguments(r *rule, tools []int) []string {
	var out, checked []string
	hint := &rule{hint: r.hint}
	tools = slices.DeleteFunc(tools, func(i int) bool { return !hint.selects((&Example{}).request(&k.tools[i])) })
	for _, path := range r.when.paths {
		name := path[0]
		if name == element || len(tools) == 0 || slices.Contains(checked, name) {
			continue
		}
		checked = append(checked, name)
		var without []string
		for _, i := range tools {
			if k.declaration(i).lacks(name) {
				without = append(without, k.tools[i].ID)
			}
		}
		switch {
		case len(without) == len(tools):
			var all []string
			for _, i := range tools {
				all = append(all, k.declaration(i).names()...)
			}
			out = append(out, fmt.Sprintf("%s: rule %q: its tools have no argument %q%s", r.at, r.name, name, didYouMean(ident.Nearest(name, all, 1))))
		case len(without) > 0:
			if effect := r.without(name); effect != "" {
				out = append(out, fmt.Sprintf("%s: rule %q: %d of its %d tools have no argument %q, so %s: %s",
					r.at, r.name, len(without), len(tools), name, effect, ident.Clip(ident.List(without), 200)))
			}
		}
	}
	return out
}

// without says what a rule means for tools that lack an argument. It returns "" where that is clear: if the condition reads the tool, if
// the rule allows, or if a rule for all tools tests whether the argument is present.
func (r *rule) without(name string) string {
	tests, looks := false, false
	celast.PostOrderVisit(r.when.ast.NativeRep().Expr(), celast.NewExprVisitor(func(e celast.Expr) {
		switch e.Kind() {
		case celast.SelectKind:
			tests = tests || e.AsSelect().IsTestOnly() && e.AsSelect().FieldName() == name
		case celast.CallKind:
			c := e.AsCall()
			if c.FunctionName() == operators.OptSelect || c.FunctionName() == operators.OptIndex {
				key, ok := literalText(c.Args()[1])
				tests = tests || ok && key == name
			}
		case celast.IdentKind:
			looks = looks || e.AsIdent() == "tool" || e.AsIdent() == "server"
		}
	}))
	isForAll := !slices.ContainsFunc(r.globs, func(glob string) bool { return strings.Trim(glob, "*_") != "" })
	switch {
	case looks || tests && (r.effect == Allow || isForAll):
		return ""
	case tests:
		return "it may not apply to them"
	}
	return "their calls are denied"
}

// unknown says why a variable can never equal a name, or returns "" if it can.
func (k *known) unknown(variable, name string) string {
	names, what := k.servers, "server"
	switch variable {
	case "server":
		names = k.keys
	case "tool":
		names, what = k.ids, "tool"
	case "customer": // customers without rules may exist
		near := ident.Nearest(name, k.customers, maxNear)
		if name == "" || len(near) == 0 || slices.Contains(k.customers, name) {
			return ""
		}
		return fmt.Sprintf("policy.customers has no %q%s", name, didYouMean(near))
	}
	if slices.Contains(names, name) {
		return ""
	}
	near := ident.Nearest(name, names, maxNear)
	for i := range k.tools {
		if variable == "server" && k.tools[i].Dir == name {
			near = []string{k.tools[i].Server}
		}
	}
	if what == "tool" {
		near = ident.NearestTools(name, names, maxNear)
	}
	return fmt.Sprintf("no %s %q in the tree%s", what, name, didYouMean(near))
}

// check implements [Policy.CheckNames].
func (k *known) check(customer string, taint []string) (warning string, err error) {
	for _, server := range taint {
		if problem := k.unknown("taint", server); problem != "" {
			return "", errors.New(problem)
		}
	}
	return k.unknown("customer", customer), nil
}

func didYouMean(near []string) string {
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(near, " or ") + "?"
}

// globsLike returns globs similar to the given one that match tools: if it ends with a wildcard, ids cut at the end of a word and followed
// by a wildcard.
func globsLike(glob string, ids []string) []string {
	var out []string
	for _, id := range ids {
		if strings.HasPrefix(glob, "*__") {
			_, name, _ := strings.Cut(id, "__")
			id = "*__" + name
		}
		out = append(out, id)
		for i := range len(id) - 1 {
			if strings.HasSuffix(glob, "*") && id[i] == '_' && id[i+1] != '_' {
				out = append(out, id[:i+1]+"*")
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// walk calls found for each constant that an expression compares with server, tool, customer or an element of taint. ranges maps the
// variable of a macro to the list whose elements it stands for.
func walk(e celast.Expr, ranges map[string]celast.Expr, found func(variable string, literal celast.Expr)) {
	switch e.Kind() {
	case celast.SelectKind:
		walk(e.AsSelect().Operand(), ranges, found)
	case celast.ListKind:
		for _, item := range e.AsList().Elements() {
			walk(item, ranges, found)
		}
	case celast.CallKind:
		compared(e.AsCall(), ranges, found)
		if e.AsCall().IsMemberFunction() {
			walk(e.AsCall().Target(), ranges, found)
		}
		for _, arg := range e.AsCall().Args() {
			walk(arg, ranges, found)
		}
	case celast.ComprehensionKind:
		c := e.AsComprehension()
		walk(c.IterRange(), ranges, found)
		inner := map[string]celast.Expr{c.IterVar(): c.IterRange()}
		for name, list := range ranges {
			if inner[name] == nil {
				inner[name] = list
			}
		}
		for _, part := range []celast.Expr{c.LoopCondition(), c.LoopStep(), c.Result()} {
			walk(part, inner, found)
		}
	}
}

// compared calls found for the constants in a comparison.
func compared(c celast.CallExpr, ranges map[string]celast.Expr, found func(string, celast.Expr)) {
	switch c.FunctionName() {
	case operators.Equals, operators.NotEquals, operators.In:
	default:
		return
	}
	a, b := c.Args()[0], c.Args()[1]
	for _, pair := range [][2]celast.Expr{{a, b}, {b, a}} {
		variable, other := variableOf(pair[0], ranges), pair[1]
		if other.Kind() == celast.IdentKind && ranges[other.AsIdent()] != nil {
			other = ranges[other.AsIdent()]
		}
		literals := []celast.Expr{other}
		if other.Kind() == celast.ListKind {
			literals = other.AsList().Elements()
		}
		for _, literal := range literals {
			if variable != "" && literal.Kind() == celast.LiteralKind {
				found(variable, literal)
			}
		}
	}
}

// variableOf returns the variable of names that an expression is, or is an element of. It returns "" for any other expression.
func variableOf(e celast.Expr, ranges map[string]celast.Expr) string {
	switch e.Kind() {
	case celast.IdentKind:
		switch name := e.AsIdent(); {
		case ranges[name] != nil:
			if variableOf(ranges[name], nil) == "taint" {
				return "taint"
			}
		case slices.Contains([]string{"server", "tool", "customer", "taint"}, name):
			return name
		}
	case celast.CallKind:
		if c := e.AsCall(); c.FunctionName() == operators.Index {
			if variableOf(c.Args()[0], ranges) == "taint" {
				return "taint"
			}
		}
	}
	return ""
}

// hintOf returns the name of a hint that an expression selects.
func hintOf(e celast.Expr) (name string, ok bool) {
	isHints := func(of celast.Expr) bool { return of.Kind() == celast.IdentKind && of.AsIdent() == "hints" }
	switch e.Kind() {
	case celast.SelectKind:
		return e.AsSelect().FieldName(), isHints(e.AsSelect().Operand())
	case celast.CallKind:
		c := e.AsCall()
		if args := c.Args(); len(args) == 2 && isHints(args[0]) && args[1].Kind() == celast.LiteralKind {
			name, ok = args[1].AsLiteral().Value().(string)
		}
	}
	return name, ok
}

// unknownHint returns the place of a hint that does not exist, and what is wrong with it.
func unknownHint(e celast.Expr) (id int64, problem string) {
	hints := slices.Sorted(maps.Keys(Hints{}.facts()))
	celast.PostOrderVisit(e, celast.NewExprVisitor(func(e celast.Expr) {
		if name, ok := hintOf(e); ok && problem == "" && !slices.Contains(hints, name) {
			id = e.ID()
			problem = fmt.Sprintf("no hint %q%s", name, cmp.Or(didYouMean(ident.Nearest(name, hints, 1)), "; there are "+strings.Join(hints, ", ")))
		}
	}))
	return id, problem
}
