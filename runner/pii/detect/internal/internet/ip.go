package internet

import (
	"net/netip"
	"strings"

	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/char"
)

// MappedStart returns the beginning of the IPv6 form of the IPv4 address at i: ::ffff:10.0.0.1.
func MappedStart(s string, from, i int) int {
	const prefix = "::ffff:"
	at := i - len(prefix)
	if at < from || !strings.EqualFold(s[at:i], prefix) || char.WordBefore(s, at) || at > 0 && s[at-1] == ':' {
		return i
	}
	return at
}

// IPv4 returns the end of the dotted address that begins at i.
func IPv4(s string, i int) (end int) {
	dots := 0
	for end = i; end < len(s) && end-i <= len("255.255.255.255") && (char.IsDigit(s[end]) || s[end] == '.' && dots < 3); end++ {
		if s[end] == '.' {
			dots++
		}
	}
	if dots != 3 || char.WordAfter(s, end) || end+1 < len(s) && (s[end] == '.' && char.IsAlnum(s[end+1]) || s[end] == '-' && char.IsLetter(s[end+1])) {
		return 0
	}
	a, err := netip.ParseAddr(s[i:end])
	if err != nil {
		return 0
	}
	if first := a.As4()[0]; first == 0 || first == 127 || first >= 240 { // reserved, and netmasks
		return 0
	}
	return end
}

// IPv6 returns the end of the address that begins at i: a global, unique local, link-local or multicast one.
func IPv6(s string, i int) (end int) {
	if i > 0 && (s[i-1] == ':' || s[i-1] == '.') {
		return 0
	}
	colons := 0
	for end = i; end < len(s) && end-i <= 45; end++ {
		if s[end] == ':' {
			colons++
		} else if !char.IsHex(s[end]) && (s[end] != '.' || colons == 0) {
			break
		}
		if end-i > 4 && colons == 0 {
			return 0
		}
	}
	for end > i && (s[end-1] == '.' || s[end-1] == ':' && (end-2 < i || s[end-2] != ':')) {
		end--
	}
	if colons < 2 || char.WordAfter(s, end) {
		return 0
	}
	a, err := netip.ParseAddr(s[i:end])
	if err != nil || !a.Is6() || a.IsLoopback() || a.IsUnspecified() {
		return 0
	}
	if strings.HasPrefix(s[i:end], "64:ff9b::") { // a translated IPv4 address
		return end
	}
	b := a.As16()
	if b[0]>>5 == 1 || b[0] == 0xfd || b[0] == 0xfe || b[0] == 0xff && b[1] <= 0x7f {
		return end
	}
	return 0
}
