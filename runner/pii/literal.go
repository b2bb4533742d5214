package pii

import (
	"cmp"
	"slices"
	"strings"
)

// literals finds values that are known beforehand.
type literals struct {
	values  []string // longest first
	byFirst [256][]string
}

// newLiterals returns nil when no value is long enough to be looked for.
func newLiterals(values []string) *literals {
	l := &literals{}
	for _, v := range values {
		if len(v) >= minSecret {
			l.values = append(l.values, v)
		}
	}
	if len(l.values) == 0 {
		return nil
	}
	slices.SortFunc(l.values, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	l.values = slices.Compact(l.values)
	for _, v := range l.values {
		l.byFirst[v[0]] = append(l.byFirst[v[0]], v)
	}
	return l
}

// merge puts the places of the values among the finds; a value that lies across a find takes it in.
func (l *literals) merge(s string, found []Match) []Match {
	var places []Match
	for i := 0; i < len(s); i++ {
		for _, v := range l.byFirst[s[i]] {
			if strings.HasPrefix(s[i:], v) {
				places = append(places, Match{i, i + len(v), Secret})
				i += len(v) - 1
				break
			}
		}
	}
	if places == nil {
		return found
	}
	all := append(places, found...)
	slices.SortFunc(all, func(a, b Match) int { return cmp.Or(a.Start-b.Start, b.End-a.End) })
	out := all[:1]
	for _, m := range all[1:] {
		last := &out[len(out)-1]
		switch {
		case m.Start >= last.End:
			out = append(out, m)
		case m.Type == Secret || last.Type == Secret:
			last.End, last.Type = max(last.End, m.End), Secret
		}
	}
	return out
}
