// Package drift proves that one schema accepts every value that another accepts: [Covers] and [SameDefaults]. Package diff describes a
// change of a schema, and asks this package whether it is harmless.
//
// A proof applies one-sided rules to keywords: whatever they cannot show, or do not know, counts as not shown. The time for one pair is
// bounded, and is less than a millisecond for the schemas that servers have.
package drift

import "github.com/mcpgen/mcpgen/gen/jsonschema"

// node is a schema, or a value of a keyword.
type node = *jsonschema.Value

const (
	// maxSteps bounds the schemas that one proof looks at, and maxDepth how deep it goes.
	maxSteps = 20_000
	maxDepth = 100
)

// proof shows that a wide schema accepts every value that a narrow one accepts. It is one-sided: false means that it could not show this.
// It may treat a schema on the narrow side as wider than it is, and one on the wide side as narrower, but never the other way round.
type proof struct {
	narrow, wide node // the documents, for references
	input        bool
	steps        int
	busy         map[string]bool // pairs whose proof has begun: inside it they may be assumed, because values are finite
}

// Covers reports whether it can show that each value that fits narrow fits wide. input means that callers supply the values and that narrow
// is the old schema: callers are then assumed not to send a property that only the new schema declares, unless the old one invites
// undeclared properties. A property that was removed is never covered, for inputs or outputs: a server would ignore it in an open input,
// and code may read it from an output.
func Covers(narrow, wide *jsonschema.Value, input bool) bool {
	p := &proof{narrow: narrow, wide: wide, input: input, busy: map[string]bool{}}
	return sameDialect(narrow, wide) && p.value(p.conjuncts(narrow, 0), wide, 0) || p.same(narrow, wide, 0)
}
