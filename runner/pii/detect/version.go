package detect

import (
	"strings"

	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/char"
	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/lexicon"
)

// isVersion reports whether the dotted numbers from i to end are the version of a program or the number of a section. The name, operator or
// word before them decides. After an unknown word, small numbers are a version.
func (f *finder) isVersion(i, end int) bool {
	s := f.s
	if f.field == version {
		return true
	}
	if i > 1 && (s[i-1] == '/' && f.isProduct(i) || // Chrome/120.0.0.0
		s[i-1] == '=' && strings.IndexByte("=<>~!", s[i-2]) >= 0) { // ==1.2.3.4
		return true
	}
	before := f.wordsBefore(i)
	if s[i] <= '2' && s[i+1] == '.' && strings.Contains(before.text, "oid") {
		return true // of ITU-T and ISO
	}
	small := isSmall(s, i, end)
	if small && (strings.HasSuffix(s[i:end], ".0.0") || precedesDate(s, end)) {
		return true
	}
	unknown := false
	for range maxWords {
		w := before.next()
		if rest, ok := strings.CutSuffix(before.text, ","); w == "" && small && ok {
			before.text = rest
			continue
		}
		switch {
		case w == "":
			return small && (unknown || isTitle(s, i, end))
		case lexicon.Words()["machine"][w] || char.HasAnySuffix(w, "ip", "host", "addr"):
			return false
		case lexicon.Words()["version"][w] || strings.HasSuffix(w, "version"):
			return true
		case !lexicon.Words()["before-address"][w]:
			unknown = true
		case !small:
			return false
		}
	}
	return small && unknown
}

// isSmall reports whether none of the dotted numbers exceeds 63 and they are not a recognisable address: a private one, a resolver, or one
// followed by a port or prefix length.
func isSmall(s string, i, end int) bool {
	text := s[i:end]
	for part := range strings.SplitSeq(text, ".") {
		if char.Atoi(part) > 63 {
			return false
		}
	}
	switch text {
	case "1.1.1.1", "1.0.0.1", "8.8.8.8", "8.8.4.4", "9.9.9.9", "4.2.2.2":
		return false
	}
	if end+1 < len(s) && (s[end] == ':' || s[end] == '/') && char.IsDigit(s[end+1]) {
		return false
	}
	if strings.HasSuffix(s[:i], "@") || strings.HasSuffix(s[:i], "//") {
		return false
	}
	return !strings.HasPrefix(text, "10.")
}

// precedesDate reports whether a date follows immediately, as in changelogs.
func precedesDate(s string, end int) bool {
	rest := strings.TrimLeft(s[end:min(len(s), end+12)], " |,;/-–()[]\t")
	return len(rest) > 4 && (rest[:2] == "20" || rest[:2] == "19") && char.IsDigit(rest[2]) && char.IsDigit(rest[3]) && (rest[4] == '-' || rest[4] == '/')
}

// isTitle reports whether dotted numbers are the number of a section: they begin a line and a capitalised word follows, or they begin a
// comment.
func isTitle(s string, i, end int) bool {
	line := i
	for line > 0 && i-line < char.MaxBefore && strings.IndexByte(" \t/*#;%", s[line-1]) >= 0 {
		line--
	}
	if line > 0 && s[line-1] != '\n' {
		return false
	}
	rest := strings.TrimLeft(s[end:min(len(s), end+6)], ": ")
	return strings.Contains(s[line:i], "//") || len(rest) > 1 && char.IsUpper(rest[0]) && rest[1] >= 'a' && rest[1] <= 'z'
}

// isProduct reports whether the slash before i follows the name of a program rather than a part of a path.
func (f *finder) isProduct(i int) bool {
	at := i - 1
	for at > f.from && i-at < char.MaxBefore && (char.IsAlnum(f.s[at-1]) || strings.IndexByte("._-", f.s[at-1]) >= 0) {
		at--
	}
	return at < i-1 && (at == 0 || f.s[at-1] != '/')
}
