// Package calculator is the demo server for arithmetic: single operations, an
// expression evaluator with positions in its errors, and descriptive
// statistics. All numbers are IEEE 754 doubles; whatever JSON cannot carry
// (infinities, NaN) is an error. Start at [New].
package calculator

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
	textnumber "golang.org/x/text/number"

	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/tool"
)

type listInput struct {
	Numbers []float64 `json:"numbers" minitems:"2" maxitems:"10000" jsonschema:"Two or more numbers, for example [2, 3.5, -1]."`
}

type pairInput struct {
	A float64 `json:"a" jsonschema:"The number to subtract from."`
	B float64 `json:"b" jsonschema:"The number to subtract."`
}

type divideInput struct {
	Dividend float64 `json:"dividend" jsonschema:"The number to be divided."`
	Divisor  float64 `json:"divisor" jsonschema:"The number to divide by. Must not be 0."`
}

type powerInput struct {
	Base     float64 `json:"base" jsonschema:"The base."`
	Exponent float64 `json:"exponent" jsonschema:"The exponent; may be negative or a fraction."`
}

type rootInput struct {
	Value  float64 `json:"value" jsonschema:"The number to take the root of. Negative numbers have real roots of odd degree only."`
	Degree int     `json:"degree,omitempty" default:"2" min:"1" max:"1000" jsonschema:"The degree: 2 is the square root, 3 the cube root."`
}

type evaluateInput struct {
	Expression string             `json:"expression" minlen:"1" maxlen:"2000" example:"(1 + r/12)^(12*years) * principal" jsonschema:"The expression. Operators + - * / % ^ and postfix !, parentheses, the constants pi, e and tau, and the functions abs sqrt cbrt exp ln log10 log2 log(x, base) floor ceil round(x[, digits]) sin cos tan asin acos atan atan2(y, x) hypot(a, b) min max sum avg."`
	Variables  map[string]float64 `json:"variables,omitempty" jsonschema:"Values for names used in the expression, for example {\"r\": 0.05}. A variable hides a constant of the same name."`
	AngleUnit  string             `json:"angle_unit,omitempty" enum:"radians,degrees" default:"radians" jsonschema:"The unit of angles for the trigonometric functions."`
	Precision  *int               `json:"precision,omitempty" min:"0" max:"15" jsonschema:"Round the result to this many decimal places; null or absent keeps full precision."`
}

type numberOutput struct {
	Result float64 `json:"result" jsonschema:"The result."`
}

type divideOutput struct {
	Result    float64 `json:"result" jsonschema:"The quotient."`
	Quotient  float64 `json:"quotient" jsonschema:"The whole-number quotient, rounded down."`
	Remainder float64 `json:"remainder" jsonschema:"The remainder; it has the sign of the divisor."`
}

type evaluateOutput struct {
	Result     float64 `json:"result" jsonschema:"The value of the expression."`
	Formatted  string  `json:"formatted" jsonschema:"The value as text, with thousands separators."`
	Expression string  `json:"expression" jsonschema:"The expression that was evaluated."`
}

// New returns the calculator server.
func New() (*tool.Server, error) {
	s := tool.NewServer("mcpdemo-calculator", "Calculator",
		"Arithmetic a model should not do in its head: use evaluate for anything with more than one operation, statistics for lists of numbers. Numbers are 64-bit floating point.")
	addArithmetic(s)
	tool.Add(s, tool.Spec{Name: "evaluate", Title: "Evaluate expression", Effect: tool.Reads,
		Description: "Evaluate an arithmetic expression, optionally with variables, for example \"2 * (3 + 4)^2\" or \"principal * (1 + r)^n\". " +
			"Use this instead of several single operations. ^ binds tighter than a sign (-2^2 is -4) and is right-associative; % is the remainder with the sign of the divisor. " +
			"A mistake in the expression is reported with its position."}, evaluate)
	tool.Add(s, tool.Spec{Name: "statistics", Title: "Describe numbers", Effect: tool.Reads,
		Description: "Describe a list of up to 100,000 numbers: count, sum, mean, median, extremes, variance, standard deviation, modes and any percentiles."},
		func(_ context.Context, in statisticsInput) (statisticsOutput, error) { return describe(in) })
	return s, nil
}

// addArithmetic adds the tools that are one operation each.
func addArithmetic(s *tool.Server) {
	tool.Add(s, tool.Spec{Name: "add", Title: "Add numbers", Effect: tool.Reads,
		Description: "Add two or more numbers. Rounding errors are compensated, so adding 0.1 ten times gives 1."},
		func(_ context.Context, in listInput) (numberOutput, error) { return number(sum(in.Numbers)) })
	tool.Add(s, tool.Spec{Name: "subtract", Title: "Subtract", Effect: tool.Reads,
		Description: "Subtract b from a and return the difference. For longer calculations use evaluate."},
		func(_ context.Context, in pairInput) (numberOutput, error) { return number(in.A - in.B) })
	tool.Add(s, tool.Spec{Name: "multiply", Title: "Multiply numbers", Effect: tool.Reads,
		Description: "Multiply two or more numbers and return the product. For longer calculations use evaluate."},
		func(_ context.Context, in listInput) (numberOutput, error) {
			return number(fold(in.Numbers, func(a, b float64) float64 { return a * b }))
		})
	tool.Add(s, tool.Spec{Name: "divide", Title: "Divide", Effect: tool.Reads,
		Description: "Divide one number by another. Returns the exact quotient, and the whole-number quotient with its remainder. Division by zero is an error."}, divide)
	tool.Add(s, tool.Spec{Name: "power", Title: "Raise to a power", Effect: tool.Reads,
		Description: "Raise a base to an exponent. Fails when the result is not a real number (a negative base with a fractional exponent) or is too large."},
		func(_ context.Context, in powerInput) (numberOutput, error) {
			value, err := power(in.Base, in.Exponent)
			return numberOutput{value}, err
		})
	tool.Add(s, tool.Spec{Name: "root", Title: "Take a root", Effect: tool.Reads,
		Description: "Take the real n-th root of a number; the square root unless a degree is given. Fails for an even root of a negative number."},
		func(_ context.Context, in rootInput) (numberOutput, error) {
			value, err := root(in.Value, in.Degree)
			return numberOutput{value}, err
		})
}

func number(value float64) (numberOutput, error) { return numberOutput{value}, finite(value) }

func divide(_ context.Context, in divideInput) (divideOutput, error) {
	rest, err := remainder(in.Dividend, in.Divisor)
	if err != nil {
		return divideOutput{}, fmt.Errorf("cannot divide %g by zero", in.Dividend)
	}
	result := in.Dividend / in.Divisor
	return divideOutput{result, math.Floor(result), rest}, finite(result)
}

func evaluate(_ context.Context, in evaluateInput) (evaluateOutput, error) {
	radians := 1.0
	if in.AngleUnit == "degrees" {
		radians = math.Pi / 180
	}
	value, err := Evaluate(in.Expression, in.Variables, radians)
	if err != nil {
		return evaluateOutput{}, err
	}
	if in.Precision != nil {
		// Formatting and reading back rounds correctly where scaling would not.
		if value, err = strconv.ParseFloat(strconv.FormatFloat(value, 'f', *in.Precision, 64), 64); err != nil {
			return evaluateOutput{}, err
		}
	}
	formatted := message.NewPrinter(language.English).Sprint(textnumber.Decimal(value, textnumber.MaxFractionDigits(15)))
	return evaluateOutput{Result: value, Formatted: formatted, Expression: in.Expression}, nil
}
