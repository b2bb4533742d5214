package syntax

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/go-sourcemap/sourcemap"
	"github.com/grafana/sobek/ast"
	"github.com/grafana/sobek/file"
	"github.com/grafana/sobek/parser"
	"github.com/grafana/sobek/token"
)

// JavaScript reads JavaScript that was made of a text, with its source map. Nesting in code is bounded by nothing but the stack, so
// that the caller must be a process that may end, or bound it. A problem of the code is an [*Error].
func JavaScript(name, text string, code, sourceMap []byte) (*File, error) {
	j := &converter{lines: linesOf(string(code), newlines...)}
	written, shown := linesOf(text, newlines...), linesOf(text, "\n", "\r")
	places := sync.OnceValues(func() (*sourcemap.Consumer, error) { return sourcemap.Parse("", sourceMap) })
	offset := func(n *Node) (int, bool) {
		consumer, err := places()
		if err != nil || n.Line > len(j.lines.starts) {
			return 0, false
		}
		_, _, line, column, ok := consumer.Source(n.Line, j.lines.units(n.Line, n.Column))
		if !ok || line < 1 || line > len(written.starts) {
			return 0, false
		}
		return written.offset(line, column), true
	}
	program, err := parser.ParseFile(nil, name, string(code), parser.IgnoreRegExpErrors, parser.WithDisableSourceMaps, parser.IsModule)
	if err != nil { // CommonJS may return from a file, and need not be strict
		body := "async function script() {" + string(code) + "\n}"
		if again, e := parser.ParseFile(nil, name, body, parser.IgnoreRegExpErrors, parser.WithDisableSourceMaps); e == nil {
			program, err = again, nil
			j.shift = len("async function script() {")
		}
	}
	if err != nil {
		e := &Error{Text: err.Error()}
		if list, ok := err.(parser.ErrorList); ok && len(list) > 0 {
			e.Text = list[0].Message
			if at, ok := offset(&Node{Line: list[0].Position.Line, Column: list[0].Position.Column - 1}); ok {
				e.Line, e.Column = shown.place(at)
			}
		}
		return nil, e
	}
	return &File{j.node(Other, 0, "", j.kids(&struct{ Body []ast.Statement }{program.Body})...), shown, offset}, nil
}

// newlines end lines in JavaScript and in its source maps. People see only the first two.
var newlines = []string{"\n", "\r", "\u2028", "\u2029"}

// converter makes our trees of those of the parser.
type converter struct {
	lines *lines
	shift int // what was put before the file's text
}

func (j *converter) node(k Kind, at file.Idx, text string, kids ...*Node) *Node {
	line, column := j.lines.place(max(0, int(at)-1-j.shift))
	return &Node{Kind: k, Line: line, Column: column - 1, Text: text, Kids: kids}
}

// convert makes a node of a part of the parser's tree, or returns nil if there is no part. Most parts become only the nodes within them.
func (j *converter) convert(part any) *Node {
	switch p := part.(type) {
	case nil, *ast.PrivateIdentifier:
		return nil
	case *ast.ExpressionStatement:
		return j.convert(p.Expression)
	case *ast.ExpressionBody:
		return j.convert(p.Expression)
	case *ast.OptionalChain:
		return j.convert(p.Expression)
	case *ast.Optional:
		return j.convert(p.Expression)
	case *ast.AwaitExpression:
		return j.convert(p.Argument)
	case *ast.BlockStatement, *ast.SwitchStatement, *ast.ClassLiteral:
		return j.node(Block, 0, "", j.kids(p)...)
	case *ast.IfStatement, *ast.WhileStatement, *ast.DoWhileStatement, *ast.CaseStatement:
		return j.node(Branch, p.(ast.Node).Idx0(), "", j.kids(p)...)
	case *ast.ForStatement:
		return j.loop(p.For, j.kids(p)...)
	case *ast.ForInStatement:
		return j.loop(p.For, append(j.into(p.Into, nil), j.convert(p.Source), j.convert(p.Body))...)
	case *ast.ForOfStatement:
		of := j.convert(p.Source)
		return j.loop(p.For, append(j.into(p.Into, j.node(Each, p.For, "", of)), of, j.convert(p.Body))...)
	case *ast.CatchStatement:
		return j.loop(p.Catch, append(j.pattern(p.Parameter, nil, Assign), j.convert(p.Body))...)
	case *ast.VariableStatement:
		return j.bindings(p.List, Var)
	case *ast.ForLoopInitializerVarDeclList:
		return j.bindings(p.List, Var)
	case *ast.LexicalDeclaration:
		return j.bindings(p.List, Assign)
	case *ast.FunctionDeclaration:
		return j.group(j.declare(p.Function.Name), j.convert(p.Function))
	case *ast.ClassDeclaration:
		return j.group(j.declare(p.Class.Name), j.convert(p.Class))
	case *ast.ImportDeclaration:
		return j.importing(p)
	case *ast.ExportDeclaration:
		kids := j.kids(p)
		if p.FromClause != nil {
			kids = append(kids, j.node(Import, p.Idx, p.FromClause.ModuleSpecifier.String()))
		}
		return j.group(kids...)
	case ast.Expression:
		return j.expression(p)
	}
	return j.group(j.kids(part)...)
}

// kids converts what is in a part, in the order of its fields.
func (j *converter) kids(part any) []*Node {
	var out []*Node
	v := reflect.ValueOf(part).Elem()
	for i := range v.NumField() {
		switch name := v.Type().Field(i).Name; name {
		case "DeclarationList", "Label", "Name": // what is declared is also elsewhere, and others are no variables
			continue
		}
		switch f := v.Field(i); f.Kind() {
		case reflect.Interface, reflect.Pointer:
			if !f.IsNil() {
				out = append(out, j.convert(f.Interface()))
			}
		case reflect.Struct:
			out = append(out, j.convert(f.Addr().Interface()))
		case reflect.Slice:
			for k := range f.Len() {
				out = append(out, j.convert(f.Index(k).Interface()))
			}
		}
	}
	return present(out...)
}

func (j *converter) group(kids ...*Node) *Node { return j.node(Other, 0, "", present(kids...)...) }

// loop returns a decision in a block of its own.
func (j *converter) loop(at file.Idx, kids ...*Node) *Node {
	return j.node(Block, at, "", j.node(Branch, at, "", present(kids...)...))
}

// into returns the nodes that assign a value, or an unknown one, to the variable of a loop.
func (j *converter) into(i ast.ForInto, value *Node) []*Node {
	switch i := i.(type) {
	case *ast.ForIntoVar:
		return j.pattern(i.Binding.Target, value, Bind)
	case *ast.ForDeclaration:
		return j.pattern(i.Target, value, Bind)
	case *ast.ForIntoExpression:
		return j.pattern(i.Expression, nil, Bind)
	}
	return []*Node{j.convert(i)}
}

func (j *converter) declare(id *ast.Identifier) *Node {
	if id == nil {
		return nil
	}
	return j.node(Declare, id.Idx, id.Name.String())
}

func (j *converter) bindings(list []*ast.Binding, as Kind) *Node {
	var out []*Node
	for _, b := range list {
		value := j.convert(b.Initializer)
		if value == nil {
			value = j.group()
		}
		out = append(out, j.pattern(b.Target, value, as)...)
	}
	return j.group(out...)
}

// pattern returns the nodes that assign a value, or an unknown one, to what a pattern names.
func (j *converter) pattern(target ast.Expression, value *Node, as Kind) []*Node {
	switch t := target.(type) {
	case *ast.Identifier:
		if value == nil {
			return []*Node{j.declare(t)}
		}
		return []*Node{j.node(as, t.Idx, t.Name.String(), value)}
	case *ast.AssignExpression: // with a default
		return append(j.pattern(t.Left, value, as), j.convert(t.Right))
	case *ast.ObjectPattern:
		out := present(value)
		for _, p := range t.Properties {
			out = append(out, j.property(p, value)...)
		}
		return append(out, j.pattern(t.Rest, value, Bind)...)
	case *ast.ArrayPattern:
		out := present(value)
		for i, e := range t.Elements {
			if e == nil {
				continue
			}
			out = append(out, j.pattern(e, j.member(Index, 0, "", value, j.node(Number, 0, fmt.Sprint(i))), Bind)...)
		}
		return append(out, j.pattern(t.Rest, nil, as)...)
	case nil:
		return nil
	}
	return present(j.convert(target), value)
}

// member returns a member of a value; nil if that is unknown.
func (j *converter) member(k Kind, at file.Idx, name string, value *Node, key ...*Node) *Node {
	if value == nil {
		return nil
	}
	return j.node(k, at, name, append([]*Node{value}, key...)...)
}

// property returns the nodes for one property of a pattern.
func (j *converter) property(p ast.Property, value *Node) []*Node {
	switch p := p.(type) {
	case *ast.PropertyShort:
		name := p.Name.Name.String()
		return append(j.pattern(&p.Name, j.member(Attr, p.Name.Idx, name, value), Bind), present(j.node(Taken, p.Name.Idx, name), j.convert(p.Initializer))...)
	case *ast.PropertyKeyed:
		if s, ok := p.Key.(*ast.StringLiteral); ok {
			name := s.Value.String()
			return append(j.pattern(p.Value, j.member(Attr, s.Idx, name, value), Bind), j.node(Taken, s.Idx, name))
		}
		key := j.convert(p.Key)
		return append(j.pattern(p.Value, j.member(Index, 0, "", value, key), Bind), key)
	}
	return nil
}

func (j *converter) importing(s *ast.ImportDeclaration) *Node {
	specifier := s.ModuleSpecifier.String()
	if s.FromClause != nil {
		specifier = s.FromClause.ModuleSpecifier.String()
	}
	module := j.node(Module, s.Idx, specifier)
	out := []*Node{j.node(Import, s.Idx, specifier)}
	c := s.ImportClause
	if c == nil {
		return out[0]
	}
	if c.ImportedDefaultBinding != nil {
		out = append(out, j.node(Assign, s.Idx, c.ImportedDefaultBinding.Name.String(), module))
	}
	if c.NameSpaceImport != nil {
		out = append(out, j.node(Assign, s.Idx, c.NameSpaceImport.ImportedBinding.String(), module))
	}
	if c.NamedImports != nil {
		for _, i := range c.NamedImports.ImportsList {
			name, local := i.IdentifierName.String(), i.Alias.String()
			out = append(out, j.node(Bind, s.Idx, cmp.Or(local, name), j.node(Attr, s.Idx, name, module))) // what is imported counts where it is used
		}
	}
	return j.group(out...)
}

func (j *converter) function(at file.Idx, name *ast.Identifier, parameters *ast.ParameterList, body ast.Node) *Node {
	var kids []*Node
	for _, b := range parameters.List {
		kids = append(append(kids, j.pattern(b.Target, nil, Assign)...), j.convert(b.Initializer))
	}
	kids = append(kids, j.pattern(parameters.Rest, nil, Assign)...)
	if block, ok := body.(*ast.BlockStatement); ok {
		kids = append(kids, j.kids(block)...)
	} else {
		kids = append(kids, j.convert(body))
	}
	return j.node(Function, at, "", present(append(kids, j.declare(name))...)...)
}

// expression converts an expression.
func (j *converter) expression(e ast.Expression) *Node {
	switch e := e.(type) {
	case *ast.Identifier:
		return j.node(Name, e.Idx, e.Name.String())
	case *ast.StringLiteral:
		return j.node(String, e.Idx, e.Value.String())
	case *ast.NumberLiteral:
		return j.node(Number, e.Idx, fmt.Sprint(e.Value))
	case *ast.BooleanLiteral:
		return j.node(Other, e.Idx, e.Literal)
	case *ast.NullLiteral:
		return j.node(Other, e.Idx, e.Literal)
	case *ast.DynamicImportExpression:
		return j.node(Name, e.Idx, "import")
	case *ast.ThisExpression:
		return j.node(Name, e.Idx, "this")
	case *ast.MetaProperty:
		return j.node(Name, e.Idx, "import.meta")
	case *ast.RegExpLiteral:
		return j.node(Module, e.Idx, "RegExp()")
	case *ast.TemplateLiteral:
		return j.template(e)
	case *ast.DotExpression:
		return j.node(Attr, e.Identifier.Idx, e.Identifier.Name.String(), j.convert(e.Left))
	case *ast.BracketExpression:
		return j.node(Index, e.LeftBracket, "", j.convert(e.Left), j.convert(e.Member))
	case *ast.CallExpression:
		return j.call(e.Idx0(), e.Callee, e.ArgumentList)
	case *ast.NewExpression:
		return j.call(e.New, e.Callee, e.ArgumentList)
	case *ast.AssignExpression:
		return j.assign(e)
	case *ast.BinaryExpression:
		switch e.Operator {
		case token.PLUS:
			return j.node(Add, e.Idx0(), "", j.kids(e)...)
		case token.LOGICAL_OR, token.LOGICAL_AND, token.COALESCE:
			return j.node(Any, e.Idx0(), "", j.kids(e)...)
		case token.INSTANCEOF, token.IN:
			if _, name := e.Right.(*ast.Identifier); name {
				return j.convert(e.Left)
			}
		}
	case *ast.ConditionalExpression:
		return j.node(Any, e.Idx0(), "?", j.convert(e.Consequent), j.convert(e.Alternate), j.convert(e.Test))
	case *ast.UnaryExpression:
		if _, name := e.Operand.(*ast.Identifier); name && e.Operator == token.TYPEOF {
			return j.group() // uses nothing of it
		}
	case *ast.SequenceExpression: // its value is the last one
		list := j.kids(e)
		return j.node(Any, e.Idx0(), "/", append(list[len(list)-1:], list[:len(list)-1]...)...)
	case *ast.FunctionLiteral:
		return j.function(e.Function, e.Name, e.ParameterList, e.Body)
	case *ast.ArrowFunctionLiteral:
		return j.function(e.Start, nil, e.ParameterList, e.Body)
	case *ast.ArrayLiteral:
		return j.node(List, e.LeftBracket, "", j.kids(e)...)
	case *ast.ObjectLiteral:
		return j.node(Dict, e.LeftBrace, "", j.kids(e)...)
	case *ast.PropertyShort:
		return j.node(Pair, e.Name.Idx, e.Name.Name.String(), j.convert(&e.Name))
	case *ast.PropertyKeyed:
		if s, ok := e.Key.(*ast.StringLiteral); ok {
			return j.node(Pair, s.Idx, s.Value.String(), j.convert(e.Value))
		}
	case *ast.SpreadElement:
		return j.node(Spread, e.Expression.Idx0(), "", j.convert(e.Expression))
	}
	return j.group(j.kids(e)...)
}

func (j *converter) call(at file.Idx, callee ast.Expression, arguments []ast.Expression) *Node {
	kids := []*Node{nil}
	for _, each := range arguments {
		kids = append(kids, j.convert(each))
	}
	if m, ok := callee.(*ast.DotExpression); ok && len(arguments) > 0 && (m.Identifier.Name == "call" || m.Identifier.Name == "bind") {
		this := kids[1]
		kids = kids[1:]
		kids[0] = j.convert(m.Left)
		return j.node(Any, at, "/", j.node(Call, at, "", kids...), this) // f.call(this, ...)
	}
	kids[0] = j.convert(callee)
	return j.node(Call, at, "", kids...)
}

func (j *converter) assign(e *ast.AssignExpression) *Node {
	right := j.convert(e.Right)
	if id, ok := e.Left.(*ast.Identifier); ok {
		if e.Operator == token.PLUS {
			right = j.node(Add, id.Idx, "", j.convert(id), right)
		}
		return j.node(Assign, id.Idx, id.Name.String()+"\x00", right)
	}
	if _, ok := e.Left.(*ast.DotExpression); ok && e.Operator == token.ASSIGN {
		if left := j.convert(e.Left); left.Kids[0].Kind == Name {
			return j.group(left, j.node(Assign, 0, left.Kids[0].Text+"."+left.Text+"\x00", right))
		}
	}
	return j.group(j.pattern(e.Left, right, Bind)...)
}

func (j *converter) template(e *ast.TemplateLiteral) *Node {
	var kids []*Node
	for i, part := range e.Elements {
		kids = append(kids, j.node(String, part.Idx, part.Parsed.String()))
		if i < len(e.Expressions) {
			kids = append(kids, j.convert(e.Expressions[i]))
		}
	}
	whole := j.node(Join, e.OpenQuote, "", kids...)
	if e.Tag != nil {
		return j.node(Call, e.OpenQuote, "", j.convert(e.Tag), whole)
	}
	return whole
}

// present leaves out nodes that are not there.
func present(nodes ...*Node) []*Node {
	return slices.DeleteFunc(nodes, func(n *Node) bool { return n == nil })
}

// AssignsOuter reports whether an assignment is to a variable that is declared elsewhere, and returns its name.
func AssignsOuter(text string) (string, bool) { return strings.CutSuffix(text, "\x00") }
