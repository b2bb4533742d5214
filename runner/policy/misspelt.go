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

// maxNear bounds the names that are suggested in place of one.
const maxNear = 3

// Misspelt describes names in rules that match no tool, server or customer and so are likely misspelt. It leaves out globs that begin
// with a wildcard and resemble no tool, which are written for future tools. tools is called only if there are rules.
func (p *Policy) Misspelt(tools func() []Tool) []string {
	parts := []*part{p.all}
	for _, id := range slices.Sorted(maps.Keys(p.customers)) {
		parts = append(parts, p.customers[id])
	}
	if !slices.ContainsFunc(parts, func(part *part) bool { return len(part.rules) > 0 }) {
		return nil
	}
	k := p.known(tools())
	var out []string
	for _, part := range parts {
		for _, r := range part.rules {
			for _, text := range k.rule(r) {
				if !slices.Contains(out, text) { // customers have the rules for all
					out = append(out, text)
				}
			}
		}
	}
	return out
}

// CheckNames checks the names of an example. An unknown server is an error. A customer without rules who resembles one with rules is
// worth a warning.
func (p *Policy) CheckNames(tools []Tool, e *Example) (warning string, err error) {
	return p.known(tools).check(e.Customer, e.Taint)
}

// known are the names that rules and cases may have.
type known struct {
	ids, servers, keys, customers []string // keys are the servers' names in the configuration; servers are these and their folders
	exact, loose                  [][]string
}

func (p *Policy) known(tools []Tool) *known {
	k := &known{customers: slices.Sorted(maps.Keys(p.customers))}
	for i := range tools {
		t := &tools[i]
		exact, loose := (&Example{}).request(t).names()
		k.exact, k.loose = append(k.exact, exact), append(k.loose, loose)
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
	names := []string{DefaultRule, p.rule()}
	for _, r := range p.rules {
		names = append(names, r.name)
	}
	return names
}

// rule describes the unknown names in a rule.
func (k *known) rule(r *rule) []string {
	var out []string
	for _, glob := range r.globs {
		names := k.loose
		if r.effect == Allow {
			names = k.exact
		}
		if slices.ContainsFunc(names, func(of []string) bool { return fitsAny(glob, of) }) {
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
	walk(r.when.ast.NativeRep().Expr(), map[string]bool{}, func(variable string, literal celast.Expr) {
		name, ok := literal.AsLiteral().Value().(string)
		if problem := k.unknown(variable, name); ok && problem != "" {
			line, column := r.when.position(literal.ID())
			out = append(out, fmt.Sprintf("%s:%d: rule %q: %s", position(r.when.file, line), column, r.name, problem))
		}
	})
	return out
}

// unknown says why a name is not one that a variable can be equal to; empty if it is.
func (k *known) unknown(variable, name string) string {
	names, what := k.servers, "server"
	switch variable {
	case "server":
		names = k.keys
	case "tool":
		names, what = k.ids, "tool"
	case "customer": // there may be others than those with rules
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
	if what == "tool" {
		near = ident.NearestTools(name, names, maxNear)
	}
	return fmt.Sprintf("no %s %q in the tree%s", what, name, didYouMean(near))
}

// check is [Policy.CheckNames].
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

// globsLike returns globs of the form of one that fit tools: if it ends with a wildcard, ids up to the end of a word and a wildcard.
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

// walk calls found for each constant that an expression compares server, tool, customer or an element of taint with. elements are the
// variables of macros over taint.
func walk(e celast.Expr, elements map[string]bool, found func(variable string, literal celast.Expr)) {
	switch e.Kind() {
	case celast.SelectKind:
		walk(e.AsSelect().Operand(), elements, found)
	case celast.ListKind:
		for _, item := range e.AsList().Elements() {
			walk(item, elements, found)
		}
	case celast.CallKind:
		compared(e.AsCall(), elements, found)
		if e.AsCall().IsMemberFunction() {
			walk(e.AsCall().Target(), elements, found)
		}
		for _, arg := range e.AsCall().Args() {
			walk(arg, elements, found)
		}
	case celast.ComprehensionKind:
		c := e.AsComprehension()
		walk(c.IterRange(), elements, found)
		if variableOf(c.IterRange(), elements) == "taint" {
			elements = maps.Clone(elements)
			elements[c.IterVar()] = true
		}
		for _, part := range []celast.Expr{c.LoopCondition(), c.LoopStep(), c.Result()} {
			walk(part, elements, found)
		}
	}
}

// compared calls found for the constants of a comparison.
func compared(c celast.CallExpr, elements map[string]bool, found func(string, celast.Expr)) {
	switch c.FunctionName() {
	case operators.Equals, operators.NotEquals, operators.In:
	default:
		return
	}
	a, b := c.Args()[0], c.Args()[1]
	for _, pair := range [][2]celast.Expr{{a, b}, {b, a}} {
		variable := variableOf(pair[0], elements)
		literals := []celast.Expr{pair[1]}
		if pair[1].Kind() == celast.ListKind {
			literals = pair[1].AsList().Elements()
		}
		for _, literal := range literals {
			if variable != "" && literal.Kind() == celast.LiteralKind {
				found(variable, literal)
			}
		}
	}
}

// variableOf returns the variable of names that an expression is, or an element of; empty if it is another.
func variableOf(e celast.Expr, elements map[string]bool) string {
	switch e.Kind() {
	case celast.IdentKind:
		switch name := e.AsIdent(); {
		case elements[name]:
			return "taint"
		case slices.Contains([]string{"server", "tool", "customer", "taint"}, name):
			return name
		}
	case celast.CallKind:
		if c := e.AsCall(); c.FunctionName() == operators.Index {
			if variableOf(c.Args()[0], elements) == "taint" {
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
