// Package guide is the paragraph in AGENTS.md or CLAUDE.md that tells an agent of the generated tree. It lives between
// two markers, is kept current there, and nothing outside of them is touched.
package guide

import (
	"fmt"
	"strings"
)

// The markers. Each stands on a line of its own.
const (
	Begin = "<!-- mcpgen:begin -->"
	End   = "<!-- mcpgen:end -->"
)

// Paragraph is what an agent should know of a tree in the folder out, as it is written in the project.
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

// State says what a text has of the paragraph.
type State int

const (
	Absent State = iota
	Stale
	Current
)

// MarkerError is a text whose markers are damaged, so that nobody can tell what lies between them.
type MarkerError struct {
	// Line counts from 1.
	Line    int
	Problem string
}

func (e *MarkerError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Problem) }

// Hint says what to do about it.
func (e *MarkerError) Hint() string {
	return fmt.Sprintf("leave one %q with one %q below it, or remove both", Begin, End)
}

// ExitCode is 2.
func (e *MarkerError) ExitCode() int { return 2 }

// Look says what a text has of the paragraph. The error is a *[MarkerError].
func Look(text, paragraph string) (State, error) {
	updated, state, err := update(text, paragraph)
	if err == nil && state == Stale && updated == text {
		state = Current
	}
	return state, err
}

// Update returns the text with the paragraph between its markers, or with both at its end where there are none. The
// error is a *[MarkerError], and the text then is not to be changed.
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

// find returns where the markers begin and end, -1 without any.
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
