package pii

import "strings"

const (
	maxName     = 64
	maxAssigned = 4 << 10
	maxTold     = 512 // without quotes: a text can have a name, and no end of the value, at every few bytes
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

// told returns where the value lies that a text gives to a name such as api_key at the ':' or '=' at i, otherwise than
// assigned: with spaces between, or the name in quotes. There it must look like a secret, because such text is about
// passwords more often than it has one.
func told(s string, from, i int) (start, end int) {
	at := i
	for at > from && s[at-1] == ' ' && i-at < 8 {
		at--
	}
	if at > from && (s[at-1] == '"' || s[at-1] == '\'') {
		at--
	}
	last := at
	if last-from < 3 || !endsSecret(s[last-3:last]) {
		return 0, 0
	}
	for at > from && last-at <= maxName && (isAlnum(s[at-1]) || strings.IndexByte("_-.", s[at-1]) >= 0) {
		at--
	}
	if !secretName(s[at:last]) {
		return 0, 0
	}
	for start = i + 1; start < len(s) && s[start] == ' ' && start-i < 8; start++ {
	}
	quoted := start < len(s) && (s[start] == '"' || s[start] == '\'')
	least, most := 12, maxTold
	if quoted {
		start++
		least, most = minSecret, maxAssigned
	}
	for end = start; end < len(s) && end-start <= most && s[end] > ' ' && strings.IndexByte("\"'`,;<>()[]{}|\\$*", s[end]) < 0; end++ {
	}
	value := s[start:end]
	switch {
	case len(value) < least || !isSecretValue(value) || !random(value) || !strings.ContainsAny(value, "0123456789"):
		return 0, 0
	case quoted && (end >= len(s) || s[end] != s[start-1]): // more than one word
		return 0, 0
	case !quoted && (strings.ContainsAny(value, ".:@") || end < len(s) && strings.IndexByte("([{$*", s[end]) >= 0): // code, or an address
		return 0, 0
	}
	return start, end
}

// endsSecret tells whether the name of a secret may have such an end; most names are told apart by it.
func endsSecret(end string) bool {
	switch end[2] | 0x20 {
	case 'd', 'e', 'y', 't', 'n', 's':
	default:
		return false
	}
	switch strings.ToLower(end) {
	case "ord", "swd", "ase", "key", "ret", "ken", "pwd", "ion", "kie", "ass":
		return true
	}
	return false
}
