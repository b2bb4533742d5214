package calculator

import (
	"errors"
	"fmt"
	"math"
)

// AngleUnit is the unit of angles that trigonometric functions take and give.
type AngleUnit string

// The angle units; the empty string means radians.
const (
	Radians AngleUnit = "radians"
	Degrees AngleUnit = "degrees"
)

func (u AngleUnit) toRadians(x float64) float64 {
	if u == Degrees {
		return x * math.Pi / 180
	}
	return x
}

func (u AngleUnit) fromRadians(x float64) float64 {
	if u == Degrees {
		return x * 180 / math.Pi
	}
	return x
}

func constant(name string) (float64, bool) {
	switch name {
	case "pi":
		return math.Pi, true
	case "e":
		return math.E, true
	case "tau":
		return 2 * math.Pi, true
	}
	return 0, false
}

// function returns how many arguments a function takes (max -1: any number)
// and its computation.
func function(name string, unit AngleUnit) (minArgs, maxArgs int, compute func([]float64) float64) {
	one := func(f func(float64) float64) (int, int, func([]float64) float64) {
		return 1, 1, func(a []float64) float64 { return f(a[0]) }
	}
	switch name {
	case "abs":
		return one(math.Abs)
	case "sqrt":
		return one(math.Sqrt)
	case "cbrt":
		return one(math.Cbrt)
	case "exp":
		return one(math.Exp)
	case "ln":
		return one(math.Log)
	case "log10":
		return one(math.Log10)
	case "log2":
		return one(math.Log2)
	case "floor":
		return one(math.Floor)
	case "ceil":
		return one(math.Ceil)
	case "sin":
		return one(func(x float64) float64 { return math.Sin(unit.toRadians(x)) })
	case "cos":
		return one(func(x float64) float64 { return math.Cos(unit.toRadians(x)) })
	case "tan":
		return one(func(x float64) float64 { return math.Tan(unit.toRadians(x)) })
	case "asin":
		return one(func(x float64) float64 { return unit.fromRadians(math.Asin(x)) })
	case "acos":
		return one(func(x float64) float64 { return unit.fromRadians(math.Acos(x)) })
	case "atan":
		return one(func(x float64) float64 { return unit.fromRadians(math.Atan(x)) })
	case "atan2":
		return 2, 2, func(a []float64) float64 { return unit.fromRadians(math.Atan2(a[0], a[1])) }
	case "hypot":
		return 2, 2, func(a []float64) float64 { return math.Hypot(a[0], a[1]) }
	case "log":
		return 2, 2, func(a []float64) float64 { return math.Log(a[0]) / math.Log(a[1]) }
	case "round":
		return 1, 2, func(a []float64) float64 {
			if len(a) == 1 {
				return math.Round(a[0])
			}
			scale := math.Pow(10, math.Trunc(a[1]))
			return math.Round(a[0]*scale) / scale
		}
	case "min":
		return 1, -1, func(a []float64) float64 { return fold(a, math.Min) }
	case "max":
		return 1, -1, func(a []float64) float64 { return fold(a, math.Max) }
	case "sum":
		return 1, -1, sum
	case "avg":
		return 1, -1, func(a []float64) float64 { return sum(a) / float64(len(a)) }
	}
	return 0, 0, nil
}

func isFunction(name string) bool {
	_, _, compute := function(name, Radians)
	return compute != nil
}

func call(name string, args []float64, unit AngleUnit) (float64, error) {
	minArgs, maxArgs, compute := function(name, unit)
	switch {
	case compute == nil:
		return 0, fmt.Errorf("unknown function %q", name)
	case len(args) < minArgs, maxArgs >= 0 && len(args) > maxArgs:
		want := fmt.Sprint(minArgs)
		if maxArgs < 0 {
			want = fmt.Sprintf("at least %d", minArgs)
		} else if maxArgs > minArgs {
			want = fmt.Sprintf("%d to %d", minArgs, maxArgs)
		}
		return 0, fmt.Errorf("function %s takes %s argument(s), not %d", name, want, len(args))
	}
	return compute(args), nil
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

// floorMod is the remainder with the sign of the divisor, as in mathematics.
func floorMod(a, b float64) float64 {
	m := math.Mod(a, b)
	if m != 0 && (m < 0) != (b < 0) {
		m += b
	}
	return m
}

func finite(value float64) error {
	if math.IsInf(value, 0) || math.IsNaN(value) {
		return errors.New("the result is too large for a 64-bit floating point number (about 1.8e308)")
	}
	return nil
}
