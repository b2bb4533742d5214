package ident

import (
	"slices"
	"strings"
)

// Unique maps each name through f and makes the results differ from each other, also where case is ignored, and from
// reserved words. The result has one entry per name, in the order of names, and each depends on the set of names
// only, not on their order. Equal names get equal results; callers drop duplicates first.
//
// A result that reserved accepts gets an underscore at its end. Of results that collide, the one whose name already
// was that identifier keeps it, and every other one gets an underscore and a short hash of its name.
func Unique(names []string, f func(string) string, reserved func(string) bool) []string {
	distinct := slices.Compact(slices.Sorted(slices.Values(names)))
	base := make(map[string]string, len(distinct))     // name → identifier before collisions are settled
	claims := make(map[string][]string, len(distinct)) // folded identifier → names that want it
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
		// A longer hash is needed only where somebody named a tool after another one's hash.
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

// keeper returns the one name of a group that is its own identifier, or "" when there is none or more than one.
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
