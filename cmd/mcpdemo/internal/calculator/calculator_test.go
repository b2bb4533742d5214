package calculator

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/tooltest"
)

func TestEvaluate(t *testing.T) {
	vars := map[string]float64{"x": 3, "e": 1, "long_name2": 7}
	for expression, want := range map[string]float64{
		"1 + 2 * 3": 7, "(1+2)*3": 9, "2^3^2": 512, "-2^2": -4, "2^-1": 0.5, "--3": 3, "-+-3": 3,
		"7 % 3": 1, "-7 % 3": 2, "7 % -3": -2, "10/4": 2.5, "5!": 120, "3!!": 720, "2^3!": 64, "-3!": -6,
		"1e3 + .5": 1000.5, "1.": 1, "2e": math.NaN(), // an error, below
		"x^2 + long_name2": 16, "e": 1, "pi": math.Pi, "tau/2": math.Pi,
		"sqrt(16)": 4, "log(8, 2)": 3, "round(2.345, 2)": 2.35, "round(2.5)": 3, "max(1, 5, 3)": 5, "min(4,2)": 2,
		"hypot(3,4)": 5, "sum(1,2,3)": 6, "avg(1,2,3)": 2, "cbrt(-27)": -3, "abs(-2)": 2, " 1\t+\n1 ": 2,
		"ceil(1.2) + floor(1.8)": 3, "exp(0)": 1, "ln(1)": 0, "log10(100)": 2, "log2(8)": 3,
	} {
		got, err := Evaluate(expression, vars, 1)
		if math.IsNaN(want) {
			if err == nil {
				t.Errorf("%s: no error", expression)
			}
			continue
		}
		if err != nil || math.Abs(got-want) > 1e-12 {
			t.Errorf("%s = %v, %v; want %v", expression, got, err, want)
		}
	}
	if got, err := Evaluate("sin(30) + acos(0.5)", nil, math.Pi/180); err != nil || math.Abs(got-60.5) > 1e-9 {
		t.Errorf("degrees: %v, %v", got, err)
	}
}

func TestEvaluateErrors(t *testing.T) {
	for _, tc := range []struct {
		expression string
		position   int
		message    string
	}{
		{"", 1, "unexpected end"},
		{"1 +", 3, "unexpected end"},
		{"1 2", 3, "unexpected '2'"},
		{"2 * (3 + 4", 10, "unexpected end"},
		{"1 + foo", 5, "unknown name foo"},
		{"foo(1)", 1, "unknown name foo"},
		{"sqrt", 4, "unexpected end"},
		{`"text"`, 1, `unexpected '"'`},
		{"sqrt(1, 2)", 1, "too many arguments"},
		{"round()", 1, "not enough arguments"},
		{"max()", 1, "not enough arguments"},
		{"1 / (2 - 2)", 3, "division by zero"},
		{"5 % 0", 3, "division by zero"},
		{"sqrt(-1)", 1, "not a real number"},
		{"(-8)^0.5", 5, "not a real number"},
		{"0^-1", 2, "negative power"},
		{"2.5!", 4, "whole number"},
		{"171!", 4, "0 to 170"},
		{"!", 1, "unexpected '!'"},
		{"1..5", 1, "malformed"},
		{"sum(1,)", 7, "unexpected ')'"},
		{"1e999", 1, "out of range"},
		{"1e308 * 10", 1, "too large"},
		{"10^400", 3, "too large"},
		{"1 + é", 5, "unknown name é"},
		{strings.Repeat("(", 1000), 1000, "unexpected end"},
	} {
		_, err := Evaluate(tc.expression, nil, 1)
		var where *ExpressionError
		if !errors.As(err, &where) {
			t.Errorf("%.20q: got %v", tc.expression, err)
			continue
		}
		if (tc.position != 0 && where.Position != tc.position) || !strings.Contains(where.Message, tc.message) {
			t.Errorf("%.20q: got %q at %d, want %q at %d", tc.expression, where.Message, where.Position, tc.message, tc.position)
		}
	}
}

func TestDescribe(t *testing.T) {
	out, err := describe(statisticsInput{Values: []float64{4, 1, 2, 2, 3}, Percentiles: []float64{25, 90}, Sample: true})
	if err != nil || out.Mean != 2.4 || out.Median != 2 || *out.Variance != 1.3 || len(out.Modes) != 1 || out.Modes[0] != 2 {
		t.Errorf("got %+v, %v", out, err)
	}
	if out.Percentiles[0].Value != 2 || out.Percentiles[1].Value != 3.6 {
		t.Errorf("percentiles %+v, want out.Percentiles[0].Value 2 and out.Percentiles[1].Value 3.6", out.Percentiles)
	}
	if out, err := describe(statisticsInput{Values: []float64{5}, Sample: true}); err != nil || out.Variance != nil || len(out.Modes) != 0 {
		t.Errorf("one value: %+v, %v, want Variance nil, len(out.Modes) 0 and no error", out, err)
	}
	if _, err := describe(statisticsInput{Values: []float64{1e308, 1e308}}); err == nil {
		t.Error("an overflow was not reported: got no error, want an error")
	}
}

func FuzzEvaluate(f *testing.F) {
	for _, seed := range []string{"1+2", "sin(pi/2)^2", "((1", "3!!", "1e", "x", "é", "max(,)"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, expression string) {
		value, err := Evaluate(expression, nil, 1)
		if err == nil && (math.IsNaN(value) || math.IsInf(value, 0)) {
			t.Errorf("%q = %v", expression, value)
		}
		var where *ExpressionError
		if errors.As(err, &where) && (where.Position < 1 || where.Error() == "") {
			t.Errorf("%q: position %d", expression, where.Position)
		}
	})
}

func TestServer(t *testing.T) {
	srv, err := New()
	if err != nil {
		t.Fatal(err)
	}
	tooltest.Tour(t, srv, []tooltest.Call{
		{Tool: "add", Args: map[string]any{"numbers": []float64{.1, .1, .1, .1, .1, .1, .1, .1, .1, .1}}, Want: `"result":1}`},
		{Tool: "add", Args: map[string]any{"numbers": []float64{1}}, Fails: true, Want: "numbers"},
		{Tool: "add", Args: map[string]any{"numbers": []float64{1e308, 1e308}}, Fails: true, Want: "too large"},
		{Tool: "subtract", Args: map[string]any{"a": 5, "b": 8}, Want: `"result":-3`},
		{Tool: "multiply", Args: map[string]any{"numbers": []float64{2, 3, 7}}, Want: `"result":42`},
		{Tool: "divide", Args: map[string]any{"dividend": 7, "divisor": 2}, Want: `"quotient":3,"remainder":1,"result":3.5`},
		{Tool: "divide", Args: map[string]any{"dividend": 7, "divisor": 0}, Fails: true, Want: "cannot divide 7 by zero"},
		{Tool: "power", Args: map[string]any{"base": 2, "exponent": 10}, Want: `"result":1024`},
		{Tool: "root", Args: map[string]any{"value": 81}, Want: `"result":9`},
		{Tool: "root", Args: map[string]any{"value": -32, "degree": 5}, Want: `"result":-2`},
		{Tool: "root", Args: map[string]any{"value": -4}, Fails: true, Want: "no real root"},
		{Tool: "evaluate", Args: map[string]any{"expression": "p*(1+r)^n", "variables": map[string]any{"p": 1000, "r": .05, "n": 2}, "precision": 2}, Want: `"formatted":"1,102.5"`},
		{Tool: "evaluate", Args: map[string]any{"expression": "1 +* 2"}, Fails: true, Want: "at position 4"},
		{Tool: "evaluate", Args: map[string]any{"expression": "1", "angle_unit": "gon"}, Fails: true, Want: "angle_unit"},
		{Tool: "statistics", Args: map[string]any{"values": []float64{1, 2, 3}}, Want: `"std_dev":1`},
	})
}
