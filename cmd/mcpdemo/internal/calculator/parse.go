package calculator

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxDepth bounds nesting, so that "((((…" cannot exhaust the stack.
const maxDepth = 100

// ExpressionError says where an expression is wrong and why.
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
// the postfix factorial. So -2^2 is -4 and 2^-1 is 0.5.
func Evaluate(expression string, variables map[string]float64, unit AngleUnit) (float64, error) {
	p := &parser{text: expression, variables: variables, unit: unit}
	value, err := p.sum()
	if err != nil {
		return 0, err
	}
	if p.skipSpace(); p.pos < len(p.text) {
		return 0, p.errorf(p.pos, "unexpected %q, expected an operator or the end", p.peekRune())
	}
	return value, nil
}

// parser evaluates while it reads: a calculator needs no syntax tree.
type parser struct {
	text      string
	pos       int // byte offset of the next character
	depth     int
	variables map[string]float64
	unit      AngleUnit
}

func (p *parser) errorf(at int, format string, args ...any) error {
	return &ExpressionError{
		Expression: p.text,
		Position:   utf8.RuneCountInString(p.text[:at]) + 1,
		Message:    fmt.Sprintf(format, args...),
	}
}

func (p *parser) skipSpace() {
	for p.pos < len(p.text) {
		r, size := utf8.DecodeRuneInString(p.text[p.pos:])
		if !unicode.IsSpace(r) {
			return
		}
		p.pos += size
	}
}

func (p *parser) peekRune() string {
	_, size := utf8.DecodeRuneInString(p.text[p.pos:])
	return p.text[p.pos : p.pos+size]
}

// accept consumes one of the given one-byte operators, if it is next.
func (p *parser) accept(operators string) (op byte, at int, ok bool) {
	p.skipSpace()
	if p.pos < len(p.text) && strings.IndexByte(operators, p.text[p.pos]) >= 0 {
		p.pos++
		return p.text[p.pos-1], p.pos - 1, true
	}
	return 0, p.pos, false
}

func (p *parser) sum() (float64, error) {
	if p.depth++; p.depth > maxDepth {
		return 0, p.errorf(p.pos, "more than %d levels of nesting", maxDepth)
	}
	defer func() { p.depth-- }()
	left, err := p.product()
	for err == nil {
		op, at, ok := p.accept("+-")
		if !ok {
			return left, nil
		}
		var right float64
		if right, err = p.product(); err != nil {
			break
		}
		if op == '-' {
			right = -right
		}
		left, err = p.finite(at, left+right)
	}
	return 0, err
}

func (p *parser) product() (float64, error) {
	left, err := p.unary()
	for err == nil {
		op, at, ok := p.accept("*/%")
		if !ok {
			return left, nil
		}
		var right float64
		if right, err = p.unary(); err != nil {
			break
		}
		switch {
		case op == '*':
			left *= right
		case right == 0:
			return 0, p.errorf(at, "division by zero")
		case op == '/':
			left /= right
		default:
			left = floorMod(left, right)
		}
		left, err = p.finite(at, left)
	}
	return 0, err
}

func (p *parser) unary() (float64, error) {
	negative := false
	for {
		op, _, ok := p.accept("+-")
		if !ok {
			break
		}
		negative = negative != (op == '-')
	}
	value, err := p.power()
	if negative {
		value = -value
	}
	return value, err
}

func (p *parser) power() (float64, error) {
	base, err := p.postfix()
	if err != nil {
		return 0, err
	}
	_, at, ok := p.accept("^")
	if !ok {
		return base, nil
	}
	if p.depth++; p.depth > maxDepth {
		return 0, p.errorf(at, "more than %d levels of nesting", maxDepth)
	}
	defer func() { p.depth-- }()
	exponent, err := p.unary() // right-associative, and 2^-1 needs no parentheses
	if err != nil {
		return 0, err
	}
	value, err := power(base, exponent)
	if err != nil {
		return 0, p.errorf(at, "%s", err)
	}
	return value, nil
}

func (p *parser) postfix() (float64, error) {
	value, err := p.primary()
	for err == nil {
		_, at, ok := p.accept("!")
		if !ok {
			return value, nil
		}
		if value, err = factorial(value); err != nil {
			return 0, p.errorf(at, "%s", err)
		}
	}
	return 0, err
}

func (p *parser) primary() (float64, error) {
	p.skipSpace()
	if p.pos >= len(p.text) {
		return 0, p.errorf(p.pos, "unexpected end, expected a number, a name or \"(\"")
	}
	c := p.text[p.pos]
	switch {
	case c == '(':
		open := p.pos
		p.pos++
		value, err := p.sum()
		if err != nil {
			return 0, err
		}
		if _, _, ok := p.accept(")"); !ok {
			return 0, p.errorf(open, "\"(\" without \")\"")
		}
		return value, nil
	case c == '.' || c >= '0' && c <= '9':
		return p.number()
	case isNameStart(c):
		return p.name()
	}
	return 0, p.errorf(p.pos, "unexpected %q, expected a number, a name or \"(\"", p.peekRune())
}

// number reads 12, 1.5, .5 and 6.02e23.
func (p *parser) number() (float64, error) {
	start := p.pos
	digits := func() (n int) {
		for p.pos < len(p.text) && p.text[p.pos] >= '0' && p.text[p.pos] <= '9' {
			p.pos++
			n++
		}
		return n
	}
	n := digits()
	if p.pos < len(p.text) && p.text[p.pos] == '.' {
		p.pos++
		n += digits()
	}
	if n == 0 {
		return 0, p.errorf(start, "a number needs digits")
	}
	if p.pos < len(p.text) && (p.text[p.pos] == 'e' || p.text[p.pos] == 'E') {
		mark := p.pos
		p.pos++
		if p.pos < len(p.text) && (p.text[p.pos] == '+' || p.text[p.pos] == '-') {
			p.pos++
		}
		if digits() == 0 {
			p.pos = mark // "2e" is not a number with an exponent
		}
	}
	value, err := strconv.ParseFloat(p.text[start:p.pos], 64)
	if err != nil {
		return 0, p.errorf(start, "number %s is out of range", p.text[start:p.pos])
	}
	return value, nil
}

// name reads a variable, a constant or a function call.
func (p *parser) name() (float64, error) {
	start := p.pos
	for p.pos < len(p.text) && (isNameStart(p.text[p.pos]) || p.text[p.pos] >= '0' && p.text[p.pos] <= '9') {
		p.pos++
	}
	name := p.text[start:p.pos]
	if _, open, ok := p.accept("("); ok {
		args, err := p.arguments(open)
		if err != nil {
			return 0, err
		}
		value, err := call(name, args, p.unit)
		if err != nil {
			return 0, p.errorf(start, "%s", err)
		}
		return p.finite(start, value)
	}
	if value, ok := p.variables[name]; ok {
		return value, nil
	}
	if value, ok := constant(name); ok {
		return value, nil
	}
	if isFunction(name) {
		return 0, p.errorf(start, "function %s needs arguments: %s(…)", name, name)
	}
	return 0, p.errorf(start, "unknown name %q; pass it in variables, or use pi, e or tau", name)
}

func (p *parser) arguments(open int) ([]float64, error) {
	if _, _, ok := p.accept(")"); ok {
		return nil, nil
	}
	var args []float64
	for {
		value, err := p.sum()
		if err != nil {
			return nil, err
		}
		args = append(args, value)
		if _, _, ok := p.accept(","); ok {
			continue
		}
		if _, _, ok := p.accept(")"); ok {
			return args, nil
		}
		return nil, p.errorf(open, "\"(\" without \")\"")
	}
}

// finite turns an overflow into an error where it happens: JSON has no Inf.
func (p *parser) finite(at int, value float64) (float64, error) {
	if math.IsInf(value, 0) || math.IsNaN(value) {
		return 0, p.errorf(at, "result is too large or not a real number")
	}
	return value, nil
}

func isNameStart(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
