// Package drift proves that a schema accepts what another one does: [Covers], and [SameDefaults]. Package diff says what changed, and
// asks it whether a change of a schema is harmless.
//
// A proof consists of rules over keywords that are one-sided: what they cannot show, or do not know, counts as not shown. The time for one
// pair is bounded, and less than a millisecond for the schemas that servers have.
package drift

import "github.com/mcpgen/mcpgen/gen/jsonschema"

// node is a schema, or a value of a keyword.
type node = *jsonschema.Value

const (
	// maxSteps bounds the schemas that one proof looks at, and maxDepth how deep it goes.
	maxSteps = 20_000
	maxDepth = 100
)

// proof shows that every value that a narrow schema accepts is accepted by a wide one too. It is one-sided: what it cannot show is
// false, whether it is false or not. A schema on the narrow side may be taken for a wider one, and one on the wide side for a
// narrower one, never the other way round.
type proof struct {
	narrow, wide node // the documents, for references
	input        bool
	steps        int
	busy         map[string]bool // what is being shown further out: a value is finite, so it may be assumed further in
}

// Covers reports whether each value that fits narrow is shown to fit wide. input reports that callers make the values, and that narrow
// is the schema that was. Then a property that is new and was not declared before is taken as one that no caller sends, unless the
// schema invites undeclared ones. In both directions a property that is gone is no proof: a server would ignore it in an open input, and
// code may read it from an output.
func Covers(narrow, wide *jsonschema.Value, input bool) bool {
	p := &proof{narrow: narrow, wide: wide, input: input, busy: map[string]bool{}}
	return sameDialect(narrow, wide) && p.value(p.conjuncts(narrow, 0), wide, 0) || p.same(narrow, wide, 0)
}
