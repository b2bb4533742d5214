package approve

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// Start describes a script that needs approval before it starts. What was found by reading the script is hostile.
type Start struct {
	// Why says why the script has its risk.
	Why string `json:"why,omitempty"`
	// Files are the files that the script writes or deletes. Hosts and Commands are the ones that it uses.
	Files    []string `json:"files"`
	Hosts    []string `json:"hosts"`
	Commands []string `json:"commands"`
	// Tools are the ids of the tools that it calls, including those that only read.
	Tools []string `json:"tools"`
	// Reversible says whether the script's changes can be undone: yes, no or unknown.
	Reversible string `json:"reversible"`
}

// Bounds of what is shown of a script: characters of its text, names of each kind, and characters of a name.
const (
	maxBeginning = 200
	maxNames     = 5
	maxName      = 100
)

// lines describes the script.
func (s *Start) lines(q *Question) []string {
	reversible := s.Reversible
	if reversible != "yes" && reversible != "no" {
		reversible = "no (not known)"
	}
	lines := []string{
		"Action: run the script " + visible(q.Script),
		fmt.Sprintf("Affects: %s, %s, %s", q.affected(s.Files, "file"), q.affected(s.Hosts, "host"), q.affected(s.Commands, "command")),
		"Calls: " + q.affected(s.Tools, "tool"),
		"Reversible: " + reversible,
	}
	head := "Code:"
	if n := utf8.RuneCountInString(q.Code); n > maxBeginning {
		head = fmt.Sprintf("Code, its first %d characters of %d:", maxBeginning, n)
	}
	lines = append(lines, head)
	for line := range strings.Lines(q.shown(ident.First(q.Code, maxBeginning))) {
		lines = append(lines, "  "+visible(strings.ReplaceAll(strings.TrimRight(line, "\r\n"), "\t", "  ")))
	}
	return lines
}

// affected returns how many names there are, and the first of them.
func (q *Question) affected(names []string, what string) string {
	if len(names) != 1 {
		what += "s"
	}
	text := fmt.Sprintf("%d %s", len(names), what)
	if len(names) == 0 {
		return text
	}
	var shown []string
	for _, name := range names[:min(len(names), maxNames)] {
		shown = append(shown, visible(ident.Clip(q.shown(name), maxName)))
	}
	if len(names) > maxNames {
		shown = append(shown, "…")
	}
	return text + " (" + strings.Join(shown, ", ") + ")"
}
