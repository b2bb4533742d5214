package detect

import (
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/char"
	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/key"
	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/lexicon"
)

const (
	minSecret     = 6       // bytes of a value that is assigned or quoted
	minUnquoted   = 12      // of a value after a space, which may be a word
	minSpoken     = 16      // of a value in a sentence
	minSignature  = 40      // of a value named "sig"
	maxSecret     = 4 << 10 // of a value that is assigned or quoted
	maxUnquoted   = 512     // of other values, whose end is harder to find
	maxSpaces     = 8       // between a name, the mark after it and the value
	maxTopicWords = 4       // as in "password for the guest network:"
)

// secretEnds are the last two bytes of names of secrets, in lower case. They rule out most other names.
var secretEnds = sync.OnceValue(func() *[1 << 16]bool {
	var t [1 << 16]bool
	add := func(name string) {
		n := len(name)
		t[int(name[n-2])<<8|int(name[n-1])] = true
	}
	for _, section := range []string{"secret", "secret-end"} {
		for name := range lexicon.Words()[section] {
			add(name)
		}
	}
	for _, name := range []string{"token", "key", "sig", "signature"} {
		add(name)
	}
	return &t
})

// mayEndSecret reports whether a name that ends at end may be the name of a secret.
func mayEndSecret(s string, from, end int) bool {
	if end-from < 2 {
		return false
	}
	lower := func(c byte) int {
		if char.IsUpper(c) {
			c |= 0x20
		}
		return int(c)
	}
	return secretEnds()[lower(s[end-2])<<8|lower(s[end-1])]
}

// isSecretName reports whether a name announces a secret. A variable needs only a suffix such as _TOKEN; a member nextPageToken is no secret.
func isSecretName(name string) bool {
	if name == "" {
		return false
	}
	lower := strings.ToLower(name)
	return lexicon.Words()["secret"][lower] || lower == "token" || name == "sig" || lower == "x-amz-signature" ||
		valueHint(name, plainName(name)) == Secret || char.HasAnySuffix(name, "_TOKEN", "_KEY", "_SECRET", "_PASS")
}

// nameBefore returns the name that ends at end.
func nameBefore(s string, from, end int) string {
	at := end
	for at > from && end-at <= maxName && (char.IsAlnum(s[at-1]) || strings.IndexByte("_-.:", s[at-1]) >= 0 || s[at-1] >= utf8.RuneSelf) {
		at--
	}
	name := s[at:end]
	return name[strings.LastIndexByte(name, ':')+1:]
}

// secretAfterMark returns the secret after the '=', ':' or '>' at i, if its name precedes the mark: api_key=x, "api_key": "x",
// <password>x</password>, key="ApiKey" value="x", password for the wifi: x, -u user:x.
func (f *finder) secretAfterMark(i int) (start, end int) {
	s, at := f.s, i
	for at > f.from && s[at-1] == ' ' && i-at < maxSpaces {
		at--
	}
	quoted := at > f.from && (s[at-1] == '"' || s[at-1] == '\'')
	if quoted {
		at--
	}
	switch {
	case s[i] == '>':
		return f.secretInElement(i, at)
	case s[i] == '=' && f.isValueAttribute(at):
		return f.strictValue(i+1, minUnquoted, false)
	case s[i] == ':' && at == i && f.followsUserFlag(at):
		return f.strictValue(i+1, minUnquoted, false)
	}
	name := ""
	if mayEndSecret(s, f.from, at) {
		name = nameBefore(s, f.from, at)
	}
	if !isSecretName(name) {
		if quoted || s[i] != ':' || !f.hasTopic(at) {
			return 0, 0
		}
		name = "password"
	} else if s[i] == '=' && at == i {
		if start, end = f.assignedValue(name, i+1); end > 0 {
			return start, end
		}
	}
	start, end = f.strictValue(i+1, minUnquoted, true)
	if strings.EqualFold(name, "pass") && (name == "PASS" || end > 0 && !isMixed(s[start:end])) { // the result of a test: PASS
		return 0, 0
	}
	return start, end
}

// secretInElement returns the secret that is the text of an XML element whose '>' is at i. The name ends at end; it is the element's name
// or the value of an attribute.
func (f *finder) secretInElement(i, end int) (int, int) {
	if !mayEndSecret(f.s, f.from, end) {
		return 0, 0
	}
	name := nameBefore(f.s, f.from, end)
	begin := end - len(name)
	if begin <= f.from || strings.IndexByte(`<":`, f.s[begin-1]) < 0 || !isSecretName(name) {
		return 0, 0
	}
	start, end := f.strictValue(i+1, minUnquoted, false)
	if end == 0 || !strings.HasPrefix(f.s[end:], "</") {
		return 0, 0
	}
	return start, end
}

// isValueAttribute reports whether an attribute named "value" ends at end and follows one that names a secret.
func (f *finder) isValueAttribute(end int) bool {
	const name = "value"
	s, at := f.s, end-len(name)
	if at-f.from < maxSpaces || !strings.EqualFold(s[at:end], name) {
		return false
	}
	before := strings.TrimRight(s[max(f.from, at-maxName):at], " ")
	before, ok := strings.CutSuffix(before, `"`)
	return ok && isSecretName(before[strings.LastIndexByte(before, '"')+1:])
}

// followsUserFlag reports whether the user name that ends at end belongs to curl's flag: -u user:password.
func (f *finder) followsUserFlag(end int) bool {
	name := nameBefore(f.s, f.from, end)
	before := f.s[max(f.from, end-len(name)-len(" --user ")) : end-len(name)]
	return name != "" && char.HasAnySuffix(strings.TrimRight(before, `"'`), " -u ", " --user ")
}

// hasTopic reports whether the text that ends at end says what a secret is for: "password for the guest network".
func (f *finder) hasTopic(end int) bool {
	text := f.s[max(f.from, end-char.MaxBefore):end]
	for range maxTopicWords {
		at := strings.LastIndexByte(text, ' ')
		if at < 3 || strings.IndexByte(text[at:], '\n') >= 0 {
			return false
		}
		text = text[:at]
		switch text[strings.LastIndexByte(text, ' ')+1:] {
		case "for", "of", "to", "für", "zum", "de", "pour", "para":
			name := strings.TrimRight(text[:strings.LastIndexByte(text, ' ')+1], " ")
			return mayEndSecret(name, 0, len(name)) && isSecretName(nameBefore(name, 0, len(name)))
		}
	}
	return false
}

// secretAfterFlag returns the secret after the flag at i and a space: --account-key x.
func (f *finder) secretAfterFlag(i int) (start, end int) {
	s := f.s
	if !strings.HasPrefix(s[i:], "--") || i > 0 && strings.IndexByte(" \"\n", s[i-1]) < 0 {
		return 0, 0
	}
	at := i + 2
	for at < len(s) && at-i < maxName && (char.IsAlnum(s[at]) || s[at] == '-' || s[at] == '_') {
		at++
	}
	if at >= len(s) || s[at] != ' ' || !mayEndSecret(s, i+2, at) || !isSecretName(s[i+2:at]) {
		return 0, 0
	}
	return f.strictValue(at+1, minUnquoted, false)
}

// secretAfterWord returns the secret in a sentence whose word at i is a verb ("the password is x"), or in a line of netrc ("login x
// password y") whose word at i is "password".
func (f *finder) secretAfterWord(i int) (start, end int) {
	s, at := f.s, i
	for at < len(s) && char.IsLetter(s[at]) && at-i < len("password") {
		at++
	}
	if at >= len(s) || s[at] != ' ' || i-f.from < 3 || s[i-1] != ' ' {
		return 0, 0
	}
	switch s[i:at] {
	case "password":
		before := strings.Fields(s[max(f.from, i-char.MaxBefore):i])
		if n := len(before); n < 2 || before[n-2] != "login" {
			return 0, 0
		}
		return f.strictValue(at+1, minUnquoted, false)
	case "is", "ist", "est", "es", "was", "to", "lautet":
	default:
		return 0, 0
	}
	if !mayEndSecret(s, f.from, i-1) {
		return 0, 0
	}
	name := strings.ToLower(nameBefore(s, f.from, i-1))
	if name != "key" && !isSecretName(name) {
		return 0, 0
	}
	return f.strictValue(at+1, minSpoken, true)
}

// assignedValue returns the value at i that is assigned to a name with no space or quote in between.
func (f *finder) assignedValue(name string, i int) (start, end int) {
	s := f.s
	if start = i; start < len(s) && (s[start] == '"' || s[start] == '\'') {
		start++
	}
	for end = start; end < len(s) && end-start <= maxSecret && s[end] > ' ' && strings.IndexByte("\"'`;,<>()[]{}|\\#=", s[end]) < 0 && !(s[end] == '&' && isParameter(s, end+1)); end++ {
	}
	value := s[start:end]
	hasDigit := strings.ContainsAny(value, "0123456789")
	switch {
	case len(value) < minSecret || !key.IsSecret(value) || hasPlaceholder(value) || isNameOfSecret(value),
		end < len(s) && strings.IndexByte("([{", s[end]) >= 0,                                                            // code
		!hasDigit && !(len(value) >= 24 && key.IsRandom(value)) && !strings.HasSuffix(strings.ToLower(name), "password"), // a word
		name == "sig" && len(value) < minSignature:
		return 0, 0
	}
	for end < len(s) && s[end] == '=' { // padding of Base64
		end++
	}
	return start, end
}

// isParameter reports whether a name and '=' begin at i, as after each '&' of a URL, or the URL ends there.
func isParameter(s string, i int) bool {
	at := i
	for at < len(s) && at-i < maxName && (char.IsAlnum(s[at]) || strings.IndexByte("_-.[]%", s[at]) >= 0) {
		at++
	}
	return at > i && at < len(s) && s[at] == '=' || at == i && (at >= len(s) || s[at] <= '&')
}

// strictValue returns the value at i, after spaces or a quote. It must look like a secret, because text that mentions passwords seldom
// contains one: it is random and has a digit, and is at least min bytes long unless it is quoted or mixed. In a sentence or code (inText)
// it also has no dot, colon or '@' unless it is quoted.
func (f *finder) strictValue(i, min int, inText bool) (start, end int) {
	s := f.s
	for start = i; start < len(s) && s[start] == ' ' && start-i < maxSpaces; start++ {
	}
	quoted := start < len(s) && strings.IndexByte("\"'`", s[start]) >= 0
	most := maxUnquoted
	if quoted {
		start++
		min, most = minSecret, maxSecret
	}
	for end = start; end < len(s) && end-start <= most && s[end] > ' ' && s[end] < utf8.RuneSelf && strings.IndexByte("\"'`,;<>()[]{}|\\", s[end]) < 0; end++ {
	}
	if quoted && (end >= len(s) || s[end] != s[start-1]) { // more than one word
		return 0, 0
	}
	if inText && !quoted {
		if end < len(s) && strings.IndexByte("([{", s[end]) >= 0 { // code
			return 0, 0
		}
		for end > start && (s[end-1] == '.' || s[end-1] == ':' || s[end-1] == '?') {
			end--
		}
	}
	value := s[start:end]
	switch {
	case len(value) < min && !isMixed(value),
		!key.IsSecret(value) || hasPlaceholder(value) || isNameOfSecret(value),
		!key.IsRandom(value) || !strings.ContainsAny(value, "0123456789") || strings.Contains(value, "://"),
		inText && !quoted && strings.ContainsAny(value, ".:@"):
		return 0, 0
	}
	return start, end
}

// hasPlaceholder reports whether a value contains a variable or a mask.
func hasPlaceholder(value string) bool {
	return strings.HasPrefix(value, "$") || strings.Contains(value, "${") || strings.Contains(value, "**")
}

// isNameOfSecret reports whether a value is itself a name, as in token=self.token.
func isNameOfSecret(value string) bool {
	return isSecretName(value[strings.LastIndexByte(value, '.')+1:])
}

// isMixed reports whether a text resembles a password that a person chose: letters, digits and other characters.
func isMixed(s string) bool {
	return len(s) >= 8 && strings.ContainsAny(s, "!?#$%^&*+=~_-") && strings.ContainsAny(s, "0123456789") && strings.ContainsAny(s, "abcdefghijklmnopqrstuvwxyz") &&
		strings.ContainsAny(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ!$?")
}

// IsSecretValue reports whether the value of a member with the hint [Secret] is a secret. It is false for a word that describes one,
// as in schemas and forms, and for a placeholder, as in documentation.
func IsSecretValue(s string) bool { return key.IsSecret(s) }
