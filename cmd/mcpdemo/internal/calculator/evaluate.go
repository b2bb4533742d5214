package calculator

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
)

// ExpressionError reports where and why an expression is wrong.
type ExpressionError struct {
	Expression string
	// Position counts characters from 1.
	Position int
	Message  string
}

func (e *ExpressionError) Error() string {
	return fmt.Sprintf("%s at position %d\n  %s\n  %s^", e.Message, e.Position, e.Expression, strings.Repeat(" ", e.Position-1))
}

// Evaluate computes an arithmetic expression. Precedence, loosest first: + and
// -, then * / %, then the unary signs, then ^ (right-associative), then the
// postfix factorial. So -2^2 is -4 and 2^-1 is 0.5. Trigonometric functions
// take and return angles in a unit whose size in radians is given.
func Evaluate(expression string, variables map[string]float64, radians float64) (float64, error) {
	expression = expandFactorials(expression)
	env := functions(radians)
	maps.Copy(env, map[string]any{"pi": math.Pi, "e": math.E, "tau": 2 * math.Pi})
	for name, value := range variables {
		env[name] = value
	}
	program, err := expr.Compile(expression, expr.Env(env), expr.DisableAllBuiltins(), expr.Patch(arithmetic{}), expr.AsFloat64())
	if err != nil {
		return 0, located(expression, err)
	}
	result, err := expr.Run(program, env)
	if err != nil {
		return 0, located(expression, err)
	}
	value, ok := result.(float64)
	if !ok || math.IsInf(value, 0) || math.IsNaN(value) {
		return 0, &ExpressionError{expression, 1, "the result is too large or not a real number"}
	}
	return value, nil
}

// located turns an error of expr into one that counts positions in characters from 1.
func located(expression string, err error) error {
	var at *file.Error
	if !errors.As(err, &at) {
		return &ExpressionError{expression, 1, err.Error()}
	}
	return &ExpressionError{expression, min(at.From, len([]rune(expression))) + 1, at.Message}
}

// arithmetic converts all numbers to floating-point, and turns division,
// remainder and power into calls of our functions, which report an error if
// there is no real result.
type arithmetic struct{}

// Visit changes one node of the syntax tree.
func (arithmetic) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IntegerNode:
		ast.Patch(node, &ast.FloatNode{Value: float64(n.Value)})
	case *ast.BinaryNode:
		name, ok := map[string]string{"/": "$divide", "%": "$remainder", "^": "$power", "**": "$power"}[n.Operator]
		if ok {
			ast.Patch(node, &ast.CallNode{Callee: &ast.IdentifierNode{Value: name}, Arguments: []ast.Node{n.Left, n.Right}})
		}
	}
}

// expandFactorials writes each postfix "!" as a call, because expr has no such
// operator: "3! + (1 + 2)!" becomes "factorial(3) + factorial((1 + 2))".
func expandFactorials(expression string) string {
	for {
		mark := strings.IndexByte(expression, '!')
		operand := operandStart(expression[:max(mark, 0)])
		if mark < 0 || operand == mark {
			return expression
		}
		expression = expression[:operand] + "factorial(" + expression[operand:mark] + ")" + expression[mark+1:]
	}
}

// operandStart returns where the operand at the end of the text begins: a
// number, a name, or parentheses, with a function's name before them if there
// is one.
func operandStart(text string) int {
	at := len(strings.TrimRight(text, " "))
	if at > 0 && text[at-1] == ')' {
		depth := 0
		for at--; at >= 0; at-- {
			if text[at] == ')' {
				depth++
			} else if text[at] == '(' {
				if depth--; depth == 0 {
					break
				}
			}
		}
		at = max(at, 0)
	}
	for at > 0 && (text[at-1] == '_' || text[at-1] == '.' || text[at-1]-'0' < 10 || (text[at-1]|0x20)-'a' < 26) {
		at--
	}
	if at == len(strings.TrimRight(text, " ")) {
		return len(text)
	}
	return at
}
