package ir

import (
	"strconv"
	"strings"
)

// canonical returns a text that is the same for equal numbers, such as 1, 1.0 and 10e-1. Its time is proportional to the length of the
// text, whatever the exponent.
func canonical(number string) string {
	digits, exponent, ok := decimal(number)
	if !ok {
		return number
	}
	if digits == "" {
		return "0"
	}
	sign := ""
	if number[0] == '-' {
		sign = "-"
	}
	return sign + digits + "e" + strconv.Itoa(exponent)
}

// canonical returns l with its number in canonical form.
func (l Literal) canonical() Literal {
	if l.Kind == LiteralNumber {
		l.Text = canonical(l.Text)
	}
	return l
}

// isInteger reports whether a number is an integer, as 1.0 is.
func isInteger(number string) bool {
	digits, exponent, ok := decimal(number)
	return ok && (digits == "" || exponent >= 0)
}

// decimal splits the absolute value of a number into its digits, without zeros at either end, and a power of ten.
func decimal(number string) (digits string, exponent int, ok bool) {
	mantissa := strings.TrimPrefix(number, "-")
	if i := strings.IndexAny(mantissa, "eE"); i >= 0 {
		e, err := strconv.Atoi(mantissa[i+1:])
		if err != nil || e > 1<<30 || e < -(1<<30) {
			return "", 0, false
		}
		mantissa, exponent = mantissa[:i], e
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits = whole + fraction
	exponent -= len(fraction)
	trimmed := strings.TrimRight(digits, "0")
	exponent += len(digits) - len(trimmed)
	return strings.TrimLeft(trimmed, "0"), exponent, true
}
