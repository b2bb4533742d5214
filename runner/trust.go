package runner

import (
	"fmt"
	"slices"

	"github.com/mcpgen/mcpgen/runner/risk"
)

// Trust says who wrote a script. Code runs only in a sandbox that is strong enough for its author.
type Trust string

// The authors, most trusted first.
const (
	TrustUnset    Trust = ""         // not set; any sandbox is strong enough
	TrustOwn      Trust = "own"      // your own code, read before it runs
	TrustModel    Trust = "model"    // code of a model that works on trusted data
	TrustExposed  Trust = "exposed"  // code of a model that reads text from strangers
	TrustStranger Trust = "stranger" // code of strangers
)

// Trusts lists the authors that can be set, most trusted first.
func Trusts() []Trust { return []Trust{TrustOwn, TrustModel, TrustExposed, TrustStranger} }

// ParseTrust parses the name of an author. The empty name is TrustUnset.
func ParseTrust(name string) (Trust, error) {
	t := Trust(name)
	if t == TrustUnset || slices.Contains(Trusts(), t) {
		return t, nil
	}
	return TrustUnset, fmt.Errorf("unknown author %.40q: own, model, exposed or stranger", name)
}

// Least returns the less trusted of the two authors.
func (t Trust) Least(other Trust) Trust {
	if other.Risk() > t.Risk() {
		return other
	}
	return t
}

// Risk returns the least risk of the author's code, whatever it does.
func (t Trust) Risk() risk.Risk { return risk.Risk(slices.Index(Trusts(), t) + 1) }
