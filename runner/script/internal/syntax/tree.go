// Package syntax reads TypeScript, JavaScript and Python into one kind of tree, which has only what judging and adapting scripts needs.
// Places of it lead back to the text that a person wrote.
package syntax

import (
	_ "embed"
	"errors"
	"fmt"
)

// Kind is what a node of a program's tree is. The tree is the same for both languages, and has only what its users need. The
// numbers are also in tree.py. An Other with a text is a literal that is neither a string nor a number.
type Kind int

const (
	Other    Kind = iota
	Name          // text
	Attr          // kids[0].text
	Index         // kids[0][kids[1]]
	Call          // kids[0](kids[1:]...)
	String        // text; in Python also bytes
	Number        // text
	Add           // kids[0] + kids[1]; with text %: formatting
	Join          // the parts of a template or f-string
	List          // arrays, tuples
	Dict          // pairs and other kids
	Pair          // text: kids[0]
	Assign        // text = kids[0]; several names have spaces between them, a name may be that of a member
	Import        // of the module text
	Star          // all names of the module text
	Module        // the module text as a value
	Function      // text is its name; kids are its parameters and body
	Class         // a block; in Python, what it declares is no variable of functions in it
	Declare       // the variable text with a value that is not followed
	Global        // Python's global
	Any           // one of kids; with text: the first, or with ? one of the first two, and of no other
	Branch        // a decision
	Reverse       // kids[0] backwards
	Keyword       // an argument with a name; ** without
	Spread        // of kids[0]
	Block         // JavaScript's
	Var           // like Assign, of the function
	Bind          // like Assign, with a value that is also elsewhere in the tree
	Each          // an element of kids[0]
	Taken         // the member text is taken out of a value, by a pattern
	Type          // an annotation of Python: kids[0]
)

// Node is a node of a tree. Positions are from 1, of the text that was parsed; columns are bytes from 0. An Attr stands where its
// name is.
type Node struct {
	Kind         Kind
	Line, Column int
	Text         string
	Kids         []*Node
}

// File is a file that was read.
type File struct {
	Root   *Node
	text   *lines // that a person wrote
	offset func(*Node) (int, bool)
}

// Offset returns the byte of the text that a person wrote at which a node begins; false if it is not known.
func (f *File) Offset(n *Node) (int, bool) { return f.offset(n) }

// Place returns the line and the column, in bytes, where a node begins in the text that a person wrote. They are from 1, and 0 if they
// are not known.
func (f *File) Place(n *Node) (line, column int) {
	at, ok := f.offset(n)
	if !ok {
		return 0, 0
	}
	return f.text.place(at)
}

// Error is why a file cannot be read.
type Error struct {
	Line, Column int
	Text         string
}

func (e *Error) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Text) }

//go:embed tree.py
var pythonProgram string

// PythonProgram returns a Python script that parses files: its variable code holds their texts by name, and its result is the
// trees for [Python]. It has to run in a sandbox, and runs nothing of the files.
func PythonProgram() string { return pythonProgram }

// PythonTree is what [PythonProgram] makes of a file.
type PythonTree struct {
	Nodes   []int    `json:"nodes"` // five numbers for each node, in the order of the text
	Strings []string `json:"strings"`
	Problem string   `json:"problem"`
	Line    int      `json:"line"`
	Column  int      `json:"column"`
}

// Python reads the tree of a text. It comes from a sandbox and may be damaged. A problem of the text itself is an [*Error].
func Python(text string, t *PythonTree) (*File, error) {
	switch {
	case t == nil:
		return nil, errors.New("no syntax tree")
	case t.Problem != "":
		return nil, &Error{t.Line, t.Column, t.Problem}
	}
	b := treeBuilder{tree: t}
	root := b.next(0)
	if root == nil || b.failed {
		return nil, errors.New("damaged syntax tree")
	}
	l := linesOf(text, "\n", "\r")
	return &File{root, l, func(n *Node) (int, bool) {
		if n.Line < 1 || n.Line > len(l.starts) || n.Column < 0 || n.Column > len(text)-l.starts[n.Line-1] {
			return 0, false
		}
		return l.starts[n.Line-1] + n.Column, true
	}}, nil
}

// treeBuilder makes nodes of the numbers of a PythonTree.
type treeBuilder struct {
	tree   *PythonTree
	at     int
	failed bool
}

const maxTreeDepth = 10_000

func (b *treeBuilder) next(depth int) *Node {
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
	n := &Node{Kind: Kind(v[0]), Line: v[1], Column: v[2], Text: b.tree.Strings[v[3]]}
	for range v[4] {
		kid := b.next(depth + 1)
		if b.failed {
			return nil
		}
		n.Kids = append(n.Kids, kid)
	}
	return n
}
