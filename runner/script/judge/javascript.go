package judge

import (
	"fmt"
	"sort"
	"strings"
	"sync"

	"github.com/go-sourcemap/sourcemap"
	"github.com/grafana/sobek/ast"
	"github.com/grafana/sobek/file"
	"github.com/grafana/sobek/parser"
	"github.com/grafana/sobek/token"
)

// JavaScriptTarget is the newest JavaScript that [Facts.JavaScript] reads, as an esbuild target is called.
const JavaScriptTarget = "es2022"

// JavaScript adds the facts of a TypeScript or JavaScript file: text is what a person wrote, code the JavaScript that was made of
// it, with its source map. It returns the modules that the file imports under names that are known, also computed ones. Nesting in
// code is bounded by nothing but the stack, so that the caller must be a process that may end.
func (f *Facts) JavaScript(name, text string, code, sourceMap []byte) ([]string, error) {
	j := &converter{}
	for i, c := range code {
		if c == '\n' {
			j.lines = append(j.lines, i+1)
		}
	}
	places := sync.OnceValues(func() (*sourcemap.Consumer, error) { return sourcemap.Parse("", sourceMap) })
	a := &analysis{file: name, text: text, place: func(n *node) (int, int) {
		consumer, err := places()
		if err != nil {
			return 0, 0
		}
		_, _, line, column, ok := consumer.Source(n.line, n.column)
		if !ok {
			return 0, 0
		}
		return line, column + 1
	}}
	program, err := parser.ParseFile(nil, name, string(code), parser.IgnoreRegExpErrors, parser.WithDisableSourceMaps, parser.IsModule)
	if err != nil { // CommonJS may return from a file, and need not be strict
		body := "async function script() {" + string(code) + "\n}"
		if again, e := parser.ParseFile(nil, name, body, parser.IgnoreRegExpErrors, parser.WithDisableSourceMaps); e == nil {
			program, err = again, nil
			j.shift = len("async function script() {")
		}
	}
	if err != nil {
		line, column, what := 0, 0, err.Error()
		if list, ok := err.(parser.ErrorList); ok && len(list) > 0 {
			line, column = a.place(&node{line: list[0].Position.Line, column: list[0].Position.Column - 1})
			what = list[0].Message
		}
		f.Unreadable = append(f.Unreadable, Problem{File: name, Line: line, Column: column, Text: what})
		return nil, nil
	}
	root := j.node(kindOther, 0, "", j.statements(program.Body)...)
	return f.analyze(a, root), nil
}

// converter makes our trees of those of the parser.
type converter struct {
	lines []int // offsets of all lines but the first
	shift int   // what was put before the file's text
}

func (j *converter) node(k kind, at file.Idx, text string, kids ...*node) *node {
	offset := max(0, int(at)-1-j.shift)
	line := sort.SearchInts(j.lines, offset+1)
	column := offset
	if line > 0 {
		column -= j.lines[line-1]
	}
	return &node{kind: k, line: line + 1, column: column, text: text, kids: kids}
}

func (j *converter) statements(list []ast.Statement) []*node {
	out := make([]*node, 0, len(list))
	for _, s := range list {
		if n := j.statement(s); n != nil {
			out = append(out, n)
		}
	}
	return out
}

func (j *converter) statement(s ast.Statement) *node {
	switch s := s.(type) {
	case nil:
		return nil
	case *ast.BlockStatement:
		if s == nil {
			return nil
		}
		return j.node(kindBlock, s.LeftBrace, "", j.statements(s.List)...)
	case *ast.ExpressionStatement:
		return j.expr(s.Expression)
	case *ast.VariableStatement:
		return j.node(kindOther, s.Var, "", j.bindings(s.List, kindVar)...)
	case *ast.LexicalDeclaration:
		return j.node(kindOther, s.Idx, "", j.bindings(s.List, kindAssign)...)
	case *ast.FunctionDeclaration:
		return j.node(kindOther, s.Function.Function, "", j.declare(s.Function.Name), j.function(s.Function))
	case *ast.ClassDeclaration:
		return j.node(kindOther, s.Class.Class, "", j.declare(s.Class.Name), j.class(s.Class))
	case *ast.ImportDeclaration:
		return j.importing(s)
	case *ast.ExportDeclaration:
		return j.export(s)
	case *ast.ReturnStatement:
		return j.group(s.Return, s.Argument)
	case *ast.ThrowStatement:
		return j.group(s.Throw, s.Argument)
	case *ast.LabelledStatement:
		return j.statement(s.Statement)
	case *ast.WithStatement:
		return j.node(kindOther, s.With, "", present(j.expr(s.Object), j.statement(s.Body))...)
	case *ast.TryStatement:
		return j.try(s)
	}
	return j.branching(s)
}

// branching converts statements that decide.
func (j *converter) branching(s ast.Statement) *node {
	switch s := s.(type) {
	case *ast.IfStatement:
		return j.node(kindBranch, s.If, "", present(j.expr(s.Test), j.statement(s.Consequent), j.statement(s.Alternate))...)
	case *ast.WhileStatement:
		return j.node(kindBranch, s.While, "", present(j.expr(s.Test), j.statement(s.Body))...)
	case *ast.DoWhileStatement:
		return j.node(kindBranch, s.Do, "", present(j.expr(s.Test), j.statement(s.Body))...)
	case *ast.ForStatement:
		var init *node
		switch i := s.Initializer.(type) {
		case *ast.ForLoopInitializerExpression:
			init = j.expr(i.Expression)
		case *ast.ForLoopInitializerVarDeclList:
			init = j.node(kindOther, s.For, "", j.bindings(i.List, kindVar)...)
		case *ast.ForLoopInitializerLexicalDecl:
			init = j.node(kindOther, s.For, "", j.bindings(i.LexicalDeclaration.List, kindAssign)...)
		}
		return j.block(s.For, kindBranch, init, j.expr(s.Test), j.expr(s.Update), j.statement(s.Body))
	case *ast.ForInStatement:
		return j.block(s.For, kindBranch, j.into(s.Into, nil), j.expr(s.Source), j.statement(s.Body))
	case *ast.ForOfStatement:
		of := j.expr(s.Source)
		return j.block(s.For, kindBranch, j.into(s.Into, j.node(kindEach, s.For, "", of)), of, j.statement(s.Body))
	case *ast.SwitchStatement:
		kids := present(j.expr(s.Discriminant))
		for _, c := range s.Body {
			kids = append(kids, j.node(kindBranch, c.Case, "", append(present(j.expr(c.Test)), j.statements(c.Consequent)...)...))
		}
		return j.node(kindBlock, s.Switch, "", kids...)
	}
	return nil
}

func (j *converter) try(s *ast.TryStatement) *node {
	kids := present(j.statement(s.Body))
	if c := s.Catch; c != nil {
		var caught []*node
		if c.Parameter != nil {
			caught = j.pattern(c.Parameter, nil, kindAssign)
		}
		kids = append(kids, j.block(c.Catch, kindBranch, append(caught, j.statement(c.Body))...))
	}
	if s.Finally != nil {
		kids = append(kids, j.statement(s.Finally))
	}
	return j.node(kindOther, s.Try, "", kids...)
}

// block returns a node in a block of its own.
func (j *converter) block(at file.Idx, k kind, kids ...*node) *node {
	return j.node(kindBlock, at, "", j.node(k, at, "", present(kids...)...))
}

// into returns the node that assigns a value, or an unknown one, to the variable of a loop.
func (j *converter) into(i ast.ForInto, value *node) *node {
	switch i := i.(type) {
	case *ast.ForIntoVar:
		return j.node(kindOther, i.Binding.Idx0(), "", j.pattern(i.Binding.Target, value, kindBind)...)
	case *ast.ForDeclaration:
		return j.node(kindOther, i.Idx, "", j.pattern(i.Target, value, kindBind)...)
	case *ast.ForIntoExpression:
		return j.expr(i.Expression)
	}
	return nil
}

func (j *converter) declare(id *ast.Identifier) *node {
	if id == nil {
		return j.node(kindOther, 0, "")
	}
	return j.node(kindDeclare, id.Idx, string(id.Name.String()))
}

func (j *converter) bindings(list []*ast.Binding, as kind) []*node {
	var out []*node
	for _, b := range list {
		value := j.expr(b.Initializer)
		if value == nil {
			value = j.node(kindOther, b.Idx0(), "")
		}
		out = append(out, j.pattern(b.Target, value, as)...)
	}
	return out
}

// pattern returns the nodes that assign a value, or an unknown one, to what a pattern names.
func (j *converter) pattern(target ast.Expression, value *node, as kind) []*node {
	switch t := target.(type) {
	case *ast.Identifier:
		if value == nil {
			return []*node{j.node(kindDeclare, t.Idx, t.Name.String())}
		}
		return []*node{j.node(as, t.Idx, t.Name.String(), value)}
	case *ast.AssignExpression: // with a default
		return append(j.pattern(t.Left, value, as), j.expr(t.Right))
	case *ast.ObjectPattern:
		out := present(value)
		for _, p := range t.Properties {
			out = append(out, j.property(p, value)...)
		}
		if t.Rest != nil {
			out = append(out, j.pattern(t.Rest, value, kindBind)...)
		}
		return out
	case *ast.ArrayPattern:
		out := present(value)
		for i, e := range t.Elements {
			if e == nil {
				continue
			}
			var element *node
			if value != nil {
				element = j.node(kindIndex, e.Idx0(), "", value, j.node(kindNumber, e.Idx0(), fmt.Sprint(i)))
			}
			out = append(out, j.pattern(e, element, kindBind)...)
		}
		if t.Rest != nil {
			out = append(out, j.pattern(t.Rest, nil, as)...)
		}
		return out
	case nil:
		return present(value)
	}
	return present(j.expr(target), value)
}

// property returns the nodes for one property of a pattern.
func (j *converter) property(p ast.Property, value *node) []*node {
	member := func(at file.Idx, name string) *node {
		if value == nil {
			return nil
		}
		return j.node(kindAttr, at, name, value)
	}
	switch p := p.(type) {
	case *ast.PropertyShort:
		out := j.pattern(&p.Name, member(p.Name.Idx, p.Name.Name.String()), kindBind)
		if p.Initializer != nil {
			out = append(out, j.expr(p.Initializer))
		}
		return out
	case *ast.PropertyKeyed:
		if s, ok := p.Key.(*ast.StringLiteral); ok {
			return j.pattern(p.Value, member(s.Idx, s.Value.String()), kindBind)
		}
		if value == nil {
			return append(j.pattern(p.Value, nil, kindBind), j.expr(p.Key))
		}
		return append(j.pattern(p.Value, j.node(kindIndex, p.Key.Idx0(), "", value, j.expr(p.Key)), kindBind), j.expr(p.Key))
	}
	return nil
}

func (j *converter) importing(s *ast.ImportDeclaration) *node {
	specifier := s.ModuleSpecifier.String()
	if s.FromClause != nil {
		specifier = s.FromClause.ModuleSpecifier.String()
	}
	out := []*node{j.node(kindImport, s.Idx, specifier)}
	module := func() *node { return j.node(kindModule, s.Idx, specifier) }
	if c := s.ImportClause; c != nil {
		if c.ImportedDefaultBinding != nil {
			out = append(out, j.node(kindAssign, s.Idx, c.ImportedDefaultBinding.Name.String(), module()))
		}
		if c.NameSpaceImport != nil {
			out = append(out, j.node(kindAssign, s.Idx, c.NameSpaceImport.ImportedBinding.String(), module()))
		}
		if c.NamedImports != nil {
			for _, i := range c.NamedImports.ImportsList {
				name, local := i.IdentifierName.String(), i.Alias.String()
				if local == "" {
					local = name
				}
				out = append(out, j.node(kindBind, s.Idx, local, j.node(kindAttr, s.Idx, name, module()))) // what is imported counts where it is used
			}
		}
	}
	return j.node(kindOther, s.Idx, "", out...)
}

func (j *converter) export(s *ast.ExportDeclaration) *node {
	var kids []*node
	if s.FromClause != nil {
		specifier := s.FromClause.ModuleSpecifier.String()
		kids = append(kids, j.node(kindImport, s.Idx, specifier))
	}
	if s.Variable != nil {
		kids = append(kids, j.statement(s.Variable))
	}
	if s.LexicalDeclaration != nil {
		kids = append(kids, j.statement(s.LexicalDeclaration))
	}
	if s.ClassDeclaration != nil {
		kids = append(kids, j.statement(s.ClassDeclaration))
	}
	if s.HoistableDeclaration != nil {
		kids = append(kids, j.statement(s.HoistableDeclaration.FunctionDeclaration))
	}
	if s.AssignExpression != nil {
		kids = append(kids, j.expr(s.AssignExpression))
	}
	return j.node(kindOther, s.Idx, "", kids...)
}

func (j *converter) function(f *ast.FunctionLiteral) *node {
	if f == nil {
		return nil
	}
	kids := append(j.parameters(f.ParameterList), j.statements(f.Body.List)...)
	name := ""
	if f.Name != nil {
		name = f.Name.Name.String()
		kids = append(kids, j.declare(f.Name))
	}
	return j.node(kindFunction, f.Function, name, kids...)
}

func (j *converter) parameters(list *ast.ParameterList) []*node {
	var kids []*node
	for _, b := range list.List {
		kids = append(kids, j.pattern(b.Target, nil, kindAssign)...)
		if b.Initializer != nil {
			kids = append(kids, j.expr(b.Initializer))
		}
	}
	if list.Rest != nil {
		kids = append(kids, j.pattern(list.Rest, nil, kindAssign)...)
	}
	return kids
}

func (j *converter) class(c *ast.ClassLiteral) *node {
	kids := present(j.expr(c.SuperClass))
	for _, e := range c.Body {
		switch e := e.(type) {
		case *ast.FieldDefinition:
			kids = append(kids, present(j.key(e.Key, e.Computed), j.expr(e.Initializer))...)
		case *ast.MethodDefinition:
			kids = append(kids, present(j.key(e.Key, e.Computed), j.function(e.Body))...)
		case *ast.ClassStaticBlock:
			kids = append(kids, j.statement(e.Block))
		}
	}
	return j.node(kindBlock, c.Class, "", kids...)
}

func (j *converter) key(key ast.Expression, computed bool) *node {
	if !computed {
		return nil
	}
	return j.expr(key)
}

func (j *converter) group(at file.Idx, list ...ast.Expression) *node {
	return j.node(kindOther, at, "", j.exprs(list)...)
}

func (j *converter) exprs(list []ast.Expression) []*node {
	out := make([]*node, 0, len(list))
	for _, e := range list {
		if n := j.expr(e); n != nil {
			out = append(out, n)
		}
	}
	return out
}

// expr converts an expression; nil for none.
func (j *converter) expr(e ast.Expression) *node {
	switch e := e.(type) {
	case *ast.Identifier:
		return j.node(kindName, e.Idx, e.Name.String())
	case *ast.StringLiteral:
		return j.node(kindString, e.Idx, e.Value.String())
	case *ast.NumberLiteral:
		return j.node(kindNumber, e.Idx, fmt.Sprint(e.Value))
	case *ast.TemplateLiteral:
		return j.template(e)
	case *ast.DotExpression:
		return j.node(kindAttr, e.Identifier.Idx, e.Identifier.Name.String(), j.expr(e.Left))
	case *ast.PrivateDotExpression:
		return j.node(kindOther, e.Idx0(), "", j.expr(e.Left))
	case *ast.BracketExpression:
		return j.node(kindIndex, e.LeftBracket, "", j.expr(e.Left), j.expr(e.Member))
	case *ast.OptionalChain:
		return j.expr(e.Expression)
	case *ast.Optional:
		return j.expr(e.Expression)
	case *ast.AwaitExpression:
		return j.expr(e.Argument)
	case *ast.CallExpression:
		return j.call(e.Idx0(), e.Callee, e.ArgumentList)
	case *ast.NewExpression:
		return j.call(e.New, e.Callee, e.ArgumentList)
	case *ast.AssignExpression:
		return j.assign(e)
	case *ast.BinaryExpression:
		switch e.Operator {
		case token.PLUS:
			return j.node(kindAdd, e.Idx0(), "", j.expr(e.Left), j.expr(e.Right))
		case token.LOGICAL_OR, token.LOGICAL_AND, token.COALESCE:
			return j.node(kindAny, e.Idx0(), "", j.expr(e.Left), j.expr(e.Right))
		}
		if e.Operator == token.INSTANCEOF {
			return j.group(e.Idx0(), e.Left)
		}
		return j.group(e.Idx0(), e.Left, e.Right)
	case *ast.ConditionalExpression:
		return j.node(kindAny, e.Idx0(), "?", j.expr(e.Consequent), j.expr(e.Alternate), j.expr(e.Test))
	case *ast.FunctionLiteral:
		return j.function(e)
	case *ast.ClassLiteral:
		return j.class(e)
	}
	return j.literal(e)
}

// literal converts the rest of the expressions.
func (j *converter) literal(e ast.Expression) *node {
	switch e := e.(type) {
	case *ast.ArrowFunctionLiteral:
		kids := j.parameters(e.ParameterList)
		switch b := e.Body.(type) {
		case *ast.BlockStatement:
			kids = append(kids, j.statements(b.List)...)
		case *ast.ExpressionBody:
			kids = append(kids, j.expr(b.Expression))
		}
		return j.node(kindFunction, e.Start, "", kids...)
	case *ast.ArrayLiteral:
		kids := make([]*node, 0, len(e.Value))
		for _, v := range e.Value {
			if n := j.expr(v); n != nil {
				kids = append(kids, n)
			}
		}
		return j.node(kindList, e.LeftBracket, "", kids...)
	case *ast.ObjectLiteral:
		return j.object(e)
	case *ast.SequenceExpression: // its value is the last one
		list := j.exprs(e.Sequence)
		return j.node(kindAny, e.Idx0(), "/", append(list[len(list)-1:], list[:len(list)-1]...)...)
	case *ast.UnaryExpression:
		return j.group(e.Idx0(), e.Operand)
	case *ast.YieldExpression:
		return j.group(e.Yield, e.Argument)
	case *ast.SpreadElement:
		return j.node(kindSpread, e.Expression.Idx0(), "", j.expr(e.Expression))
	case *ast.DynamicImportExpression:
		return j.node(kindName, e.Idx, "import")
	case *ast.ThisExpression:
		return j.node(kindName, e.Idx, "this")
	case *ast.MetaProperty:
		return j.node(kindName, e.Idx, "import.meta")
	case *ast.RegExpLiteral:
		return j.node(kindModule, e.Idx, "RegExp()")
	case nil:
		return nil
	}
	return j.node(kindOther, e.Idx0(), "")
}

func (j *converter) call(at file.Idx, callee ast.Expression, arguments []ast.Expression) *node {
	if m, ok := callee.(*ast.DotExpression); ok && len(arguments) > 0 && (m.Identifier.Name == "call" || m.Identifier.Name == "bind") {
		return j.node(kindAny, at, "/", j.call(at, m.Left, arguments[1:]), j.expr(arguments[0])) // f.call(this, ...)
	}
	return j.node(kindCall, at, "", append([]*node{j.expr(callee)}, j.exprs(arguments)...)...)
}

func (j *converter) assign(e *ast.AssignExpression) *node {
	right := j.expr(e.Right)
	id, ok := e.Left.(*ast.Identifier)
	switch {
	case ok && e.Operator == token.PLUS:
		return j.node(kindAssign, id.Idx, id.Name.String()+"\x00", j.node(kindAdd, id.Idx, "", j.expr(id), right))
	case ok:
		return j.node(kindAssign, id.Idx, id.Name.String()+"\x00", right)
	}
	if _, pattern := e.Left.(ast.Pattern); pattern {
		return j.node(kindOther, e.Idx0(), "", j.pattern(e.Left, right, kindBind)...)
	}
	return j.node(kindOther, e.Idx0(), "", present(j.expr(e.Left), right)...)
}

func (j *converter) object(e *ast.ObjectLiteral) *node {
	var kids []*node
	for _, p := range e.Value {
		switch p := p.(type) {
		case *ast.PropertyShort:
			kids = append(kids, j.node(kindPair, p.Name.Idx, p.Name.Name.String(), j.expr(&p.Name)))
		case *ast.PropertyKeyed:
			if s, ok := p.Key.(*ast.StringLiteral); ok {
				kids = append(kids, j.node(kindPair, s.Idx, s.Value.String(), j.expr(p.Value)))
				continue
			}
			kids = append(kids, present(j.key(p.Key, p.Computed), j.expr(p.Value))...)
		case *ast.SpreadElement:
			kids = append(kids, j.expr(p))
		}
	}
	return j.node(kindDict, e.LeftBrace, "", kids...)
}

func (j *converter) template(e *ast.TemplateLiteral) *node {
	var kids []*node
	for i, part := range e.Elements {
		kids = append(kids, j.node(kindString, part.Idx, part.Parsed.String()))
		if i < len(e.Expressions) {
			kids = append(kids, j.expr(e.Expressions[i]))
		}
	}
	whole := j.node(kindJoin, e.OpenQuote, "", kids...)
	if e.Tag != nil {
		return j.node(kindCall, e.OpenQuote, "", j.expr(e.Tag), whole)
	}
	return whole
}

// present leaves out nodes that are not there.
func present(nodes ...*node) []*node {
	out := nodes[:0:0]
	for _, n := range nodes {
		if n != nil {
			out = append(out, n)
		}
	}
	return out
}

// assignsOuter reports whether an assignment is to a variable that is declared elsewhere, and returns its name.
func assignsOuter(text string) (string, bool) { return strings.CutSuffix(text, "\x00") }
