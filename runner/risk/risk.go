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

// Assessment is what is known about the risk of a script.
type Assessment struct {
	// Set is the least risk that the script is taken to have, whatever it does. Whoever starts it sets it.
	Set Risk
	// Shown is the risk that its own code shows, or None if it was not read, and Why explains it.
	Shown Risk
	Why   string
}

// Overall returns the greater risk.
func (a Assessment) Overall() Risk { return max(a.Set, a.Shown) }

// Reason explains the overall risk.
func (a Assessment) Reason() string {
	if a.Set > a.Shown {
		return "it was set"
	}
	return a.Why
}
