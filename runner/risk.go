package runner

import (
	"fmt"
	"slices"
	"strings"
)

// Risk is how much harm the code of a run could mean to do. It is a floor for the sandbox: a run of some risk happens
// in a sandbox that is good for it, or not at all.
type Risk string

// The risks, from the least.
const (
	RiskUnset    Risk = ""         // nobody said; any sandbox will do
	RiskLow      Risk = "low"      // code of one's own, read before it runs
	RiskMedium   Risk = "medium"   // code of a model that works on trusted data
	RiskHigh     Risk = "high"     // code of a model that reads what strangers wrote
	RiskCritical Risk = "critical" // code of strangers
)

// Risks lists the risks that can be said, from the least.
func Risks() []Risk { return []Risk{RiskLow, RiskMedium, RiskHigh, RiskCritical} }

// ParseRisk reads a risk's name; the empty one is RiskUnset.
func ParseRisk(name string) (Risk, error) {
	r := Risk(name)
	if r == RiskUnset || slices.Contains(Risks(), r) {
		return r, nil
	}
	return RiskUnset, fmt.Errorf("unknown risk %.40q: %s", name, riskWords())
}

func riskWords() string {
	words := make([]string, 0, 4)
	for _, r := range Risks() {
		words = append(words, string(r))
	}
	return strings.Join(words[:3], ", ") + " or " + words[3]
}

// level orders the risks.
func (r Risk) level() int { return slices.Index(Risks(), r) + 1 }

// Max returns the greater of two risks.
func (r Risk) Max(other Risk) Risk {
	if other.level() > r.level() {
		return other
	}
	return r
}

// Strength is the greatest risk that a kind of sandbox is good for. One that is not known is good for the least.
func Strength(backend string) Risk {
	switch backend {
	case "gvisor":
		return RiskCritical
	case "docker":
		return RiskHigh
	}
	return RiskLow
}

// goodFor tells whether a kind of sandbox may run code of a risk.
func goodFor(backend string, risk Risk) bool { return Strength(backend).level() >= risk.level() }
