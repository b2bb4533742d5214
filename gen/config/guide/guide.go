// Package guide maintains the paragraph in AGENTS.md or CLAUDE.md that describes the generated tree to an agent. The
// paragraph is between two markers. Text outside of them stays.
package guide

import (
	"fmt"
	"strings"
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
%[1]smcpgen search --detail name --limit 5 <words>%[1]s (%[1]sdrive__get_sheet%[1]s is %[1]s%[2]s/drive/getSheet.ts%[1]s, or %[1]sget_sheet.py%[1]s)
or %[1]sls%[1]s. Read only the files you need, then run a script (%[1]simport { tool } from "./%[2]s/<server>/index.ts"%[1]s) in a
sandbox: %[1]smcprun script.ts%[1]s. Only what it prints comes back: filter and join data in it. It has no network; its files
stay in its working directory. Never edit %[1]s%[2]s/%[1]s: %[1]smcpgen sync%[1]s generates it.
`, "`", out)
}

// State is the state of the paragraph in a text.
type State int

// The states: there is no paragraph, another one, or the same.
const (
	Absent State = iota
	Stale
	Current
)

// MarkerError reports damaged markers, so that the paragraph cannot be found.
type MarkerError struct {
	// Line counts from 1.
	Line    int
	Problem string
}

func (e *MarkerError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Problem) }

// Hint returns what to do about the error.
func (e *MarkerError) Hint() string {
	return fmt.Sprintf("leave one %q with one %q below it, or remove both", Begin, End)
}

// ExitCode returns 2.
func (e *MarkerError) ExitCode() int { return 2 }

// Look returns the state of the paragraph in a text. The error is a [*MarkerError].
func Look(text, paragraph string) (State, error) {
	updated, state, err := update(text, paragraph)
	if err == nil && state == Stale && updated == text {
		state = Current
	}
	return state, err
}

// Update returns the text with the paragraph between its markers. If there are none, it appends both. The error is a
// [*MarkerError].
func Update(text, paragraph string) (string, error) {
	updated, _, err := update(text, paragraph)
	return updated, err
}

func update(text, paragraph string) (string, State, error) {
	begin, end, err := find(text)
	if err != nil {
		return "", Absent, err
	}
	newline := "\n"
	if strings.Contains(text, "\r\n") {
		newline = "\r\n"
	}
	block := strings.ReplaceAll(Begin+"\n"+strings.TrimRight(paragraph, "\n")+"\n"+End, "\n", newline)
	if begin < 0 {
		if before := strings.TrimRight(text, "\r\n\t "); before != "" {
			return before + newline + newline + block + newline, Absent, nil
		}
		return block + newline, Absent, nil
	}
	return text[:begin] + block + text[end:], Stale, nil
}

// find returns the offsets of the beginning and the end of the marked text, -1 without markers.
func find(text string) (begin, end int, err error) {
	begin, end = -1, -1
	offset := 0
	for i, line := range strings.SplitAfter(text, "\n") {
		at := &MarkerError{Line: i + 1}
		switch bare := strings.TrimSpace(line); {
		case bare == Begin && begin >= 0:
			at.Problem = "there is a second " + Begin
		case bare == Begin:
			begin = offset + strings.Index(line, Begin)
		case bare == End && begin < 0:
			at.Problem = "there is an " + End + " without a beginning"
		case bare == End && end >= 0:
			at.Problem = "there is a second " + End
		case bare == End:
			end = offset + strings.Index(line, End) + len(End)
		case strings.Contains(bare, "mcpgen:begin") || strings.Contains(bare, "mcpgen:end"):
			at.Problem = "there is a damaged marker"
		}
		if at.Problem != "" {
			return -1, -1, at
		}
		offset += len(line)
	}
	if begin >= 0 && end < 0 {
		return -1, -1, &MarkerError{Line: 1 + strings.Count(text[:begin], "\n"), Problem: "there is no " + End + " for it"}
	}
	return begin, end, nil
}
