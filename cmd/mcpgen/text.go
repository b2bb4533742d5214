package main

import (
	"strings"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
)

// firstLine is the beginning of a description, else the title.
func firstLine(title, description string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(description), "\n")
	if line == "" {
		line = title
	}
	return cli.Shorten(cli.EscapeLine(line), 90)
}

func indent(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = "  " + line
		}
	}
	return strings.Join(lines, "\n")
}
