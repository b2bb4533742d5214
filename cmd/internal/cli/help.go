package cli

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// fitHelp makes the help of root and of all commands below it fit the terminal.
func (a *App) fitHelp(root *cobra.Command) {
	width := a.Columns()
	if width == 0 {
		return
	}
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		var text bytes.Buffer
		cmd.SetOut(&text)
		help(cmd, args)
		cmd.SetOut(a.Stdout)
		cmd.Print(fit(text.String(), width))
	})
}

// entry matches a line of a list: an indented name, two or more spaces, and what it means.
var entry = regexp.MustCompile(`^( +\S.*?  +)(\S.*)$`)

// minText is the least width, in columns, of an entry's text beside its name. Narrower text begins on the next line.
var minText = 24

// fit breaks lines wider than width in paragraphs and in the second column of lists. Other indented lines are commands and stay
// as they are.
func fit(text string, width int) string {
	blocks := strings.Split(strings.TrimSuffix(text, "\n"), "\n\n")
	for i, block := range blocks {
		lines := strings.Split(block, "\n")
		wide := slices.ContainsFunc(lines, func(line string) bool { return len(line) > width })
		switch {
		case !wide:
			continue
		case strings.Contains(block, "\n "):
			lines = fitList(lines, width)
		default:
			lines = words(block, width)
		}
		blocks[i] = strings.Join(lines, "\n")
	}
	return strings.Join(blocks, "\n\n") + "\n"
}

func fitList(lines []string, width int) []string {
	var out []string
	for _, line := range lines {
		m := entry.FindStringSubmatch(line)
		if len(line) <= width || m == nil {
			out = append(out, line)
			continue
		}
		name, text := m[1], m[2]
		if width-len(name) < minText {
			out = append(out, strings.TrimRight(name, " "))
			name = strings.Repeat(" ", 10)
		}
		indent := strings.Repeat(" ", len(name))
		if comment, ok := strings.CutPrefix(text, "# "); ok {
			name, indent, text = name+"# ", indent+"# ", comment
		}
		for _, line := range words(text, width-len(indent)) {
			out = append(out, name+line)
			name = indent
		}
	}
	return out
}

// words breaks text into lines of at most width columns, unless a single word is longer.
func words(text string, width int) []string {
	var lines []string
	for word := range strings.FieldsSeq(text) {
		if last := len(lines) - 1; last >= 0 && len(lines[last])+1+len(word) <= width {
			lines[last] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}
