package pii

import "strings"

// named returns where the name of a secret ends that a text says more about, up to the colon at last: "password for the wifi:". 0:
// there is none.
func named(s string, from, last int) int {
	words := backwards{s[max(from, last-maxBefore):last]}
	for range 4 {
		at := strings.LastIndexByte(words.text, ' ')
		if at < 3 || strings.IndexByte(words.text[at:], '\n') >= 0 {
			return 0
		}
		words.text = words.text[:at]
		switch words.text[strings.LastIndexByte(words.text, ' ')+1:] {
		case "for", "of", "to", "für", "zum", "de", "pour", "para":
			end := strings.LastIndexByte(words.text, ' ')
			if end < 3 || !endsSecret(words.text[end-3:end]) {
				return 0
			}
			return max(from, last-maxBefore) + end
		}
	}
	return 0
}

// flag returns where the secret lies that is given to the flag at i with a space between: --account-key x.
func flag(s string, from, i int) (start, end int) {
	if !strings.HasPrefix(s[i:], "--") || i > 0 && s[i-1] != ' ' && s[i-1] != '"' && s[i-1] != '\n' {
		return 0, 0
	}
	at := i + 2
	for at < len(s) && at-i < maxName && (isAlnum(s[at]) || s[at] == '-' || s[at] == '_') {
		at++
	}
	if at-i < 5 || at+1 >= len(s) || s[at] != ' ' || !endsSecret(s[at-3:at]) || !secretName(s[i+2:at]) {
		return 0, 0
	}
	return plainSecret(s, at+1)
}

// netrc returns where the password lies in "login x password y", whose word password is at i.
func netrc(s string, from, i int) (start, end int) {
	const name = "password "
	if !strings.HasPrefix(s[i:], name) || i-from < len("login ") {
		return 0, 0
	}
	words := strings.Fields(s[max(from, i-maxBefore):i])
	if n := len(words); n < 2 || words[n-2] != "login" {
		return 0, 0
	}
	return plainSecret(s, i+len(name))
}

// plainSecret returns where the secret lies that begins at i, or behind its quote there, and ends at a space. It must look like
// one.
func plainSecret(s string, i int) (start, end int) {
	start = i
	if start < len(s) && strings.IndexByte("\"'", s[start]) >= 0 {
		start++
	}
	for end = start; end < len(s) && end-start <= maxTold && s[end] > ' ' && strings.IndexByte("\"'`,;<>()[]{}|\\$*", s[end]) < 0; end++ {
	}
	value := s[start:end]
	if len(value) < minTold && !isMixed(value) || !isSecretValue(value) || !random(value) || !strings.ContainsAny(value, "0123456789") || strings.Contains(value, "://") {
		return 0, 0
	}
	return start, end
}

// pairOf returns where the secret ends that begins at i and belongs to the name of a key just before, as those of Amazon do: 40
// characters.
func (f *finder) pairOf(i int) (end int) {
	const length = 40
	if f.pair == 0 || i-f.pair > maxBefore {
		return 0
	}
	if end = i; end+length > len(f.s) {
		return 0
	}
	for end < len(f.s) && end-i <= length && (isAlnum(f.s[end]) || f.s[end] == '/' || f.s[end] == '+') {
		end++
	}
	if value := f.s[i:end]; end-i != length || !random(value) || isPlaceholder(value) || strings.ToLower(value) == value || wordAt(f.s, end) {
		return 0
	}
	return end
}

// element returns where the secret lies that is the text of an element of XML whose '>' is at i: <password>x</password>,
// <property name="api_key">x</property>.
func element(s string, from, i int) (start, end int) {
	last := i
	if last > from && s[last-1] == '"' {
		last--
	}
	if last-from < 4 || !endsSecret(s[last-3:last]) {
		return 0, 0
	}
	at := last
	for at > from && last-at <= maxName && (isAlnum(s[at-1]) || strings.IndexByte("_-.:", s[at-1]) >= 0) {
		at--
	}
	if at == from || s[at-1] != '<' && s[at-1] != '"' || !secretName(s[at:last]) {
		return 0, 0
	}
	start, end = plainSecret(s, i+1)
	if end == 0 || !strings.HasPrefix(s[end:], "</") {
		return 0, 0
	}
	return start, end
}

// setting returns where the secret lies that the '=' at i gives to an attribute named value, behind one that names it: key="ApiKey"
// value="x".
func setting(s string, from, i int) (start, end int) {
	const name, quote = `value`, '"'
	at := i - len(name)
	if at-from < 8 || !strings.EqualFold(s[at:i], name) || i+1 >= len(s) || s[i+1] != quote {
		return 0, 0
	}
	last := strings.LastIndexByte(s[max(from, at-maxName):at], quote) + max(from, at-maxName)
	if last < from || strings.Trim(s[last+1:at], " ") != "" || last-from < 3 || !endsSecret(s[last-3:last]) {
		return 0, 0
	}
	first := strings.LastIndexByte(s[max(from, last-maxName):last], quote)
	if first < 0 || !secretName(s[max(from, last-maxName)+first+1:last]) {
		return 0, 0
	}
	return plainSecret(s, i+1)
}
