package calculator

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// function is what expressions can call with least to most arguments.
type function struct {
	least, most int
	call        func(args []float64) (float64, error)
}

func one(f func(float64) float64) function {
	return function{1, 1, func(args []float64) (float64, error) { return f(args[0]), nil }}
}

func two(f func(a, b float64) float64) function {
	return function{2, 2, func(args []float64) (float64, error) { return f(args[0], args[1]), nil }}
}

func many(f func([]float64) float64) function {
	return function{1, math.MaxInt, func(args []float64) (float64, error) { return f(args), nil }}
}

// functions returns what expressions can call. Trigonometric functions take and
// return angles in a unit whose size in radians is given.
func functions(radians float64) map[string]function {
	of := func(f func(float64) float64) function { return one(func(x float64) float64 { return f(x * radians) }) }
	angle := func(f func(float64) float64) function { return one(func(x float64) float64 { return f(x) / radians }) }
	return map[string]function{
		"abs": one(math.Abs), "sqrt": one(math.Sqrt), "cbrt": one(math.Cbrt), "exp": one(math.Exp),
		"ln": one(math.Log), "log10": one(math.Log10), "log2": one(math.Log2),
		"floor": one(math.Floor), "ceil": one(math.Ceil), "hypot": two(math.Hypot),
		"sin": of(math.Sin), "cos": of(math.Cos), "tan": of(math.Tan), "asin": angle(math.Asin), "acos": angle(math.Acos), "atan": angle(math.Atan),
		"atan2": two(func(y, x float64) float64 { return math.Atan2(y, x) / radians }),
		"log":   two(func(x, base float64) float64 { return math.Log(x) / math.Log(base) }),
		"round": {1, 2, func(args []float64) (float64, error) { return round(args[0], args[1:]...), nil }},
		"min":   many(slices.Min[[]float64]), "max": many(slices.Max[[]float64]),
		"sum": many(sum), "avg": many(func(values []float64) float64 { return sum(values) / float64(len(values)) }),
		"factorial": {1, 1, func(args []float64) (float64, error) { return factorial(args[0]) }},
	}
}

func round(x float64, digits ...float64) float64 {
	if len(digits) == 0 {
		return math.Round(x)
	}
	scale := math.Pow(10, math.Trunc(digits[0]))
	return math.Round(x*scale) / scale
}

func quotient(a, b float64) (float64, error) {
	if b == 0 {
		return 0, errors.New("division by zero")
	}
	return a / b, nil
}

// remainder has the sign of the divisor, as in mathematics.
func remainder(a, b float64) (float64, error) {
	if b == 0 {
		return 0, errors.New("division by zero")
	}
	m := math.Mod(a, b)
	if m != 0 && (m < 0) != (b < 0) {
		m += b
	}
	return m, nil
}

func fold(values []float64, f func(a, b float64) float64) float64 {
	result := values[0]
	for _, v := range values[1:] {
		result = f(result, v)
	}
	return result
}

// sum adds with Neumaier's compensation, so that 0.1 ten times is 1.
func sum(values []float64) float64 {
	total, lost := 0.0, 0.0
	for _, v := range values {
		next := total + v
		if math.Abs(total) >= math.Abs(v) {
			lost += (total - next) + v
		} else {
			lost += (v - next) + total
		}
		total = next
	}
	return total + lost
}

func power(base, exponent float64) (float64, error) {
	if base == 0 && exponent < 0 {
		return 0, errors.New("zero cannot be raised to a negative power")
	}
	value := math.Pow(base, exponent)
	if math.IsNaN(value) {
		return 0, fmt.Errorf("%g cannot be raised to the power %g: the result is not a real number", base, exponent)
	}
	return value, finite(value)
}

func root(value float64, degree int) (float64, error) {
	if value < 0 && degree%2 == 0 {
		return 0, fmt.Errorf("%g has no real root of even degree %d", value, degree)
	}
	switch degree {
	case 2:
		return math.Sqrt(value), nil
	case 3:
		return math.Cbrt(value), nil
	}
	result := math.Copysign(math.Pow(math.Abs(value), 1/float64(degree)), value)
	// 32^(1/5) is a hair off 2; prefer the whole number where it is the root.
	if whole := math.Round(result); math.Pow(whole, float64(degree)) == value {
		result = whole
	}
	return result, nil
}

func factorial(n float64) (float64, error) {
	if n < 0 || n != math.Trunc(n) || n > 170 {
		return 0, fmt.Errorf("factorial needs a whole number from 0 to 170, not %g", n)
	}
	result := 1.0
	for i := 2.0; i <= n; i++ {
		result *= i
	}
	return result, nil
}

func finite(value float64) error {
	if math.IsInf(value, 0) || math.IsNaN(value) {
		return errors.New("the result is too large for a 64-bit floating point number (about 1.8e308)")
	}
	return nil
}
