package judge

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/mcpgen/mcpgen/runner/script/internal/syntax"
)

func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

var (
	// namesSQL matches names of functions, arguments and tools to which a text is SQL.
	namesSQL = pattern(`(?i:sql|query|queries|statement|stmt|exec|prepare)|(?:^|_)run(?:$|[_A-Z])|Run(?:$|_|[A-Z])|^raw|Raw`)
	// spelled matches words of code that is meant to be run.
	spelled = pattern(`\b(?:eval|exec|compile|execSync|child_process|subprocess|os\.system|__import__|import\s+\w+|require\s*\(|process\.|globalThis|Function\s*\(|popen|socket\.|fetch\s*\()|/bin/(?:ba)?sh|curl\s+\S*http|wget\s+http|rm\s+-rf|powershell`)
	// packed matches a text in base64 or hexadecimal.
	packed = pattern(`^[A-Za-z0-9+/_\-\s]{40,}={0,2}\s*$`)
	// inFormat matches a replacement field that reaches the interpreter's objects.
	inFormat = pattern(`\{[^{}]*\.__(?:globals|builtins|subclasses|code|init|class|mro|bases)__[^{}]*\}`)
	sql      = pattern(`(?i)(?:^|;)\s*(?:--[^\n]*\n\s*)*(?:drop\s+(?:table|database|schema|view|index|user|role|collection)\s+(?:if\s+exists\s+)?["'\x60\[]?[\w$.]+["'\x60\]]?(?:\s*,\s*["'\x60\[]?[\w$.]+["'\x60\]]?)*\s*(?:cascade|restrict)?\s*(?:;|--|$)|truncate\s+(?:table\s+)?["'\x60\[]?[\w$.]+["'\x60\]]?\s*(?:cascade|restart identity|;|--|$)|delete\s+from\s+["'\x60\[]?[\w$.]+["'\x60\]]?\s*(?:;|--|$|where\s+(?:1\s*=\s*1|true)\b)|update\s+["'\x60\[]?[\w$.]+["'\x60\]]?\s+set\s+[^;]+|alter\s+table\s+["'\x60\[]?[\w$.]+["'\x60\]]?\s+drop\b)`)
	where    = pattern(`(?i)\bwhere\b`)
	// private matches files that hold secrets or belong to the system.
	private = pattern(`^(?:/etc/(?:passwd|shadow|sudoers|ssh)|/proc/|/sys/|/dev/(?:mem|kmem|sd)|/root\b|/var/run/docker\.sock|/run/docker\.sock|/mcp/guest)|(?:^|/)(?:\.ssh|\.aws|\.gnupg|\.kube)/|(?:^|/)(?:id_rsa|id_ed25519|\.env|\.netrc|\.npmrc|\.pypirc|\.git-credentials)$`)
	// harmful matches shell commands that destroy data or run downloaded code.
	harmful = pattern(`\brm\s+(?:-\w*[rf]\w*\s+)+|\bmkfs|\bdd\s+.*\bof=|\b(?:curl|wget)\b.*\|\s*(?:ba|z)?sh|\bbase64\s+(?:-d|--decode).*\|\s*(?:ba)?sh|/dev/tcp/|\bnc\s+.*-e|>\s*/dev/sd|:\(\)\s*\{|\bchmod\s+(?:-R\s+)?777|\bsudo\b|\bkill(?:all)?\s+-9|\bshutdown\b|\bcrontab\b`)
)

// destroys returns the statement of a text that destroys data in a database; empty: none.
func destroys(text string) string {
	if len(text) > maxFolded {
		return ""
	}
	for _, m := range sql().FindAllString(text, 20) {
		m = strings.TrimSpace(strings.TrimLeft(m, "; \t\n"))
		if strings.HasPrefix(strings.ToLower(m), "update") && (where().MatchString(m) || !strings.Contains(m, "=")) {
			continue
		}
		return m
	}
	return ""
}

// hiddenCode returns how a text hides code; empty: it does not.
func hiddenCode(text string) string {
	if len(text) < 24 || len(text) > maxFolded {
		return ""
	}
	if packed().MatchString(text) {
		if plain, ok := fromHex(strings.TrimSpace(text)); ok && isCode(plain) {
			return "hexadecimal"
		}
		if plain, ok := fromBase64(text); ok && isCode(plain) {
			return "base64"
		}
	}
	return ""
}

// isCode reports whether a decoded text looks like code.
func isCode(text string) bool { return isPrintable(text) && spelled().MatchString(text) }

func isPrintable(text string) bool {
	bad := 0
	for _, r := range text {
		if r == unicode.ReplacementChar || r < ' ' && r != '\n' && r != '\t' && r != '\r' {
			bad++
		}
	}
	return text != "" && bad*50 <= len(text)
}

// numbersAsText returns the text whose character codes are the numbers of a list.
func numbersAsText(n *syntax.Node) string {
	if len(n.Kids) < 4 || len(n.Kids) > maxFolded {
		return ""
	}
	var b strings.Builder
	for _, kid := range n.Kids {
		code, err := strconv.Atoi(kid.Text)
		if kid.Kind != syntax.Number || err != nil || code < 9 || code > 126 {
			return ""
		}
		b.WriteByte(byte(code))
	}
	return b.String()
}

// opaque reports whether a text is a payload that nobody can read: long, of one word, with a high entropy, and not the beginning of
// a picture or document.
func opaque(text string) bool {
	const long, high = 2000, 4.5
	if len(text) < long || strings.ContainsAny(text[:long], " \n\t") || entropy(text[:long]) < high {
		return false
	}
	for _, known := range []string{"iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR", "JVBERi0", "UEsDB", "data:", "AAAB", "T2dnUw", "SUQz"} {
		if strings.HasPrefix(text, known) {
			return false
		}
	}
	return true
}

// entropy returns the bits of information in a byte of a text.
func entropy(text string) float64 {
	var counts [256]int
	for i := range len(text) {
		counts[text[i]]++
	}
	bits := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(text))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}

// source finds what only the text of a file shows.
func (a *analysis) source() {
	if i := strings.IndexFunc(a.text, bidirectional); i >= 0 {
		before := a.text[:i]
		a.addAt(Fact{Rule: "hidden-text", Line: strings.Count(before, "\n") + 1, Column: i - strings.LastIndexByte(before, '\n'), Text: "invisible characters reorder the displayed text"})
	}
	a.symbols()
}

// spells reports whether a literal holds a word of code that nobody sees in the text of the file: it is written with escapes.
func (a *analysis) spells(text string) bool {
	const most = 1000 // words, each of which may be searched in the whole text
	for _, word := range spelled().FindAllString(text, 10) {
		if a.words++; a.words < most && !strings.ContainsAny(word, " \t\n") && !strings.Contains(a.text, word) {
			return true
		}
	}
	return false
}

func bidirectional(r rune) bool {
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// symbols finds code that is made of brackets and signs only.
func (a *analysis) symbols() {
	const least = 300
	run := 0
	for i := range len(a.text) {
		switch c := a.text[i]; {
		case strings.IndexByte("[]()!+{}$", c) >= 0:
			if run++; run == least {
				a.addAt(Fact{Rule: "obfuscation", Line: strings.Count(a.text[:i], "\n") + 1, Column: 1, Text: "code consists of brackets and punctuation only"})
				return
			}
		case c != ' ' && c != '\n' && c != '\t' && c != '\r':
			run = 0
		}
	}
}
