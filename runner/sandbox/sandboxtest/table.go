package sandboxtest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// Table returns the attacks of the suite and the result of each backend, in Markdown, for docs/internals/attacks.md.
func Table() string {
	var b strings.Builder
	var notes []string
	columns := Columns()
	b.WriteString("| attempt | TS | Py |")
	for _, c := range columns {
		title := c.Title
		if len(c.Languages) == 1 {
			title += map[sandbox.Language]string{sandbox.LangTypeScript: " (TS)", sandbox.LangPython: " (Py)"}[c.Languages[0]]
		}
		fmt.Fprintf(&b, " %s |", title)
	}
	b.WriteString("\n| --- | --- | --- |" + strings.Repeat(" --- |", len(columns)) + "\n")
	for _, g := range groups() {
		if g.works {
			continue
		}
		fmt.Fprintf(&b, "| **%s** | | |%s\n", g.threat, strings.Repeat(" |", len(columns)))
		for _, c := range g.cases {
			c = complete(c)
			fmt.Fprintf(&b, "| %s | %s | %s |", c.name, tried(c, sandbox.LangTypeScript), tried(c, sandbox.LangPython))
			for _, col := range columns {
				fmt.Fprintf(&b, " %s |", cell(c, col, &notes))
			}
			b.WriteByte('\n')
		}
	}
	b.WriteByte('\n')
	for i, note := range notes {
		fmt.Fprintf(&b, "%d. %s\n", i+1, note)
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// tried returns a mark if a case has a script in a language.
func tried(c testCase, lang sandbox.Language) string {
	if _, ok := c.code[lang]; ok {
		return "●"
	}
	return ""
}

// cell returns whether a case holds. Exceptions have the numbers of their reasons.
func cell(c testCase, col Column, notes *[]string) string {
	number := func(reason string) string {
		i := slices.Index(*notes, reason)
		if i < 0 {
			i = len(*notes)
			*notes = append(*notes, reason)
		}
		return fmt.Sprint(i + 1)
	}
	langs := col.languages(c)
	if len(langs) == 0 {
		return "–"
	}
	if n := col.means(c.name); n != nil {
		return "no means ⁽" + number(n.Reason) + "⁾"
	}
	if !col.tries(c.name) {
		return "by hand"
	}
	var marks []string
	varies := true
	for _, e := range col.Exceptions {
		if e.Case != c.name || !slices.ContainsFunc(langs, func(l sandbox.Language) bool { return e.Languages == nil || slices.Contains(e.Languages, l) }) {
			continue
		}
		marks = append(marks, number(e.Reason))
		varies = varies && e.Varies
	}
	switch {
	case marks == nil:
		return "holds"
	case varies:
		return "may not ⁽" + strings.Join(marks, " ") + "⁾"
	}
	return "no ⁽" + strings.Join(marks, " ") + "⁾"
}
