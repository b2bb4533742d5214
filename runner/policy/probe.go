package policy

import (
	"cmp"
	"maps"
	"regexp/syntax"
	"slices"
	"strings"

	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// probes are the variables that conditions read, and the constants that they compare them with.
type probes struct {
	paths   map[string]bool // paths of arguments; see join
	uses    map[string]bool // variables other than args
	numbers map[float64]bool
	texts   map[string]bool
}

func newProbes() *probes {
	return &probes{paths: map[string]bool{}, uses: map[string]bool{}, numbers: map[float64]bool{}, texts: map[string]bool{}}
}

// add adds the probes of a condition.
func (p *probes) add(c *condition) {
	if c != nil {
		p.expr(c.ast.NativeRep().Expr(), map[string]string{})
	}
}

// element is the step in a path that leads to the elements of a list.
const element = "[]"

// separator joins the steps of a path, because names of arguments may contain any other character.
const separator = "\x00"

func join(path, step string) string {
	if path == "" {
		return step
	}
	return path + separator + step
}

// expr adds the probes of an expression. vars maps the variables of macros such as all and exists to their paths.
func (p *probes) expr(e celast.Expr, vars map[string]string) {
	if path, ok := p.path(e, vars); ok && path != "" {
		p.paths[path] = true
	}
	switch e.Kind() {
	case celast.IdentKind:
		p.uses[e.AsIdent()] = true
	case celast.LiteralKind:
		p.literal(e.AsLiteral().Value())
	case celast.SelectKind:
		p.expr(e.AsSelect().Operand(), vars)
	case celast.ListKind:
		for _, item := range e.AsList().Elements() {
			p.expr(item, vars)
		}
	case celast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			p.expr(entry.AsMapEntry().Key(), vars)
			p.expr(entry.AsMapEntry().Value(), vars)
		}
	case celast.CallKind:
		p.call(e.AsCall(), vars)
	case celast.ComprehensionKind:
		c := e.AsComprehension()
		p.expr(c.IterRange(), vars)
		if path, ok := p.path(c.IterRange(), vars); ok {
			vars = maps.Clone(vars)
			vars[c.IterVar()] = join(path, element)
		}
		for _, part := range []celast.Expr{c.LoopCondition(), c.LoopStep(), c.Result()} {
			p.expr(part, vars)
		}
	}
}

func (p *probes) call(c celast.CallExpr, vars map[string]string) {
	p.uses[c.FunctionName()] = true
	if c.IsMemberFunction() {
		p.expr(c.Target(), vars)
	}
	for _, arg := range c.Args() {
		p.expr(arg, vars)
		if c.FunctionName() == "matches" && arg.Kind() == celast.LiteralKind {
			if pattern, ok := arg.AsLiteral().(types.String); ok {
				p.texts[matching(string(pattern))] = true
			}
		}
	}
}

func (p *probes) literal(value any) {
	switch v := value.(type) {
	case int64:
		p.numbers[float64(v)] = true
	case uint64:
		p.numbers[float64(v)] = true
	case float64:
		p.numbers[v] = true
	case string:
		p.texts[v] = true
	}
}

// path returns the path of an argument. The empty path is args itself.
func (p *probes) path(e celast.Expr, vars map[string]string) (string, bool) {
	below := func(on celast.Expr, name string) (string, bool) {
		path, ok := p.path(on, vars)
		return join(path, name), ok
	}
	switch e.Kind() {
	case celast.IdentKind:
		path, ok := vars[e.AsIdent()]
		return path, ok || e.AsIdent() == "args"
	case celast.SelectKind:
		return below(e.AsSelect().Operand(), e.AsSelect().FieldName())
	case celast.CallKind:
		c := e.AsCall()
		if !slices.Contains([]string{operators.Index, operators.OptIndex, operators.OptSelect}, c.FunctionName()) || c.Args()[1].Kind() != celast.LiteralKind {
			return "", false
		}
		switch key := c.Args()[1].AsLiteral().Value().(type) {
		case string:
			return below(c.Args()[0], key)
		case int64:
			return below(c.Args()[0], element)
		}
	}
	return "", false
}

// sortedNumbers returns each constant with its neighbours.
func (p *probes) sortedNumbers() []float64 {
	near := map[float64]bool{0: true}
	for n := range p.numbers {
		near[n-1], near[n], near[n+1] = true, true, true
	}
	return slices.Sorted(maps.Keys(near))
}

// sortedTexts returns each constant, and texts that contain it.
func (p *probes) sortedTexts() []string {
	near := map[string]bool{}
	for text := range p.texts {
		near[text] = true
		if text != "" {
			near[text+"x"], near["x"+text] = true, true
			if p.uses["under"] {
				near[text+"/x"] = true
			}
			if p.uses["host"] {
				near["https://"+text+"/"] = true
			}
			if p.uses["emails"] || p.uses["domain"] {
				near["x@"+text] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(near), func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) })
}

// matching returns a text that a regular expression matches.
func matching(pattern string) string {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return ""
	}
	var b strings.Builder
	match(&b, re)
	return b.String()
}

func match(b *strings.Builder, re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		b.WriteRune(re.Rune[0])
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('x')
	case syntax.OpCapture, syntax.OpPlus:
		match(b, re.Sub[0])
	case syntax.OpRepeat:
		for range re.Min {
			match(b, re.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			match(b, sub)
		}
	case syntax.OpAlternate:
		match(b, re.Sub[0])
	}
}
