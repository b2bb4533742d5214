package pii

import "strings"

const (
	maxName     = 64
	maxAssigned = 4 << 10
)

// assigned returns where the value lies that the '=' at i gives to a name such as api_key, in an address, a setting or a
// flag. It looks at nothing before from.
func assigned(s string, from, i int) (start, end int) {
	at := i
	for at > from && i-at <= maxName && (isAlnum(s[at-1]) || strings.IndexByte("_-.", s[at-1]) >= 0) {
		at--
	}
	name := s[at:i]
	if !secretName(name) {
		return 0, 0
	}
	start = i + 1
	if start < len(s) && strings.IndexByte(`"'`, s[start]) >= 0 {
		start++
	}
	for end = start; end < len(s) && end-start <= maxAssigned && s[end] > ' ' && strings.IndexByte("\"'`&;,<>()[]{}|\\#=", s[end]) < 0; end++ {
	}
	value := s[start:end]
	switch {
	case len(value) < minSecret || !isSecretValue(value) || strings.ContainsAny(value, "$*"):
		return 0, 0
	case end < len(s) && strings.IndexByte("([{", s[end]) >= 0: // code
		return 0, 0
	case secretName(value[strings.LastIndexByte(value, '.')+1:]): // one name is given to another
		return 0, 0
	case !strings.ContainsAny(value, "0123456789") && len(value) < 10 && !strings.HasSuffix(strings.ToLower(name), "password"):
		return 0, 0 // a word
	}
	for end < len(s) && s[end] == '=' { // of Base64
		end++
	}
	return start, end
}

// secretName tells whether a name says that it is given a secret. Those of variables of the environment say more than
// those of members: a nextPageToken is none.
func secretName(name string) bool {
	if memberHint(name) == Secret || strings.EqualFold(name, "token") {
		return true
	}
	for _, end := range []string{"_TOKEN", "_KEY", "_SECRET", "_PASS"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}
