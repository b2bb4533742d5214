package pii

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/runner/pii/detect"
)

// literals finds values that are known in advance.
type literals struct {
	values  []string // longest first
	byFirst [256][]string
}

// newLiterals returns nil if no value is long enough.
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

// merge adds the places of the values to the matches; a value that overlaps a match absorbs it.
func (l *literals) merge(s string, matches []detect.Match) []detect.Match {
	var places []detect.Match
	for i := 0; i < len(s); i++ {
		for _, v := range l.byFirst[s[i]] {
			if strings.HasPrefix(s[i:], v) {
				places = append(places, detect.Match{Start: i, End: i + len(v), Type: detect.Secret})
				i += len(v) - 1
				break
			}
		}
	}
	if places == nil {
		return matches
	}
	all := append(places, matches...)
	slices.SortFunc(all, func(a, b detect.Match) int { return cmp.Or(a.Start-b.Start, b.End-a.End) })
	out := all[:1]
	for _, m := range all[1:] {
		last := &out[len(out)-1]
		switch {
		case m.Start >= last.End:
			out = append(out, m)
		case m.Type == detect.Secret || last.Type == detect.Secret:
			last.End, last.Type = max(last.End, m.End), detect.Secret
		}
	}
	return out
}
