package runner

import (
	"fmt"
	"slices"

	"github.com/mcpgen/mcpgen/runner/risk"
)

// Trust says who wrote a script. Code runs only in a sandbox that is strong enough for its author.
type Trust string

// The authors, from the one that is trusted most.
const (
	TrustUnset    Trust = ""         // not set; any sandbox is strong enough
	TrustOwn      Trust = "own"      // your own code, read before it runs
	TrustModel    Trust = "model"    // code of a model that works on trusted data
	TrustExposed  Trust = "exposed"  // code of a model that reads text of strangers
	TrustStranger Trust = "stranger" // code of strangers
)

// Trusts lists the authors that can be set, from the one that is trusted most.
func Trusts() []Trust { return []Trust{TrustOwn, TrustModel, TrustExposed, TrustStranger} }

// ParseTrust reads the name of an author; the empty one is TrustUnset.
func ParseTrust(name string) (Trust, error) {
	t := Trust(name)
	if t == TrustUnset || slices.Contains(Trusts(), t) {
		return t, nil
	}
	return TrustUnset, fmt.Errorf("unknown author %.40q: own, model, exposed or stranger", name)
}

// Least returns the author that is trusted less.
func (t Trust) Least(other Trust) Trust {
	if other.Risk() > t.Risk() {
		return other
	}
	return t
}

// Risk returns the risk that code of the author has, whatever it does.
func (t Trust) Risk() risk.Risk { return risk.Risk(slices.Index(Trusts(), t) + 1) }
