package pii

import "strings"

const (
	maxName     = 64
	maxAssigned = 4 << 10
	minTold     = 12

	leastSignature = 40
	maxTold        = 512 // without quotes: a text can have a name, and no end of the value, at every few bytes
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
	for end = start; end < len(s) && end-start <= maxAssigned && s[end] > ' ' && strings.IndexByte("\"'`;,<>()[]{}|\\#=", s[end]) < 0 && !(s[end] == '&' && isParameter(s, end+1)); end++ {
	}
	value := s[start:end]
	switch {
	case len(value) < minSecret || !isSecretValue(value) || strings.ContainsAny(value, "$*"):
		return 0, 0
	case end < len(s) && strings.IndexByte("([{", s[end]) >= 0: // code
		return 0, 0
	case secretName(value[strings.LastIndexByte(value, '.')+1:]): // one name is given to another
		return 0, 0
	case !strings.ContainsAny(value, "0123456789") && !(len(value) >= 24 && random(value)) && !strings.HasSuffix(strings.ToLower(name), "password"):
		return 0, 0 // a word
	case name == "sig" && len(value) < leastSignature:
		return 0, 0
	}
	for end < len(s) && s[end] == '=' { // of Base64
		end++
	}
	return start, end
}

// isParameter tells whether a name and '=' stand at i, as behind each '&' of an address; or nothing, as before another '&'.
func isParameter(s string, i int) bool {
	at := i
	for at < len(s) && at-i < maxName && (isAlnum(s[at]) || strings.IndexByte("_-.[]%", s[at]) >= 0) {
		at++
	}
	return at > i && at < len(s) && s[at] == '=' || at == i && (at >= len(s) || s[at] <= '&')
}

// secretName tells whether a name says that it is given a secret. Those of variables of the environment say more than
// those of members: a nextPageToken is none.
func secretName(name string) bool {
	if memberHint(name) == Secret || strings.EqualFold(name, "token") || strings.EqualFold(name, "pw") || name == "sig" || strings.EqualFold(name, "X-Amz-Signature") {
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
	if last-from < 3 {
		if last-from < 2 || !strings.EqualFold(s[last-2:last], "pw") {
			return 0, 0
		}
	} else if !endsSecret(s[last-3 : last]) {
		if at = named(s, from, last); at == 0 {
			return 0, 0
		}
		last = at
	}
	for at > from && last-at <= maxName && (isAlnum(s[at-1]) || strings.IndexByte("_-.", s[at-1]) >= 0) {
		at--
	}
	name := s[at:last]
	if !secretName(name) {
		return 0, 0
	}
	for start = i + 1; start < len(s) && s[start] == ' ' && start-i < 8; start++ {
	}
	quoted := start < len(s) && (s[start] == '"' || s[start] == '\'')
	least, most := minTold, maxTold
	if quoted {
		start++
		least, most = minSecret, maxAssigned
	}
	for end = start; end < len(s) && end-start <= most && s[end] > ' ' && strings.IndexByte("\"'`,;<>()[]{}|\\$*", s[end]) < 0; end++ {
	}
	value := s[start:end]
	switch {
	case strings.EqualFold(name, "pass") && (name == "PASS" || !isMixed(value)): // a test did
		return 0, 0
	case len(value) < least && !isMixed(value) || !isSecretValue(value) || !random(value) || !strings.ContainsAny(value, "0123456789"):
		return 0, 0
	case !quoted && secretName(value[strings.LastIndexByte(value, '.')+1:]): // one name is given to another
		return 0, 0
	case quoted && (end >= len(s) || s[end] != s[start-1]): // more than one word
		return 0, 0
	case !quoted && (strings.ContainsAny(value, ".:@") || end < len(s) && strings.IndexByte("([{$*", s[end]) >= 0): // code, or an address
		return 0, 0
	}
	return start, end
}

// isMixed tells whether a text is like a password that somebody thought of: letters, digits and other characters.
func isMixed(s string) bool {
	return len(s) >= 8 && strings.ContainsAny(s, "!?#$%^&*+=~_-") && strings.ContainsAny(s, "0123456789") && strings.ContainsAny(s, "abcdefghijklmnopqrstuvwxyz") &&
		strings.IndexFunc(s, func(r rune) bool { return r >= 'A' && r <= 'Z' || r == '!' || r == '$' || r == '?' }) >= 0
}

// spoken returns where the secret lies that a sentence tells, whose verb is at i: "the password is x". It must look like one.
func spoken(s string, from, i int) (start, end int) {
	verb := i
	for verb < len(s) && isLetter(s[verb]) && verb-i < 4 {
		verb++
	}
	switch s[i:verb] {
	case "is", "ist", "est", "es", "was":
	default:
		return 0, 0
	}
	if i-from < 4 || s[i-1] != ' ' || verb >= len(s) || s[verb] != ' ' || !endsSecret(s[i-4:i-1]) {
		return 0, 0
	}
	at := i - 1
	for at > from && i-at <= maxName && (isAlnum(s[at-1]) || strings.IndexByte("_-", s[at-1]) >= 0) {
		at--
	}
	name := strings.ToLower(s[at : i-1])
	if name != "key" && name != "token" && !secretName(name) {
		return 0, 0
	}
	start = verb + 1
	if start < len(s) && strings.IndexByte("\"'`", s[start]) >= 0 {
		start++
	}
	for end = start; end < len(s) && end-start <= maxTold && s[end] > ' ' && s[end] < 0x80 && strings.IndexByte("\"'`,;<>()[]{}|\\", s[end]) < 0; end++ {
	}
	for end > start && strings.IndexByte(".!?:", s[end-1]) >= 0 {
		end--
	}
	value := s[start:end]
	if !isSecretValue(value) || secretName(value[strings.LastIndexByte(value, '.')+1:]) || strings.ContainsAny(value, "/:@") || !isMixed(value) && (len(value) < 16 || !random(value) || !strings.ContainsAny(value, "0123456789")) {
		return 0, 0
	}
	return start, end
}

// endsSecret tells whether the name of a secret may have such an end; most names are told apart by it.
func endsSecret(end string) bool {
	switch end[2] | 0x20 {
	case 'd', 'e', 'y', 't', 'n', 's', 'w':
	default:
		return false
	}
	if end = strings.ToLower(end); end == " pw" || end == "\npw" || end == "(pw" {
		return true
	}
	switch end {
	case "ord", "ort", "swd", "ase", "key", "ret", "ken", "pwd", "ion", "kie", "ass":
		return true
	}
	return false
}
