// Package text cleans, cuts and quotes servers' text for generated files. Text from a server reaches a file through three functions only:
// [Lines], from which each language builds its comments, [Quote] for string literals, and package ident for identifiers.
package text

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// Max bounds one documentation text, in characters. The whole text is in the catalog beside the tree.
const Max = 2000

// Lines returns the lines of s for a comment. There are none if s is blank. No line contains a line end, a control character or a
// bidirectional character. The caller must still escape what ends a comment in its language, or is a directive there.
func Lines(s string) []string { return Tidy(Cut(s, 2*Max, "")) } // callers cut at Max; this also bounds what they add

// Join joins the texts that are not empty, one per line.
func Join(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), "\n")
}

// The forms in which [Quote] escapes a character above U+FFFF.
const (
	Braces = `\u{%x}` // TypeScript
	Long   = `\U%08x` // Python
)

// Quote returns s as a string literal in quotation marks. It escapes whatever does not print, and whatever would be a directive outside a
// string. astral is [Braces] or [Long].
func Quote(s, astral string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case ident.Visible(r):
			b.WriteRune(r)
		case r <= 0xFFFF:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, astral, r)
		}
	}
	b.WriteByte('"')
	// Bundlers, and mcprun itself, look for this word without checking whether it is in a string.
	return strings.ReplaceAll(b.String(), "sourceMappingURL", `source\u004dappingURL`)
}

// Tidy returns the lines of text, squeezed, without invisible characters and without their common indentation.
func Tidy(text string) []string {
	lines := strings.Split(ident.CleanText(text), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return Squeeze(dedent(lines))
}

// dedent removes the common indentation of all lines after the first.
func dedent(lines []string) []string {
	common := -1
	for _, line := range lines[1:] {
		if line == "" {
			continue
		}
		if n := len(line) - len(strings.TrimLeft(line, " ")); common < 0 || n < common {
			common = n
		}
	}
	out := []string{strings.TrimLeft(lines[0], " ")}
	for _, line := range lines[1:] {
		out = append(out, line[min(max(common, 0), len(line)):])
	}
	return out
}

// Squeeze drops blank lines at both ends, and reduces successive blank lines to one.
func Squeeze(lines []string) []string {
	var out []string
	for _, line := range lines {
		if line == "" && (len(out) == 0 || out[len(out)-1] == "") {
			continue
		}
		out = append(out, line)
	}
	for len(out) > 0 && out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}

// Cut shortens text to limit characters, and adds a note. If stored is not "", the note names this file as the place of the whole text. If
// the text ends with a part about the result, up to half of the characters are kept for the beginning of that part.
func Cut(text string, limit int, stored string) string {
	if len(text) <= limit || utf8.RuneCountInString(text) <= limit {
		return text
	}
	mark := "\n… (cut)"
	if stored != "" {
		mark = "\n… (cut; the whole text is in " + stored + ")"
	}
	head, result := text, ""
	if at := returnsHeader.FindStringIndex(text[:min(len(text), MaxRead)]); at != nil {
		head, result = text[:at[0]], text[at[0]:]
	}
	end := first(result, max(limit/2, limit-utf8.RuneCountInString(head)))
	begin := first(head, limit-utf8.RuneCountInString(end))
	switch {
	case begin == head:
		return begin + end + mark
	case end == result:
		return begin + mark + "\n" + end
	default:
		return begin + mark + "\n" + end + "\n…"
	}
}

// MaxRead bounds the descriptions that are searched for their parts, in bytes.
const MaxRead = 64 << 10

// returnsHeader matches the line where a description begins to describe the result: "Returns:", "**Returns:** text", "## Returns",
// ":returns: text", "@returns text".
var returnsHeader = regexp.MustCompile(`(?im)^[ \t#*_]*(?:returns?[ *_]*:|returns[ *_]*$|[:@]returns?\b)`)

// first returns at most limit characters of text, cut at the end of a word if possible.
func first(text string, limit int) string {
	begin := ident.First(text, limit)
	if begin == text {
		return text
	}
	if end := strings.LastIndexAny(begin, " \n"); end > len(begin)/2 {
		begin = begin[:end]
	}
	return strings.TrimRight(begin, " \n")
}

// Summary returns the beginning of a comment's lines as one short line: its first sentence, or at most limit characters.
func Summary(lines []string, limit int) string {
	if len(lines) == 0 {
		return ""
	}
	line := strings.TrimSpace(lines[0])
	if i := sentenceEnd(line); i > 0 && i <= limit {
		line = line[:i]
	}
	if ident.First(line, limit) != line {
		line = strings.TrimRight(ident.First(line, limit-1), " ") + "…"
	}
	return line
}

// notLast matches a word with a full stop that does not end a sentence: an abbreviation, an initial, a number in a list.
var notLast = regexp.MustCompile(`(?i)(?:^|[^\pL\pN.])(?:e\.g|i\.e|etc|vs|cf|incl|excl|approx|resp|no|max|min|\pL|\pN+)\.$`)

// sentenceEnd returns the end of the first sentence in a line, or 0 if the line has only one.
func sentenceEnd(line string) int {
	for i := 0; i < len(line); {
		n := strings.Index(line[i:], ". ")
		if n < 0 {
			return 0
		}
		i += n + 1
		if !notLast.MatchString(line[:i]) {
			return i
		}
	}
	return 0
}
