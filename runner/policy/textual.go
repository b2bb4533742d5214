package policy

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"github.com/mcpgen/mcpgen/runner/policy/internal/spelling"
)

// comparison is a place where a condition compares a text with a constant.
type comparison struct {
	function string // an operator, or startsWith, endsWith, contains or matches
	operand  string // an argument such as args.to, or a function: host, domain or emails
	path     []string
	literal  string
	negated  bool
	id       int64 // the id of the constant
}

// reader finds comparisons.
type reader struct {
	probes *probes
	found  []comparison
}

// scope maps the variables of macros such as all and exists to what they stand for: the elements of an argument, or of a function's result.
type scope struct{ paths, functions map[string]string }

// comparisons returns the comparisons of a condition.
func (c *condition) comparisons() []comparison {
	r := &reader{probes: newProbes()}
	r.expr(c.ast.NativeRep().Expr(), scope{map[string]string{}, map[string]string{}}, false)
	return r.found
}

func (r *reader) expr(e celast.Expr, s scope, negated bool) {
	switch e.Kind() {
	case celast.SelectKind:
		r.expr(e.AsSelect().Operand(), s, negated)
	case celast.ListKind:
		for _, item := range e.AsList().Elements() {
			r.expr(item, s, negated)
		}
	case celast.CallKind:
		c := e.AsCall()
		r.call(c, s, negated)
		if c.IsMemberFunction() {
			r.expr(c.Target(), s, negated)
		}
		for _, arg := range c.Args() {
			r.expr(arg, s, negated != (c.FunctionName() == operators.LogicalNot))
		}
	case celast.ComprehensionKind:
		c := e.AsComprehension()
		r.expr(c.IterRange(), s, negated)
		inner := scope{maps.Clone(s.paths), maps.Clone(s.functions)}
		if path, ok := r.probes.path(c.IterRange(), s.paths); ok {
			inner.paths[c.IterVar()] = join(path, element)
		} else if function := called(c.IterRange()); function == "emails" || function == "paths" {
			inner.functions[c.IterVar()] = function
		}
		for _, part := range []celast.Expr{c.LoopCondition(), c.LoopStep(), c.Result()} {
			r.expr(part, inner, negated)
		}
	}
}

// called returns the name of the function that an expression calls, or "" if it is not a call.
func called(e celast.Expr) string {
	if e.Kind() == celast.CallKind {
		return e.AsCall().FunctionName()
	}
	return ""
}

func (r *reader) call(c celast.CallExpr, s scope, negated bool) {
	switch c.FunctionName() {
	case "startsWith", "endsWith", "contains", "matches":
		if c.IsMemberFunction() {
			r.add(c, c.Target(), c.Args()[0], s, negated)
		}
	case operators.Equals, operators.NotEquals, operators.In:
		r.add(c, c.Args()[0], c.Args()[1], s, negated)
		r.add(c, c.Args()[1], c.Args()[0], s, negated)
	}
}

// add adds the comparisons of an operand with a constant, or with each constant of a list.
func (r *reader) add(c celast.CallExpr, operand, constant celast.Expr, s scope, negated bool) {
	of := comparison{function: c.FunctionName(), negated: negated}
	operand = unwrap(operand)
	switch path, ok := r.probes.path(operand, s.paths); {
	case ok && path != "":
		of.path = strings.Split(path, separator)
		of.operand = strings.ReplaceAll("args."+strings.Join(of.path, "."), "."+element, "[…]")
	case operand.Kind() == celast.IdentKind && s.functions[operand.AsIdent()] != "":
		of.operand = s.functions[operand.AsIdent()]
	case slices.Contains([]string{"host", "domain", "emails", "paths"}, called(operand)):
		of.operand = called(operand)
	default:
		return
	}
	constants := []celast.Expr{constant}
	if constant.Kind() == celast.ListKind {
		constants = constant.AsList().Elements()
	}
	for _, each := range constants {
		if text, ok := literalText(each); ok {
			of.literal, of.id = text, each.ID()
			r.found = append(r.found, of)
		}
	}
}

func literalText(e celast.Expr) (string, bool) {
	if e.Kind() != celast.LiteralKind {
		return "", false
	}
	text, ok := e.AsLiteral().Value().(string)
	return text, ok
}

// unwrap returns the expression that an expression converts to text.
func unwrap(e celast.Expr) celast.Expr {
	for e.Kind() == celast.CallKind {
		c := e.AsCall()
		switch {
		case c.IsMemberFunction() && slices.Contains([]string{"lowerAscii", "upperAscii", "trim", "replace", "substring", "split", "orValue"}, c.FunctionName()):
			e = c.Target()
		case c.FunctionName() == operators.Index && called(c.Args()[0]) == "split":
			e = c.Args()[0]
		default:
			return e
		}
	}
	return e
}

// textual describes the rule's comparisons that another spelling of the same path, address or host evades.
func (r *rule) textual() []string {
	var out []string
	for _, c := range r.when.comparisons() {
		problem := ""
		if c.path == nil {
			problem = c.ofFunction()
		} else {
			problem = c.ofArgument(r.effect)
		}
		if problem != "" {
			line, column := r.when.position(c.id)
			out = append(out, fmt.Sprintf("%s:%d: rule %q: %s", position(r.when.file, line), column, r.name, problem))
		}
	}
	return out
}

var webURL = regexp.MustCompile(`(?i)^\^?(https?|wss?|ftp)\??:`)

// ofArgument says what to use instead if an argument holds paths, addresses or URLs. It accepts a rule that allows only one exact text.
func (c *comparison) ofArgument(effect Effect) string {
	isEqual := c.function == operators.Equals || c.function == operators.In
	if (isEqual || c.function == operators.NotEquals) && (isEqual != c.negated) == (effect == Allow) {
		return ""
	}
	last := c.path[len(c.path)-1]
	if last == element && len(c.path) > 1 {
		last = c.path[len(c.path)-2]
	}
	words := spelling.Words(last)
	is := func(names ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return slices.Contains(names, word) })
	}
	instead := ""
	switch {
	case webURL.MatchString(c.literal) || is("url", "urls", "href", "link"):
		instead = fmt.Sprintf("a URL: compare host(%s)", c.operand)
	case strings.Contains(c.literal, "@") || is("email", "emails", "recipient", "recipients", "cc", "bcc"):
		instead = fmt.Sprintf("a mail address: compare emails(%s)", c.operand)
	case c.function == "endsWith" && strings.HasPrefix(c.literal, ".") || c.function == "matches" && !is("path", "paths", "file", "dir", "directory", "folder"):
		return ""
	case strings.ContainsAny(c.literal, `/\`) && !strings.Contains(c.literal, "://") && (spelling.NamesPath(words) || strings.HasPrefix(c.literal, "/") || strings.HasPrefix(c.literal, ".")),
		!strings.Contains(c.literal, "://") && spelling.NamesPath(words) && is("path", "paths", "file", "files", "filename", "filepath", "dir", "directory", "folder"):
		instead = fmt.Sprintf("a path: use under(%s, …)", c.operand)
	default:
		return ""
	}
	return fmt.Sprintf("%s is compared as text, and other spellings mean the same; it looks like %s", c.operand, instead)
}

// ofFunction says what is wrong with a comparison of a host, a domain or an address.
func (c *comparison) ofFunction() string {
	bare := strings.TrimPrefix(c.literal, ".")
	switch {
	case c.operand == "paths":
		return "a path is compared as text, and other spellings mean the same: use under()"
	case c.literal != strings.ToLower(c.literal):
		return fmt.Sprintf("%s() returns lower case: write %q", c.operand, strings.ToLower(c.literal))
	case c.function == "matches":
		return ""
	case c.function == "endsWith" && !strings.HasPrefix(c.literal, ".") && !strings.HasPrefix(c.literal, "@"):
		return fmt.Sprintf("%q also ends %q: compare with ==, and use endsWith(%q) for what is below it", c.literal, "evil"+c.literal, "."+c.literal)
	case (c.function == "startsWith" || c.function == "contains") && c.operand != "emails":
		return fmt.Sprintf("%q is also in names of others, such as %q: compare with ==, or use endsWith()", c.literal, bare+".evil.com")
	}
	return ""
}
