// Package internet reads e-mail and IP addresses.
package internet

import (
	"net/netip"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/publicsuffix"

	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/char"
)

const (
	maxLocal  = 64  // RFC 5321, 4.5.3.1
	maxDomain = 253 // RFC 1035
)

// Email returns the e-mail address whose '@' is at i. It examines nothing before from.
func Email(s string, from, i int) (start, end int) {
	if i > from && s[i-1] == '"' {
		start = quotedLocal(s, from, i)
	} else {
		start = plainLocal(s, from, i)
	}
	if start < 0 {
		return 0, 0
	}
	if end = addressLiteral(s, i+1); end == 0 {
		end = domain(s, i+1)
	}
	if end == 0 || s[start:i] == "git" && end < len(s) && (s[end] == ':' || s[end] == '/') { // address of a repository
		return 0, 0
	}
	return start, end
}

// quotedLocal returns the beginning of the quoted local part before the '@' at i ("first last"@…), or -1.
func quotedLocal(s string, from, i int) int {
	start := i - 1
	for {
		if start == from || i-start > maxLocal || s[start-1] < ' ' {
			return -1
		}
		if start--; s[start] == '"' && (start == from || s[start-1] != '\\') {
			break
		}
	}
	if i-start < 3 || char.WordBefore(s, start) || start > 0 && strings.IndexByte("=:", s[start-1]) >= 0 {
		return -1
	}
	return start
}

// plainLocal returns the beginning of the unquoted local part before the '@' at i, or -1.
func plainLocal(s string, from, i int) int {
	start := localStart(s, from, i)
	for start < i && !(char.IsAlnum(s[start]) || s[start] == '_' || s[start] >= utf8.RuneSelf) {
		start++
	}
	local := s[start:i]
	if local == "" || local[len(local)-1] == '.' || strings.Contains(local, "..") {
		return -1
	}
	return start
}

// localStart returns the first position from which only characters of a local part lead to the '@' at i.
func localStart(s string, from, i int) int {
	latin := false
	for start := i; ; {
		if start == from || i-start >= maxLocal {
			return start
		}
		if c := s[start-1]; c < utf8.RuneSelf {
			if !(isLocal(c) && !char.IsEscape(s, start-1)) && !(c == '=' && latin && isReturnPath(s, from, start-1)) {
				return start
			}
			latin = latin || char.IsAlnum(c)
			start--
			continue
		}
		r, n := utf8.DecodeLastRuneInString(s[max(from, start-utf8.UTFMax):start])
		if !char.IsWordRune(r) || latin && char.IsSpaceless(r) {
			return start
		}
		start -= n
	}
}

// isLocal reports whether a character is common in local parts. RFC 5322 allows more.
func isLocal(c byte) bool { return char.IsAlnum(c) || strings.IndexByte("._%+-'~#!$*^", c) >= 0 }

// isReturnPath reports whether the '=' at i is in the middle of a bounce address, which contains another address:
// bounces+ann=example.com@lists.example.org.
func isReturnPath(s string, from, i int) bool {
	at := i
	for at > from && i-at < maxLocal && isLocal(s[at-1]) {
		at--
	}
	return strings.IndexByte(s[at:i], '+') > 0
}

// addressLiteral returns the end of the address in brackets at i: [192.0.2.1], [IPv6:2001:db8::1] (RFC 5321, 4.1.3).
func addressLiteral(s string, i int) (end int) {
	if i >= len(s) || s[i] != '[' {
		return 0
	}
	literal, _, ok := strings.Cut(s[i+1:min(len(s), i+64)], "]")
	if !ok {
		return 0
	}
	if _, err := netip.ParseAddr(strings.TrimPrefix(literal, "IPv6:")); err != nil {
		return 0
	}
	return i + len(literal) + 2
}

// domain returns the end of the domain name that begins at i, or 0 if mail cannot be sent to it.
func domain(s string, i int) (end int) {
	dot, labelStart := -1, i // dot is the last dot within the name
	for end = i; end < len(s) && end-i <= maxDomain; end++ {
		c := s[end]
		if c == '.' {
			if end == labelStart || end+1 >= len(s) || !(char.IsAlnum(s[end+1]) || s[end+1] >= utf8.RuneSelf) {
				break
			}
			dot, labelStart = end, end+1
		} else if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[end:])
			if !char.IsWordRune(r) || char.IsSpaceless(r) && end > labelStart && s[end-1] < utf8.RuneSelf {
				break
			}
			end += n - 1
		} else if !char.IsAlnum(c) && c != '-' {
			break
		}
	}
	for end > labelStart && s[end-1] == '-' {
		end--
	}
	if dot < 0 || end-i > maxDomain || s[i] == '-' || strings.Contains(s[i:end], "-.") || strings.Contains(s[i:end], ".-") {
		return 0
	}
	if isTopLevel(s[dot+1 : end]) {
		return end
	}
	if last := strings.LastIndexByte(s[i:dot], '.'); last > 0 && isTopLevel(s[i+last+1:dot]) { // a file is named after an address: ann@example.com.txt
		return dot
	}
	return 0
}

// isTopLevel reports whether a name is a top-level domain, or one reserved for examples and internal networks.
func isTopLevel(name string) bool {
	if len(name) < 2 || char.IsDigit(name[0]) {
		return false
	}
	name = strings.ToLower(name)
	switch name {
	case "local", "localdomain", "internal", "intranet", "corp", "lan", "home", "private", "test", "example", "invalid", "localhost":
		return true
	}
	if name[0] >= utf8.RuneSelf { // no file has such an extension
		return true
	}
	_, icann := publicsuffix.PublicSuffix("x." + name)
	return icann
}
