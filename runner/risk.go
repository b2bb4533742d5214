package runner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// Risk is how much harm the code of a run might intend. Code runs only in a sandbox that is strong enough for its risk.
type Risk string

// The risks, from the least.
const (
	RiskUnset    Risk = ""         // not set; any sandbox is strong enough
	RiskLow      Risk = "low"      // your own code, read before it runs
	RiskMedium   Risk = "medium"   // code of a model that works on trusted data
	RiskHigh     Risk = "high"     // code of a model that reads text of strangers
	RiskCritical Risk = "critical" // code of strangers
)

// Risks lists the risks that can be set, from the least.
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

// GoodFor returns the greatest risk that a sandbox of a strength may run.
func GoodFor(s sandbox.Strength) Risk {
	switch s {
	case sandbox.OwnKernel:
		return RiskCritical
	case sandbox.Container:
		return RiskHigh
	}
	return RiskLow
}

// goodFor reports whether a backend may run code of a risk.
func goodFor(b sandbox.Backend, risk Risk) bool { return GoodFor(b.Strength()).level() >= risk.level() }
