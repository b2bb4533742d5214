package document

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/mcpgen/mcpgen/gen/config/node"
	"github.com/mcpgen/mcpgen/gen/ident"
)

// maxProblems bounds the problems that are listed.
const maxProblems = 200

// Problem is something that is wrong with a document.
type Problem struct {
	File string `json:"file"`
	// Line and Column count from 1; 0 means that the problem has no place.
	Line   int `json:"line"`
	Column int `json:"column"`
	// Message is what is wrong, and Hint what to do about it, if that is known.
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// String returns the problem on one line. Texts of the document in it are not safe for a terminal.
func (p Problem) String() string {
	place := p.File
	if p.Line > 0 {
		place += fmt.Sprintf(":%d:%d", p.Line, p.Column)
	}
	text := place + ": " + p.Message
	if p.Hint != "" {
		text += "; " + p.Hint
	}
	return text
}

// Problems is the error of a document that cannot run: at least one problem, at most 200, in the order of their places.
type Problems struct {
	List []Problem
}

func (p *Problems) Error() string {
	lines := make([]string, len(p.List))
	for i, problem := range p.List {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

// add adds a problem at a node, which may be nil.
func (p *Problems) add(d *Document, n *yaml.Node, message, hint string) {
	line, column := 0, 0
	if n != nil {
		line, column = n.Line, n.Column
	}
	p.addAt(d, line, column, message, hint)
}

func (p *Problems) addAt(d *Document, line, column int, message, hint string) {
	problem := Problem{d.File, line, column, ident.CleanLine(message), ident.CleanLine(hint)}
	if len(p.List) < maxProblems && !slices.Contains(p.List, problem) {
		p.List = append(p.List, problem)
	}
}

// parsing adds the error of a text that is neither YAML nor JSON.
func (p *Problems) parsing(d *Document, err error) {
	if wrong, ok := errors.AsType[*node.FileError](err); ok {
		column := wrong.Column
		if wrong.Line > 0 {
			column = max(1, column)
		}
		p.addAt(d, wrong.Line, column, wrong.Problem, wrong.Remedy)
		return
	}
	p.add(d, nil, err.Error(), "")
}

func (p *Problems) sorted() *Problems {
	slices.SortStableFunc(p.List, func(a, b Problem) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) })
	return p
}
