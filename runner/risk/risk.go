// Package risk orders how much harm code or a call can do. Package judge computes the risk of a script; policies and approvals
// refer to it.
package risk

import "fmt"

// Risk is how much harm is possible. Risks are compared with < and max. As text it is its name.
type Risk int

// The risks, from the least.
const (
	None     Risk = iota // not known, or no bound
	Low                  // reads
	Medium               // writes
	High                 // destroys: what is lost cannot be restored
	Critical             // reaches for the system below: processes, native code, code that cannot be read beforehand
)

var names = [...]string{"", "low", "medium", "high", "critical"}

// All lists the risks that have a name, from the least.
func All() []Risk { return []Risk{Low, Medium, High, Critical} }

// Parse reads a risk's name; the empty one is None.
func Parse(name string) (Risk, error) {
	for i, n := range names {
		if n == name {
			return Risk(i), nil
		}
	}
	return None, fmt.Errorf("unknown risk %.40q: low, medium, high or critical", name)
}

// Max returns the greatest of the risks; None for none.
func Max(risks ...Risk) Risk {
	greatest := None
	for _, r := range risks {
		greatest = max(greatest, r)
	}
	return greatest
}

func (r Risk) String() string {
	if r < None || r > Critical {
		return fmt.Sprintf("risk(%d)", int(r))
	}
	return names[r]
}

// MarshalText returns the name.
func (r Risk) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads a name, as Parse does.
func (r *Risk) UnmarshalText(text []byte) (err error) {
	*r, err = Parse(string(text))
	return err
}
