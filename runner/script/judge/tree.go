package judge

import (
	_ "embed"
	"encoding/json"
	"fmt"
)

// kind is what a node of a program's tree is. The tree is the same for both languages, and has only what the analysis needs. The
// numbers are also in tree.py.
type kind int

const (
	kindOther    kind = iota
	kindName          // text
	kindAttr          // kids[0].text
	kindIndex         // kids[0][kids[1]]
	kindCall          // kids[0](kids[1:]...)
	kindString        // text; in Python also bytes
	kindNumber        // text
	kindAdd           // kids[0] + kids[1]; with text %: formatting
	kindJoin          // the parts of a template or f-string
	kindList          // arrays, tuples
	kindDict          // pairs and other kids
	kindPair          // text: kids[0]
	kindAssign        // text = kids[0]; several names have spaces between them, a name may be that of a member
	kindImport        // of the module text
	kindStar          // all names of the module text
	kindModule        // the module text as a value
	kindFunction      // text is its name; kids are its parameters and body
	kindClass         // a block; in Python, what it declares is no variable of functions in it
	kindDeclare       // the variable text with a value that is not followed
	kindGlobal        // Python's global
	kindAny           // one of kids; with text: the first, or with ? one of the first two, and of no other
	kindBranch        // a decision
	kindReverse       // kids[0] backwards
	kindKeyword       // an argument with a name; ** without
	kindSpread        // of kids[0]
	kindBlock         // JavaScript's
	kindVar           // like kindAssign, of the function
	kindBind          // like kindAssign, with a value that is also elsewhere in the tree
	kindEach          // an element of kids[0]
)

// node is a node of a tree. Positions are from 1, of the text that was parsed; columns are bytes from 0.
type node struct {
	kind         kind
	line, column int
	text         string
	kids         []*node
	scope        *scope // of kindFunction, kindClass and kindBlock
}

//go:embed tree.py
var pythonProgram string

// PythonProgram returns a Python script that parses files: its variable [PythonFiles] holds their texts by name, and its result
// is the argument trees of [Python]. It has to run in a sandbox, and runs nothing of the files.
func PythonProgram() string { return pythonProgram }

// PythonFiles is the name of the variable.
const PythonFiles = "code"

// pythonTree is what tree.py makes of a file.
type pythonTree struct {
	Nodes   []int    `json:"nodes"` // five numbers for each node, in the order of the text
	Strings []string `json:"strings"`
	Problem string   `json:"problem"`
	Line    int      `json:"line"`
	Column  int      `json:"column"`
}

// Python adds the facts of Python files whose trees [PythonProgram] returned.
func (f *Facts) Python(texts map[string]string, order []string, trees json.RawMessage) error {
	var all map[string]*pythonTree
	if err := json.Unmarshal(trees, &all); err != nil {
		return fmt.Errorf("parse Python files: %w", err)
	}
	for _, name := range order {
		t := all[name]
		switch {
		case t == nil:
			return fmt.Errorf("parse Python files: no syntax tree for %.100q", name)
		case t.Problem != "":
			f.Unreadable = append(f.Unreadable, Problem{File: name, Line: t.Line, Column: t.Column, Text: t.Problem})
			continue
		}
		b := treeBuilder{tree: t}
		root := b.next(0)
		if root == nil || b.failed {
			return fmt.Errorf("parse Python files: the syntax tree of %.100q is damaged", name)
		}
		f.analyze(&analysis{file: name, text: texts[name], python: true, place: func(n *node) (int, int) { return n.line, n.column + 1 }}, root)
	}
	return nil
}

// treeBuilder makes nodes of the numbers of a pythonTree, which come from a sandbox.
type treeBuilder struct {
	tree   *pythonTree
	at     int
	failed bool
}

const maxTreeDepth = 10_000

func (b *treeBuilder) next(depth int) *node {
	if b.at+5 > len(b.tree.Nodes) || depth > maxTreeDepth {
		b.failed = true
		return nil
	}
	v := b.tree.Nodes[b.at : b.at+5]
	b.at += 5
	if v[3] < 0 || v[3] >= len(b.tree.Strings) || v[4] < 0 || v[4] > len(b.tree.Nodes)-b.at {
		b.failed = true
		return nil
	}
	n := &node{kind: kind(v[0]), line: v[1], column: v[2], text: b.tree.Strings[v[3]]}
	for range v[4] {
		kid := b.next(depth + 1)
		if b.failed {
			return nil
		}
		n.kids = append(n.kids, kid)
	}
	return n
}
