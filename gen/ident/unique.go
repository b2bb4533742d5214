package ident

import (
	"slices"
	"strings"
)

// Unique maps each name through f to an identifier that differs from all others, even if case is ignored, and from reserved words. The
// result has one identifier per name, in the order of names. An identifier depends on the set of names, not on their order. Equal names get
// equal identifiers, so callers drop duplicates first.
//
// An identifier for which reserved returns true gets an underscore as a suffix; reserved may be nil. If identifiers collide, the one that
// equals its name stays, and every other one gets an underscore and a short hash of its name.
func Unique(names []string, f func(string) string, reserved func(string) bool) []string {
	distinct := slices.Compact(slices.Sorted(slices.Values(names)))
	base := make(map[string]string, len(distinct))     // name → identifier before collisions are resolved
	claims := make(map[string][]string, len(distinct)) // identifier in lower case → its names
	for _, name := range distinct {
		id := f(name)
		if reserved != nil && reserved(id) {
			id += "_"
		}
		base[name] = id
		claims[strings.ToLower(id)] = append(claims[strings.ToLower(id)], name)
	}

	final := make(map[string]string, len(distinct))
	taken := make(map[string]bool, len(distinct))
	var losers []string
	for _, name := range distinct {
		group := claims[strings.ToLower(base[name])]
		if len(group) == 1 || keeper(group, base) == name {
			final[name] = base[name]
			taken[strings.ToLower(base[name])] = true
		} else {
			losers = append(losers, name)
		}
	}
	for _, name := range losers {
		// A longer hash is needed only if a tool is named after the hash of another one.
		for digits := hashLength; ; digits += hashLength {
			id := base[name] + "_" + hashOf(name, min(digits, 64))
			if key := strings.ToLower(id); !taken[key] {
				final[name], taken[key] = id, true
				break
			}
		}
	}

	out := make([]string, len(names))
	for i, name := range names {
		out[i] = final[name]
	}
	return out
}

// keeper returns the only name in a group that equals its identifier, or "" if there is not exactly one.
func keeper(group []string, base map[string]string) string {
	kept := ""
	for _, name := range group {
		if base[name] != name {
			continue
		}
		if kept != "" {
			return ""
		}
		kept = name
	}
	return kept
}
