// Package node reads JSON with comments and TOML into one form, [Node], whose values know their lines, and YAML into the nodes of its
// library. A [File] turns nodes into Go values, and creates errors and notes that name the file, the line and the key. Neither ever
// contains a value from the file, which may be a secret.
package node

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Kind is the kind of a value. It is the same in all formats.
type Kind int

// The kinds of values.
const (
	KindNull Kind = iota
	KindBool
	KindNumber
	KindString
	KindObject
	KindList
)

// String returns the kind with an article, for errors.
func (k Kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "an object", "a list"}[k]
}

// Node is one value in a file, with its place.
type Node struct {
	Kind Kind
	Text string // the value of a string, or a number or boolean as written
	// Members are the members of an object, in the file's order. Their names are unique.
	Members []Member
	Items   []Node // of a list
	Line    int
}

// Member is one member of an object.
type Member struct {
	Name  string
	Line  int
	Value Node
}

// Get returns the value of an object's member.
func (n Node) Get(name string) (Node, bool) {
	for _, m := range n.Members {
		if m.Name == name {
			return m.Value, true
		}
	}
	return Node{}, false
}

// File is a configuration file that is being read. Its methods read nodes, and create errors and notes with a line.
type File struct {
	Name  string // as it was given
	Text  []byte
	Notes []Note
}

// ErrorAt returns a [*FileError].
func (f *File) ErrorAt(line int, key, problem, remedy string) error {
	return &FileError{File: f.Name, Line: line, Key: key, Problem: problem, Remedy: remedy}
}

// Note adds a note. server and key may be empty.
func (f *File) Note(line int, server, key, message string) {
	f.Notes = append(f.Notes, Note{File: f.Name, Line: line, Server: server, Key: key, Message: message})
}

// NoteMinor adds a minor note.
func (f *File) NoteMinor(line int, server, key, message string) {
	f.Notes = append(f.Notes, Note{File: f.Name, Line: line, Server: server, Key: key, Message: message, Minor: true})
}

// Str reads a string.
func (f *File) Str(n Node, key string) (string, error) {
	if n.Kind != KindString {
		return "", f.ErrorAt(n.Line, key, "it is "+n.Kind.String()+", not a string", "write it as one string"+commandHint(key))
	}
	return n.Text, nil
}

func commandHint(key string) string {
	if strings.HasSuffix(key, ".command") {
		return ", and put arguments into args"
	}
	return ""
}

// Scalar reads a string, or the text of a number or boolean, which are common in env and args.
func (f *File) Scalar(n Node, key string) (string, error) {
	switch n.Kind {
	case KindString, KindNumber, KindBool:
		return n.Text, nil
	}
	return "", f.ErrorAt(n.Line, key, "it is "+n.Kind.String()+", not a string", "write it as a string")
}

// Boolean reads a boolean.
func (f *File) Boolean(n Node, key string) (bool, error) {
	if n.Kind != KindBool {
		return false, f.ErrorAt(n.Line, key, "it is "+n.Kind.String()+", not a boolean", "write true or false")
	}
	return n.Text == "true", nil
}

// List reads a list of strings, numbers and booleans.
func (f *File) List(n Node, key string) ([]string, error) {
	if n.Kind != KindList {
		return nil, f.ErrorAt(n.Line, key, "it is "+n.Kind.String()+", not a list", `write it as ["first", "second"]`)
	}
	list := make([]string, 0, len(n.Items))
	for i, item := range n.Items {
		s, err := f.Scalar(item, fmt.Sprintf("%s[%d]", key, i))
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// Words reads a list of strings, or one string of words, for scopes.
func (f *File) Words(n Node, key string) ([]string, error) {
	if n.Kind == KindString {
		return strings.Fields(n.Text), nil
	}
	return f.List(n, key)
}

// Mapping reads an object of strings, numbers and booleans.
func (f *File) Mapping(n Node, key string) (map[string]string, error) {
	if n.Kind != KindObject {
		return nil, f.ErrorAt(n.Line, key, "it is "+n.Kind.String()+", not an object", `write it as {"NAME": "value"}`)
	}
	values := make(map[string]string, len(n.Members))
	for _, m := range n.Members {
		value, err := f.Scalar(m.Value, Join(key, m.Name))
		if err != nil {
			return nil, err
		}
		values[m.Name] = value
	}
	return values, nil
}

// Number reads a duration given as a number of units. It is at most a year.
func (f *File) Number(n Node, key string, unit time.Duration) (time.Duration, error) {
	const most = 365 * 24 * time.Hour
	v, err := strconv.ParseFloat(n.Text, 64)
	if n.Kind != KindNumber || err != nil || !(v > 0) || v*float64(unit) > float64(most) {
		return 0, f.ErrorAt(n.Line, key, "it is not a time above zero", "write it as a number of "+unitName(unit))
	}
	return time.Duration(v * float64(unit)), nil
}

func unitName(unit time.Duration) string {
	if unit == time.Second {
		return "seconds"
	}
	return "milliseconds"
}

// Port reads a TCP port.
func (f *File) Port(n Node, key string) (int, error) {
	v, err := strconv.ParseUint(n.Text, 10, 16)
	if n.Kind != KindNumber || err != nil || v == 0 {
		return 0, f.ErrorAt(n.Line, key, "it is not a port", "write a number from 1 to 65535")
	}
	return int(v), nil
}

// checkMembers refuses a repeated key, because nobody can know which of the two counts.
func (f *File) checkMembers(members []Member, path string) error {
	seen := make(map[string]int, len(members))
	for _, m := range members {
		if first, dup := seen[m.Name]; dup {
			return f.ErrorAt(m.Line, Join(path, m.Name), fmt.Sprintf("the key is already on line %d", first), "remove or rename one of the two")
		}
		seen[m.Name] = m.Line
	}
	return nil
}

func (f *File) checkUTF8() error {
	if !utf8.Valid(f.Text) {
		return &FileError{File: f.Name, Problem: "the file is not UTF-8", Remedy: "save it as UTF-8"}
	}
	return nil
}

// Join appends a name to a path of keys.
func Join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// Names returns the keys of an object, sorted.
func (n Node) Names() []string {
	names := make([]string, len(n.Members))
	for i, m := range n.Members {
		names[i] = m.Name
	}
	slices.Sort(names)
	return names
}
