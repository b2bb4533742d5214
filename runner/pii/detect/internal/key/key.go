// Package key reads keys, tokens and passwords that have a form of their own.
package key

import (
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/char"
)

// charset is a set of characters that keys consist of.
type charset [256]bool

func newCharset(chars string) *charset {
	var set charset
	for i := range len(chars) {
		set[chars[i]] = true
	}
	return &set
}

const (
	digitChars = "0123456789"
	upperChars = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	alnumChars = digitChars + upperChars + "abcdefghijklmnopqrstuvwxyz"
	maxKey     = 16 << 10 // bytes of a token without a known vendor's form
)

var (
	digitSet  = newCharset(digitChars)
	urlSet    = newCharset(alnumChars + "_-")
	wordSet   = newCharset(alnumChars + "_")
	bearerSet = newCharset(alnumChars + "+/=_-.~")
	pathSet   = newCharset(alnumChars + "_-/")
)

// charsets are the alphabets of keys.txt.
var charsets = map[string]*charset{
	"hex": newCharset(digitChars + "abcdefABCDEF"), "base32": newCharset(upperChars + "234567"), "upper": newCharset(digitChars + upperChars),
	"alnum": newCharset(alnumChars), "word": wordSet, "url": urlSet, "dotted": newCharset(alnumChars + "_-."), "base64": newCharset(alnumChars + "+/=_-"),
}

// end returns the end of the run of characters of the set that begins at i, at most limit of them.
func (set *charset) end(s string, i, limit int) (end int) {
	for end = i; end < len(s) && end-i < limit && set[s[end]]; end++ {
	}
	return end
}

// keyForm is the form of one vendor's keys: a prefix followed by min to max characters of an alphabet.
type keyForm struct {
	prefix   string
	alphabet *charset
	min, max int
}

//go:embed keys.txt
var keysText string

// keyForms are the forms in keys.txt by the first character of their prefix.
var keyForms = sync.OnceValue(func() *[256][]keyForm {
	var forms [256][]keyForm
	for line := range strings.Lines(keysText) {
		if fields := strings.Fields(line); line[0] != '#' {
			forms[line[0]] = append(forms[line[0]], keyForm{fields[0], charsets[fields[1]], char.Atoi(fields[2]), char.Atoi(fields[3])})
		}
	}
	return &forms
})

// markedForm is a form of keys that contain their vendor's mark at an offset.
type markedForm struct {
	offset int
	mark   string
	form   *regexp.Regexp
}

var markedForms = sync.OnceValue(func() []markedForm {
	return []markedForm{
		{4, "Q~", regexp.MustCompile(`^\w{3}\dQ~[\w.-]{30,33}[\w-]`)},               // Azure applications
		{52, "JQQJ99", regexp.MustCompile(`^[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{26}`)}, // Azure services
		{32, "-us", regexp.MustCompile(`^[0-9a-f]{32}-us\d{1,2}`)},                  // Mailchimp
		{32, "-", regexp.MustCompile(`^[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}`)},      // Mailgun
		{14, ".atlasv1.", regexp.MustCompile(`^\w{14}\.atlasv1\.[\w-]{55,80}`)},     // Terraform
		{0, "M", discordForm}, {0, "N", discordForm}, {0, "O", discordForm},
	}
})

// discordForm is a bot's number in Base64, a time and a code.
var discordForm = regexp.MustCompile(`^[A-Za-z0-9]{23,28}\.[\w-]{6}\.[\w-]{27,38}`)

// Vendor returns the end of the credential that begins at i, the beginning of a word.
func Vendor(s string, i int) (end int) {
	if i > 1 && s[i-1] == '-' && char.IsAlnum(s[i-2]) {
		return 0 // in the middle of something
	}
	for _, f := range keyForms()[s[i]] {
		if !strings.HasPrefix(s[i:], f.prefix) {
			continue
		}
		first := i + len(f.prefix)
		end = f.alphabet.end(s, first, f.max+1)
		for end > first && s[end-1] == '.' { // of the sentence
			end--
		}
		if n := end - first; n >= f.min && n <= f.max && IsRandom(s[first:end]) && !IsPlaceholder(s[i:end]) {
			return end
		}
	}
	if s[i]|0x20 == 'b' {
		if end = authorization(s, i); end > 0 {
			return end
		}
	}
	return markedKey(s, i)
}

// markedKey returns the end of the key that begins at i and has its vendor's mark inside.
func markedKey(s string, i int) (end int) {
	const shortest, longest = 36, 128
	rest := s[i:min(len(s), i+longest)]
	if len(rest) < shortest {
		return 0
	}
	for _, f := range markedForms() {
		if f.offset >= len(rest) || rest[f.offset] != f.mark[0] || !strings.HasPrefix(rest[f.offset:], f.mark) {
			continue
		}
		if key := f.form.FindString(rest); key != "" && IsRandom(key) && !char.WordAfter(s, i+len(key)) {
			return i + len(key)
		}
	}
	return 0
}

// IsRandom reports whether a text is a key and not a name that begins like one: keys have digits, and more than a few different
// characters.
func IsRandom(s string) bool {
	var seen [128]bool
	digits, letters, different := 0, 0, 0
	upper, parts := false, false
	for i := 0; i < len(s); i++ {
		switch {
		case char.IsDigit(s[i]):
			digits++
		case char.IsLetter(s[i]):
			letters++
			upper = upper || char.IsUpper(s[i])
		case s[i] == '-' || s[i] == '_' || s[i] == '/':
			parts = true
		}
		if c := s[i] & 127; !seen[c] {
			seen[c] = true
			different++
		}
	}
	if parts && !upper && digits*8 < len(s) {
		return false // words with hyphens between them
	}
	return different >= 6 && letters > 0 && (digits > 0 || different >= 16)
}

// WebToken returns the end of the JSON Web Token that begins at i (RFC 7519), or 0 and the offset before which none can begin:
// a run of such characters is read once, not again from each of its words.
func WebToken(s string, i int) (end, next int) {
	if !strings.HasPrefix(s[i:], "eyJ") {
		return 0, i
	}
	head := urlSet.end(s, i, maxKey)
	if !strings.HasPrefix(s[head:], ".ey") {
		return 0, head
	}
	body := urlSet.end(s, head+1, maxKey)
	if body+1 >= len(s) || s[body] != '.' {
		return 0, head
	}
	if end = urlSet.end(s, body+1, maxKey); end-body < 16 {
		return 0, head
	}
	b, err := base64.RawURLEncoding.DecodeString(s[i:head])
	var header struct {
		Alg string `json:"alg"`
	}
	if err != nil || json.Unmarshal(b, &header) != nil || header.Alg == "" {
		return 0, head
	}
	return end, end
}

// authorization returns the end of the value of an Authorization header that begins at i: Bearer or Basic and a credential.
func authorization(s string, i int) (end int) {
	for _, scheme := range []string{"bearer ", "basic "} {
		if len(s)-i <= len(scheme) || !strings.EqualFold(s[i:i+len(scheme)], scheme) {
			continue
		}
		first := i + len(scheme)
		if end = bearerSet.end(s, first, maxKey); end-first >= 16 && IsRandom(s[first:end]) {
			return end
		}
	}
	return 0
}

// Telegram returns the end of the token of a Telegram bot at i: its number, a colon, AA and 33 more characters.
func Telegram(s string, i int) (end int) {
	end = digitSet.end(s, i, 11)
	if n := end - i; n < 8 || n > 10 || !strings.HasPrefix(s[end:], ":AA") {
		return 0
	}
	first := end + len(":AA")
	if end = urlSet.end(s, first, 40); end-first < 32 || end-first > 34 || !IsRandom(s[first:end]) {
		return 0
	}
	return end
}

const (
	AWSIDLength  = len("AKIA") + 16
	awsSecretLen = 40
)

// AWSSecret returns the end of the secret that begins at i and stands beside the id of an AWS key that ends at id, if that is not 0.
func AWSSecret(s string, id, i int) (end int) {
	if id == 0 || i-id > char.MaxBefore {
		return 0
	}
	for end = i; end < len(s) && end-i <= awsSecretLen && (char.IsAlnum(s[end]) || s[end] == '/' || s[end] == '+'); end++ {
	}
	value := s[i:end]
	if len(value) != awsSecretLen || !IsRandom(value) || IsPlaceholder(value) || strings.ToLower(value) == value || char.WordAfter(s, end) {
		return 0
	}
	return end
}

// Private returns the end of the PEM private key that begins at i.
func Private(s string, i int) (end int) {
	const begin, close = "-----BEGIN ", "PRIVATE KEY-----"
	if !strings.HasPrefix(s[i:], begin) {
		return 0
	}
	const mostName, most = 40, 32 << 10
	name := s[i+len(begin) : min(len(s), i+len(begin)+mostName)]
	at := strings.Index(name, close)
	if at < 0 {
		return 0
	}
	body := i + len(begin) + at + len(close)
	rest := s[body:min(len(s), body+most)]
	// Nothing of a key is a bracket, but a program is full of them: a marker in a comment must not hide what it does.
	if at := strings.IndexAny(rest, "(){};"); at >= 0 {
		rest = rest[:at]
	}
	tail := strings.Index(rest, "-----END ")
	if tail < 0 { // cut off: all of it rather than half
		return body + base64Run(rest)
	}
	end = body + tail + len("-----END ")
	if at := strings.Index(s[end:min(len(s), end+mostName)], close); at >= 0 {
		end += at + len(close)
	}
	return end
}

// base64Run returns the length of the base64 that a text begins with, in lines that may be indented or escaped; 0 if it is too short for a key.
func base64Run(s string) int {
	const least = 20
	end, line := 0, true // line: at its beginning
	for end < len(s) {
		c := s[end]
		switch {
		case char.IsAlnum(c) || strings.IndexByte(`+/=\`, c) >= 0:
			line = false
		case c == '\n' || c == '\r':
			line = true
		case !line || c != ' ' && c != '\t':
			s = s[:end]
			continue
		}
		end++
	}
	if end < least {
		return 0
	}
	return end
}

// webhookHosts are the beginnings of URLs that anybody who knows the rest may write to.
var webhookHosts = []string{
	"hooks.slack.com/services/", "hooks.slack.com/triggers/", "hooks.zapier.com/hooks/catch/", "discord.com/api/webhooks/", "discordapp.com/api/webhooks/",
}

// Webhook returns the secret part of the URL whose host, or bot of Telegram, begins at i.
func Webhook(s string, i int) (start, end int) {
	if strings.HasPrefix(s[i:], "bot") {
		start = i + len("bot")
		return start, Telegram(s, start)
	}
	for _, host := range webhookHosts {
		if !strings.HasPrefix(s[i:], host) {
			continue
		}
		start = i + len(host)
		end = pathSet.end(s, start, 200)
		if end-start >= 15 && strings.Contains(s[start:end], "/") && IsRandom(s[start:end]) {
			return start, end
		}
	}
	return 0, 0
}

const (
	maxUserinfo = 512
	minUserKey  = 20 // of a key in the place of the user
)

// URLPassword returns the password of the URL whose '@' is at i: postgres://user:password@host. A key may stand in the place
// of the user.
func URLPassword(s string, from, i int) (start, end int) {
	at, colon := i, -1
	for at > from && i-at < maxUserinfo {
		c := s[at-1]
		if c <= ' ' || strings.IndexByte(`/@"<>`, c) >= 0 {
			break
		}
		if at--; c == ':' {
			colon = at
		}
	}
	switch {
	case !strings.HasSuffix(s[:at], "://"):
		return 0, 0
	case colon < 0 && i-at >= minUserKey && wordSet.end(s, at, i-at) == i && IsRandom(s[at:i]):
		return at, i
	case colon < 0 || colon+1 >= i:
		return 0, 0
	}
	value := s[colon+1 : i]
	if strings.ContainsAny(value, "${}*") || !IsSecret(value) { // a placeholder or a token
		return 0, 0
	}
	return colon + 1, i
}
