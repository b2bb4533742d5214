package render

import (
	"regexp"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/ir"
)

// fieldText is what is said of a property: its description, or a title that says more than its name, and its limits.
func fieldText(name string, d ir.Doc, t ir.Type, lang language) string {
	text := body(d.Description)
	if text == "" && !sameWords(d.Title, name) {
		text = body(d.Title)
	}
	limits := slices.DeleteFunc(slices.Clone(d.Limits), func(l string) bool { return repeats(text, l) })
	if lang == typeScript && text == "" && len(limits) == 0 && isInteger(t) {
		limits = []string{"integer"} // other texts tell that a number is one that counts or names something
	}
	if d.Deprecated {
		limits = append([]string{"deprecated"}, limits...)
	}
	switch list := strings.Join(limits, ", "); {
	case list == "":
		return text
	case text == "":
		return list
	default:
		return text + " (" + list + ")"
	}
}

// repeats reports whether text has said what limit says: a default that its description mentions, bounds whose numbers
// are all in it.
func repeats(text, limit string) bool {
	lower := strings.ToLower(text)
	if value, ok := strings.CutPrefix(limit, "default "); ok {
		return strings.Contains(lower, "default") && strings.Contains(lower, strings.ToLower(strings.Trim(value, `"`)))
	}
	if !boundWords.MatchString(lower) || !boundLimit.MatchString(limit) {
		return false
	}
	said := boundNumbers.FindAllString(text, -1)
	return !slices.ContainsFunc(boundNumbers.FindAllString(limit, -1), func(n string) bool { return !slices.Contains(said, n) })
}

var (
	boundWords   = regexp.MustCompile(`\b(min|max|minimum|maximum|least|most|between|from|up to|range|greater|less|positive|than)\b|[<>≤≥]|\d ?(-|–|to|\.\.) ?\d`)
	boundLimit   = regexp.MustCompile(`^(at least |at most |[<>]=? |-?[\d.]+\.\.)`)
	boundNumbers = regexp.MustCompile(`-?\d+`)
)

func isInteger(t ir.Type) bool {
	switch t := t.(type) {
	case ir.Number:
		return t.Integer
	case ir.Union:
		return slices.ContainsFunc(t.Members, isInteger)
	}
	return false
}

// sameWords reports whether two names differ in nothing but case and punctuation.
func sameWords(a, b string) bool {
	squash := func(s string) string { return strings.ReplaceAll(ident.Snake(s), "_", "") }
	return a == "" || squash(a) == squash(b)
}

// body is one text as it stands in documentation, without the indentation it had where it was written.
func body(text string) string { return strings.Join(tidy(cut(text, maxDoc)), "\n") }

// toolDoc is how much every wrapper may repeat of its tool's description, in characters; [docRoom] gives those more
// that stand for a large definition. The whole text is in the catalog beside the tree.
const toolDoc = 100

// toolText is what is said of a tool: description, else title; hints, and its own name where the function's hides it.
func toolText(t Tool, function string, limit int) string {
	var parts []string
	if description := body(t.Description); description != "" {
		parts = append(parts, beginning(description, limit))
	} else if !sameWords(t.Title, t.Name) {
		parts = append(parts, beginning(body(t.Title), limit))
	}
	if !sameWords(t.Name, function) {
		parts = append(parts, "Tool name: "+quote(typeScript, cut(t.Name, 200)))
	}
	text := strings.Join(parts, "\n")
	if hints := hintText(t.Hints); hints != "" {
		text = strings.TrimSpace(text + " (" + hints + ")")
	}
	return text
}

// beginning returns text where it has up to limit characters, and else as many of its sentences as fit, or words where
// the first sentence does not, with a mark.
func beginning(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	head := string(runes[:limit])
	end := max(strings.LastIndex(head, ". ")+1, strings.LastIndex(head, ".\n")+1, strings.LastIndex(head, "\n"))
	if end < len(head)*2/5 {
		end = max(strings.LastIndex(head, " "), 0)
	}
	if end == 0 {
		end = len(head)
	}
	return strings.TrimRight(head[:end], " \n") + " …"
}

func hintText(h Hints) string {
	var words []string
	said := func(b *bool) bool { return b != nil && *b }
	switch {
	case said(h.ReadOnly):
		words = append(words, "read-only")
	case said(h.Destructive):
		words = append(words, "destructive")
	case h.Destructive != nil:
		words = append(words, "not destructive")
	}
	if said(h.Idempotent) && !said(h.ReadOnly) {
		words = append(words, "idempotent")
	}
	return strings.Join(words, ", ")
}

// shortText is the line that stands for a tool in lists.
func shortText(t Tool) string {
	if strings.TrimSpace(t.Description) != "" {
		return t.Description
	}
	if !sameWords(t.Title, t.Name) {
		return t.Title
	}
	return ""
}

// serverText heads a server's index.
func serverText(s Server) string {
	const limit = 800 // instructions are read each time the index is
	var parts []string
	if title := strings.TrimSpace(s.Title); !sameWords(title, s.Key) {
		parts = append(parts, cut(title, limit))
	}
	if text := strings.TrimSpace(s.Instructions); text != "" {
		parts = append(parts, cut(text, limit))
	}
	return strings.Join(parts, "\n")
}
