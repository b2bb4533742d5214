package calculator

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
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

// Evaluate computes an arithmetic expression. Precedence, loosest first:
// + and -, then * / %, then the unary signs, then ^ (right-associative), then
// the postfix factorial. So -2^2 is -4 and 2^-1 is 0.5. Trigonometric functions
// take and return angles in a unit whose size in radians is given.
func Evaluate(expression string, variables map[string]float64, radians float64) (value float64, err error) {
	e := &evaluator{text: []rune(expression), variables: variables, functions: functions(radians)}
	defer func() {
		if at, ok := recover().(mistake); ok {
			value, err = 0, &ExpressionError{expression, min(at.position, max(len(e.text)-1, 0)) + 1, at.message}
		}
	}()
	value = e.sum()
	if e.peek() != 0 {
		e.unexpected()
	}
	if math.IsInf(value, 0) || math.IsNaN(value) {
		e.fail(0, "the result is too large or not a real number")
	}
	return value, nil
}

// evaluator computes an expression while it reads it. Each method reads one level of precedence, and panics with a mistake.
type evaluator struct {
	text      []rune
	at        int
	variables map[string]float64
	functions map[string]function
}

type mistake struct {
	position int // from 0
	message  string
}

func (e *evaluator) fail(position int, message string) { panic(mistake{position, message}) }

func (e *evaluator) unexpected() {
	if e.peek() == 0 {
		e.fail(e.at, "unexpected end")
	}
	e.fail(e.at, fmt.Sprintf("unexpected %q", e.text[e.at]))
}

// peek returns the next character that is no space, or 0 at the end.
func (e *evaluator) peek() rune {
	for e.at < len(e.text) && unicode.IsSpace(e.text[e.at]) {
		e.at++
	}
	if e.at == len(e.text) {
		return 0
	}
	return e.text[e.at]
}

// accept reads the next character if it is one of a set, and returns it with its position; 0 if it is not.
func (e *evaluator) accept(set string) (operator rune, position int) {
	r := e.peek()
	if r == 0 || !strings.ContainsRune(set, r) {
		return 0, e.at
	}
	e.at++
	return r, e.at - 1
}

// check returns a value, or fails at a position.
func (e *evaluator) check(position int) func(float64, error) float64 {
	return func(value float64, err error) float64 {
		if err != nil {
			e.fail(position, err.Error())
		}
		return value
	}
}

func (e *evaluator) sum() float64 {
	left := e.product()
	for {
		switch operator, _ := e.accept("+-"); operator {
		case '+':
			left += e.product()
		case '-':
			left -= e.product()
		default:
			return left
		}
	}
}

func (e *evaluator) product() float64 {
	left := e.signed()
	for {
		switch operator, at := e.accept("*/%"); operator {
		case '*':
			left *= e.signed()
		case '/':
			left = e.check(at)(quotient(left, e.signed()))
		case '%':
			left = e.check(at)(remainder(left, e.signed()))
		default:
			return left
		}
	}
}

func (e *evaluator) signed() float64 {
	switch sign, _ := e.accept("+-"); sign {
	case '+':
		return e.signed()
	case '-':
		return -e.signed()
	}
	base := e.operand()
	if operator, at := e.accept("^"); operator != 0 {
		return e.check(at)(power(base, e.signed()))
	}
	return base
}

func (e *evaluator) operand() float64 {
	value := e.atom()
	for {
		operator, at := e.accept("!")
		if operator == 0 {
			return value
		}
		value = e.check(at)(factorial(value))
	}
}

// atom reads a number, a constant, a variable, a call, or an expression in parentheses.
func (e *evaluator) atom() float64 {
	r := e.peek()
	switch {
	case r == '(':
		e.at++
		value := e.sum()
		e.expect(")")
		return value
	case r == '.' || r >= '0' && r <= '9':
		return e.number()
	case r == '_' || unicode.IsLetter(r):
		start := e.at
		e.skip(func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) })
		return e.named(start, string(e.text[start:e.at]))
	}
	e.unexpected()
	return 0
}

func (e *evaluator) expect(set string) rune {
	r, _ := e.accept(set)
	if r == 0 {
		e.unexpected()
	}
	return r
}

func (e *evaluator) skip(in func(rune) bool) {
	for e.at < len(e.text) && in(e.text[e.at]) {
		e.at++
	}
}

func (e *evaluator) number() float64 {
	start := e.at
	digit := func(r rune) bool { return r >= '0' && r <= '9' }
	e.skip(func(r rune) bool { return r == '.' || digit(r) })
	mantissa := e.at
	if e.at < len(e.text) && (e.text[e.at] == 'e' || e.text[e.at] == 'E') {
		if e.at++; e.at < len(e.text) && (e.text[e.at] == '+' || e.text[e.at] == '-') {
			e.at++
		}
		exponent := e.at
		if e.skip(digit); e.at == exponent {
			e.at = mantissa // a name follows, which is unexpected
		}
	}
	value, err := strconv.ParseFloat(string(e.text[start:e.at]), 64)
	if err != nil {
		e.fail(start, "the number is malformed or out of range")
	}
	return value
}

// named returns the value of a variable, a constant or a call whose name was read.
func (e *evaluator) named(start int, name string) float64 {
	if value, ok := e.variables[name]; ok {
		return value
	}
	if value, ok := map[string]float64{"pi": math.Pi, "e": math.E, "tau": 2 * math.Pi}[name]; ok {
		return value
	}
	f, ok := e.functions[name]
	if !ok {
		e.fail(start, "unknown name "+name)
	}
	var args []float64
	e.expect("(")
	if r, _ := e.accept(")"); r == 0 {
		for next := ','; next == ','; next = e.expect(",)") {
			args = append(args, e.sum())
		}
	}
	switch {
	case len(args) < f.least:
		e.fail(start, fmt.Sprintf("not enough arguments for %s", name))
	case len(args) > f.most:
		e.fail(start, fmt.Sprintf("too many arguments for %s", name))
	}
	return e.check(start)(f.call(args))
}
