package script

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/evanw/esbuild/pkg/api"
)

// Error reports that a script cannot run. Its exit code is 1, as for a script that fails to load.
type Error struct {
	Problems []Problem // at least one, at most 20
}

// Problem is an error in a script, with its place.
type Problem struct {
	File         string // empty: the problem is an import that a running script requested
	Line, Column int    // from 1; zero if the problem has no place
	Text         string
	Source       string // the line, if it is known
	Notes        []string
}

func (e *Error) Error() string {
	texts := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		texts[i] = p.String()
	}
	return strings.Join(texts, "\n")
}

// ExitCode is 1.
func (e *Error) ExitCode() int { return 1 }

func (p Problem) String() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File)
		if p.Line > 0 {
			fmt.Fprintf(&b, ":%d", p.Line)
			if p.Column > 0 {
				fmt.Fprintf(&b, ":%d", p.Column)
			}
		}
		b.WriteString(": ")
	}
	b.WriteString(p.Text)
	if p.Source != "" {
		fmt.Fprintf(&b, "\n    %s", p.Source)
		if p.Column > 0 && p.Column <= len(p.Source)+1 {
			fmt.Fprintf(&b, "\n    %s^", blank(p.Source[:p.Column-1]))
		}
	}
	for _, n := range p.Notes {
		fmt.Fprintf(&b, "\n  %s", n)
	}
	return b.String()
}

// blank replaces everything but tabs with spaces, to put a caret below the line in the right column.
func blank(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, s)
}

// maxProblems is the maximum number of problems that are reported.
const maxProblems = 20

// fromMessages turns the bundler's messages into problems.
func fromMessages(name string, messages []api.Message) *Error {
	e := &Error{}
	for _, m := range messages[:min(len(messages), maxProblems)] {
		p := Problem{File: name, Text: m.Text}
		if l := m.Location; l != nil {
			p.File, p.Line, p.Column, p.Source = shownName(placeOf(l)), l.Line, l.Column+1, l.LineText
			if strings.HasPrefix(p.File, treeNamespace+"/") && strings.HasPrefix(p.Source, "<<<<<<< ") {
				p.Text = "it holds the marks of a merge conflict; to write it again, run \"mcpgen sync\""
			}
			if len(p.Source) > 200 {
				p.Source = ""
			}
		}
		for _, n := range m.Notes {
			p.Notes = append(p.Notes, n.Text)
		}
		e.Problems = append(e.Problems, p)
	}
	return e
}

// placeOf returns the module that contains a location.
func placeOf(l *api.Location) (namespace, file string) {
	if namespace, file, ok := strings.Cut(l.File, ":"); ok && slices.Contains(namespaces(), namespace) {
		return namespace, file
	}
	return l.Namespace, l.File
}

// shownName returns the name by which a person knows a file: servers/… for a wrapper, skills/… for a skill, or else
// the file's own name.
func shownName(namespace, file string) string {
	switch namespace {
	case treeNamespace, skillsNamespace:
		if index, _, trimmed := strings.Cut(file, "index.ts?"); trimmed {
			file = index + "index.ts" // a person need not know which names are left in a trimmed index
		}
		return namespace + "/" + file
	}
	return file
}

func lineOf(s string, offset int) int { return strings.Count(s[:offset], "\n") + 1 }

// invalidAt returns the offset of the first byte that is not UTF-8.
func invalidAt(s string) int {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return i
			}
		}
	}
	return len(s)
}

// inModule sets the module of messages.
func inModule(messages []api.Message, namespace, file string) []api.Message {
	for _, m := range messages {
		if m.Location != nil {
			m.Location.Namespace, m.Location.File = namespace, file
		}
	}
	return messages
}

// refused returns a problem at an offset of the code.
func refused(code string, offset int, text, note string) api.Message {
	start := strings.LastIndexByte(code[:offset], '\n') + 1
	line, _, _ := strings.Cut(code[start:], "\n")
	return api.Message{
		Text: text, Notes: []api.Note{{Text: note}},
		Location: &api.Location{Line: lineOf(code, offset), Column: offset - start, LineText: line},
	}
}
