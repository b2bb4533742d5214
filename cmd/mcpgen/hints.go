package main

import (
	"strings"

	"github.com/mcpgen/mcpgen/gen"
)

// hintsOf are the hints that a server gave; those it did not give are left out.
func hintsOf(t *gen.Tool) map[string]bool {
	hints := map[string]bool{}
	for name, value := range map[string]*bool{
		"readOnly": t.Hints.ReadOnly, "destructive": t.Hints.Destructive,
		"idempotent": t.Hints.Idempotent, "openWorld": t.Hints.OpenWorld,
	} {
		if value != nil {
			hints[name] = *value
		}
	}
	return hints
}

// hintsText is the same in words.
func hintsText(t *gen.Tool) string {
	var words []string
	for _, h := range []struct {
		value   *bool
		yes, no string
	}{
		{t.Hints.ReadOnly, "read-only", "changes things"},
		{t.Hints.Destructive, "destructive", "not destructive"},
		{t.Hints.Idempotent, "idempotent", "not idempotent"},
		{t.Hints.OpenWorld, "reaches beyond its own data", "its own data only"},
	} {
		switch {
		case h.value == nil:
		case *h.value:
			words = append(words, h.yes)
		default:
			words = append(words, h.no)
		}
	}
	return strings.Join(words, ", ")
}
