package key

import (
	"strings"

	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/char"
	"github.com/mcpgen/mcpgen/runner/pii/detect/internal/lexicon"
)

// IsSecret reports whether the value of a member that is named like a secret is a secret. It is false for a word that describes one,
// as in schemas and forms, and for a placeholder, as in documentation.
func IsSecret(s string) bool {
	if lexicon.Words()["not-secret"][strings.ToLower(s)] || strings.Trim(s, "*•xX.") == "" {
		return false
	}
	return !IsToken(s) && !IsPlaceholder(s) && (strings.Count(s, "/") < 2 || IsRandom(s))
}

// IsPlaceholder reports whether a text stands for a secret: ${SECRET}, <token>, YOUR_API_KEY, sk_live_...
func IsPlaceholder(s string) bool {
	if len(s) > 80 {
		return false
	}
	last := s[len(s)-1]
	switch {
	case s[0] == '<' && last == '>', s[0] == '[' && last == ']', s[0] == '{' && last == '}', s[0] == '%' && last == '%',
		strings.HasPrefix(s, "${"), strings.HasPrefix(s, "$("), strings.HasPrefix(s, "#{"), strings.HasPrefix(s, "%("), strings.HasPrefix(s, "<%"),
		char.HasAnySuffix(s, "...", "…"), strings.Contains(s, "EXAMPLE"), strings.Contains(s, "&lt;"), strings.Contains(s, "xxxxxx"), strings.Contains(s, "XXXXXX"):
		return true
	}
	if strings.IndexByte("yYmMiIrR", s[0]) < 0 {
		return false
	}
	low := strings.ToLower(s)
	for _, w := range []string{"your", "my", "insert", "replace"} {
		if rest, ok := strings.CutPrefix(low, w); ok && rest != "" && !char.IsAlnum(rest[0]) && !strings.ContainsAny(rest, "0123456789") {
			return true
		}
	}
	return false
}

// IsToken reports whether a text is one of the tokens that stand for personal data, such as [EMAIL_1].
func IsToken(s string) bool {
	return len(s) > 2 && s[0] == '[' && s[len(s)-1] == ']' && strings.Trim(s[1:len(s)-1], "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == ""
}
