package adopt

import (
	"regexp"
	"strings"
	"unicode"
)

// Whether a text is a secret is a guess. A needless variable is preferred to a missing one, because a token that was checked in cannot be
// taken back.

// strongWords are words in a name that make its value a secret, unless it is trivial or a path.
func strongWords() []string {
	return []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "APIKEY", "CREDENTIAL", "CREDENTIALS", "BEARER", "AUTHORIZATION"}
}

// weakWords are words in a name that make its value a secret if it has the form of one.
func weakWords() []string {
	return []string{"KEY", "AUTH", "COOKIE", "SESSION", "PAT", "PRIVATE", "DSN", "PWD", "PASS", "SIGNATURE", "SIG", "CODE", "JWT"}
}

// known matches the beginnings of tokens of well-known services.
func known() *regexp.Regexp {
	return regexp.MustCompile(`^(sk-|sk_|rk_|pk_live_|whsec_|gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|xapp-|AKIA|ASIA|AIza|ya29\.|1//|eyJ[\w-]{8,}\.|npm_|hf_|pypi-|dop_v1_|shp(at|ss|ca)_|SG\.|lin_api_|ntn_|secret_|figd_|tvly-|fc-|pat-|dckr_pat_|-----BEGIN)`)
}

// words splits a name at everything but letters and digits, and before capitals that begin a word.
func words(name string) []string {
	var out strings.Builder
	last := rune(0)
	for _, r := range name {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			out.WriteByte(' ')
		case unicode.IsUpper(r) && unicode.IsLower(last):
			out.WriteString(" " + string(r))
		default:
			out.WriteRune(unicode.ToUpper(r))
		}
		last = r
	}
	return strings.Fields(out.String())
}

// secretNamed reports whether a value is a secret by its name or its form.
func secretNamed(name, value string) bool {
	if trivial(value) {
		return false
	}
	if looksSecret(value) || passwordIn(value) {
		return true
	}
	parts := words(name)
	if len(parts) > 0 {
		switch parts[len(parts)-1] {
		case "FILE", "PATH", "DIR", "URL", "URI", "ENDPOINT", "HOST", "TYPE", "NAME", "METHOD", "MODE", "LIMIT", "TTL", "LIFETIME", "EXPIRY":
			return false
		}
	}
	joined := " " + strings.Join(parts, " ") + " "
	for _, w := range strongWords() {
		if strings.Contains(joined, " "+w+" ") || strings.Contains(joined, " "+w+"S ") {
			return !isPath(value)
		}
	}
	for _, w := range []string{"API KEY", "ACCESS KEY", "PRIVATE KEY", "CONNECTION STRING"} {
		if strings.Contains(joined, " "+w+" ") {
			return !isPath(value)
		}
	}
	for _, w := range weakWords() {
		if strings.Contains(joined, " "+w+" ") {
			return len(value) >= 8 && !isPath(value) && strings.ContainsAny(value, "0123456789") && !strings.Contains(value, "://")
		}
	}
	return false
}

// trivial reports whether a value is not a secret, whatever its name.
func trivial(value string) bool {
	switch strings.ToLower(value) {
	case "", "true", "false", "yes", "no", "on", "off", "none", "null", "auto", "default", "oauth", "bearer", "basic":
		return true
	}
	return len(value) <= 5 && strings.Trim(value, "0123456789.") == "" || hasVariable(value)
}

// hasVariable reports whether a text refers to a variable. The rest of the text then is not a secret.
func hasVariable(s string) bool {
	for {
		_, rest, found := strings.Cut(s, "${")
		if !found {
			return false
		}
		if !strings.HasPrefix(rest, ":-") {
			return true
		}
		s = rest
	}
}

func isPath(value string) bool {
	if looksSecret(value) {
		return false
	}
	return strings.HasPrefix(value, "/") || strings.HasPrefix(value, "./") || strings.HasPrefix(value, "../") || strings.HasPrefix(value, "~") ||
		len(value) > 2 && value[1] == ':' && (value[2] == '\\' || value[2] == '/')
}

// looksSecret reports whether a text has the form of a token: the beginning of one, or a long run of mixed letters and digits
// that is not a digest or a commit.
func looksSecret(value string) bool {
	if len(value) >= 10 && known().MatchString(value) {
		return true
	}
	return longRun(value)
}

func longRun(value string) bool {
	if strings.Contains(value, "://") || hasVariable(value) {
		return false
	}
	uuid := regexp.MustCompile(`(?i)(^|[^0-9a-f])[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}($|[^0-9a-f])`)
	if uuid.MatchString(value) {
		return true
	}
	for _, at := range regexp.MustCompile(`[A-Za-z0-9]{16,}`).FindAllStringIndex(value, -1) {
		run, before := value[at[0]:at[1]], value[:at[0]]
		if strings.HasSuffix(before, "@") || strings.HasSuffix(before, "sha256:") || strings.HasSuffix(before, "sha512-") {
			continue
		}
		digits := strings.IndexFunc(run, unicode.IsDigit) >= 0
		lower := strings.IndexFunc(run, unicode.IsLower) >= 0
		upper := strings.IndexFunc(run, unicode.IsUpper) >= 0
		if digits && lower && upper || digits && (lower || upper) && len(run) >= 20 && changes(run) >= 5 {
			return true
		}
	}
	return false
}

// changes counts the changes between letters and digits. A token has many, and a word with a number has few.
func changes(s string) int {
	n := 0
	for i := 1; i < len(s); i++ {
		if unicode.IsDigit(rune(s[i])) != unicode.IsDigit(rune(s[i-1])) {
			n++
		}
	}
	return n
}

// passwordIn reports whether an address contains a password.
func passwordIn(value string) bool { return userinfo().MatchString(value) }

// userinfo matches the password of an address: scheme://user:password@host.
func userinfo() *regexp.Regexp { return regexp.MustCompile(`://[^/@\s:]*:([^/@\s]+)@`) }
