package catalog

import "math/big"

// multiple compares multipleOf where both have it: the multiples of 4 are among those of 2.
func (c *comparer) multiple(p place, a, b fields, handled map[string]bool) {
	x, y := a["multipleOf"], b["multipleOf"]
	if x == nil || y == nil {
		return
	}
	handled["multipleOf"] = true
	op := Changed
	switch up, down := divides(x, y), divides(y, x); {
	case up && down: // 2 and 2.0
		return
	case up:
		op = Narrowed
	case down:
		op = Widened
	}
	c.values(p, "multipleOf", op, text(x), text(y))
}

// divides reports whether y is a whole multiple of x; false also when that would be too much work to find out.
func divides(x, y any) bool {
	a, okA := exactly(x)
	b, okB := exactly(y)
	return okA && okB && a.Sign() > 0 && b.Sign() > 0 && new(big.Rat).Quo(b, a).IsInt()
}

// exactly is a number without rounding, unless it is long or has an exponent, which may stand for millions of digits.
func exactly(v any) (*big.Rat, bool) {
	const most = 40
	if typeOf(v) != "number" || len(text(v)) > most {
		return nil, false
	}
	for _, r := range text(v) {
		if r == 'e' || r == 'E' {
			return nil, false
		}
	}
	return new(big.Rat).SetString(text(v))
}
