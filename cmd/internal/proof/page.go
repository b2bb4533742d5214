package main

import (
	"fmt"
	"os"
	"strings"
)

// The lines of a Markdown file between which the tables stand.
const (
	pageBegin = "<!-- measured: begin -->"
	pageEnd   = "<!-- measured: end -->"
)

// intoPage puts the tables between the markers of a Markdown file. Times are left out: they differ from run to run.
func (r *report) intoPage(path string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(page), pageBegin+"\n")
	_, after, closed := strings.Cut(rest, pageEnd)
	if !ok || !closed {
		return fmt.Errorf("%s has no lines %q and %q for the tables", path, pageBegin, pageEnd)
	}
	return os.WriteFile(path, []byte(before+pageBegin+"\n"+r.markdown()+pageEnd+after), 0o644)
}

// markdown are the tables.
func (r *report) markdown() string {
	var b strings.Builder
	b.WriteString("\nAll definitions together, in tokens: ")
	for i, tools := range r.Sizes {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s for %s tools", thousands(r.Catalog[i]), thousands(tools))
	}
	b.WriteString(".\n\n| Tools | Tasks | Way | In | Out | Fewer, read once | Least | Fewer, billed | Fewer, with a cache | Calls | Turns |\n|--:|---|---|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, t := range r.Totals {
		saved := "| | | | "
		if t.Way != direct {
			saved = fmt.Sprintf("| %.2f %% | %.1f %% | %.1f %% | %.1f %% ", t.Saved, t.SavedLeast, t.SavedBilled, t.SavedCached)
		}
		fmt.Fprintf(&b, "| %s | %d %s | %s | %s | %s %s| %d | %d |\n", thousands(t.Tools), t.Tasks, t.Kind, t.Way, thousands(t.In), thousands(t.Out), saved, t.Calls, t.Turns)
	}
	b.WriteString("\nEach task with " + thousands(r.Sizes[min(len(r.Sizes)-1, 2)]) + " tools, in tokens read once, the worst for code first:\n\n| Task | Kind | Direct | Search | Code | Fewer by code |\n|---|---|--:|--:|--:|--:|\n")
	for _, l := range r.worstFirst() {
		if l.tools == r.Sizes[min(len(r.Sizes)-1, 2)] {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %.2f %% |\n", l.task, l.kind, thousands(l.read[0]), thousands(l.read[1]), thousands(l.read[2]), l.saved)
		}
	}
	if len(r.Serve) > 0 {
		b.WriteString("\nWhat the definitions of `mcprun serve` cost, before anything is done:\n\n| Tools in the catalog | All, with the index | `--tools code` | `--tools code --index-tokens 0` |\n|--:|--:|--:|--:|\n")
		for _, f := range r.Serve {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", thousands(f.Tools), thousands(f.All), thousands(f.Code), thousands(f.Bare))
		}
	}
	b.WriteString("\n")
	return b.String()
}
