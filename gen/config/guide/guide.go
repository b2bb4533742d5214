// Package guide maintains the paragraph in AGENTS.md or CLAUDE.md that describes the generated tree to an agent. The paragraph is between
// two markers. Text outside them stays.
package guide

import (
	"fmt"
	"strings"

	"github.com/mcpgen/mcpgen/gen/exit"
)

// The markers. Each is on a line of its own.
const (
	Begin = "<!-- mcpgen:begin -->"
	End   = "<!-- mcpgen:end -->"
)

// Paragraph returns the paragraph for a tree in the folder out, which is relative to the project.
func Paragraph(out string) string {
	out = strings.Trim(strings.ReplaceAll(out, `\`, "/"), "/")
	out = strings.TrimPrefix(out, "./")
	return fmt.Sprintf(`## MCP tools as code

This project's MCP tools are functions in %[1]s%[2]s/%[1]s: a folder per server, a file per tool. Find them with
%[1]smcpgen search --detail signature --limit 5 "<words>" --also "<the service's words>"%[1]s, which shows how the likely ones are called, or %[1]sls%[1]s; what
arguments mean is in the tool's file (%[1]sdrive__get_sheet%[1]s is %[1]s%[2]s/drive/getSheet.ts%[1]s, or %[1]sget_sheet.py%[1]s). Run a
script (%[1]simport { tool } from "./%[2]s/<server>/index.ts"%[1]s) in a sandbox: %[1]smcprun script.ts%[1]s. Only what it prints comes back: filter and join data in it. It has no network; its files
stay in its working directory. Never edit %[1]s%[2]s/%[1]s: %[1]smcpgen sync%[1]s generates it.
`, "`", out)
}

// MarkerError reports damaged markers, because of which the paragraph cannot be found.
type MarkerError struct{}

func (*MarkerError) Error() string { return "the markers of the paragraph are damaged" }

// Hint returns what to do about the error.
func (*MarkerError) Hint() string {
	return fmt.Sprintf("leave one %q with one %q below it, or remove both", Begin, End)
}

// ExitCode returns exit.Usage.
func (*MarkerError) ExitCode() int { return exit.Usage }

// Update returns the text with the paragraph between its markers, and whether they were there. If they were not, it appends
// them. The error is a [*MarkerError].
func Update(text, paragraph string) (updated string, found bool, err error) {
	newline := "\n"
	if strings.Contains(text, "\r\n") {
		newline = "\r\n"
	}
	block := strings.ReplaceAll(Begin+"\n"+strings.TrimRight(paragraph, "\n")+"\n"+End, "\n", newline)
	begin, end := strings.Index(text, Begin), strings.Index(text, End)
	switch begins, ends := strings.Count(text, "mcpgen:begin"), strings.Count(text, "mcpgen:end"); {
	case begins == 1 && ends == 1 && begin >= 0 && end > begin:
		return text[:begin] + block + text[end+len(End):], true, nil
	case begins+ends > 0:
		return "", false, &MarkerError{}
	}
	if before := strings.TrimRight(text, "\r\n\t "); before != "" {
		return before + newline + newline + block + newline, false, nil
	}
	return block + newline, false, nil
}
