// Package verify reads generated source files back before they are written, with a lexer and a parser of its own that
// know nothing of how the files were made. It accepts the shapes of file that mcpgen writes and nothing else: types,
// one wrapper that passes its arguments on, what stands for a server's resources or prompts, and the index of a folder. A statement, call, import, decorator, template
// or operator beyond those is refused, so text of a server that left its comment or string can't reach the disk.
//
// Layout is free: line ends, blanks and comments may stand wherever the language allows them. What comments and
// strings say is not judged, only that they end where they should, that no comment is an order to a compiler or type
// checker, and that the file holds no character that can't be seen.
//
// Start with [Wrapper], [Offer] and [Index], which also hold a file to what it should call or export; [TypeScript] and [Python]
// accept any of the shapes.
package verify

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Error is the first thing in a file that should not be there.
type Error struct {
	// Line counts from 1.
	Line int
	// Found is what stands there, made visible and cut; foreign text. Empty at the end of the file.
	Found string
	// Want says what may stand there.
	Want string
}

func (e *Error) Error() string {
	if e.Found == "" {
		return fmt.Sprintf("line %d: want %s", e.Line, e.Want)
	}
	return fmt.Sprintf("line %d: found %s; want %s", e.Line, e.Found, e.Want)
}

// maxFound bounds what an error shows of a file, in bytes.
const maxFound = 60

func fail(line int, found, want string) *Error {
	if len(found) > maxFound {
		cut := maxFound
		for cut > 0 && !utf8.RuneStart(found[cut]) {
			cut--
		}
		found = found[:cut] + "…"
	}
	if found != "" {
		found = strconv.QuoteToGraphic(found)
	}
	return &Error{Line: line, Found: found, Want: want}
}

// Wrapper is what the file of one tool must do: declare the one function, which calls the one tool.
type Wrapper struct {
	// ID is the tool's id, Function the exported name.
	ID, Function string
}

// Index is what the index of a folder must do: export these functions, each from the module of its name, and nothing
// else, in this order.
type Index struct {
	Functions []string
}

// TypeScript accepts a wrapper, an index, or a module of types. The error is an *[Error].
func TypeScript(src []byte) error {
	_, err := readTypeScript(src)
	return asError(err)
}

// Python accepts a wrapper, an index, or a module of types. The error is an *[Error].
func Python(src []byte) error {
	_, err := readPython(src)
	return asError(err)
}

// TypeScript accepts the TypeScript file of that tool only. The error is an *[Error].
func (w Wrapper) TypeScript(src []byte) error {
	m, err := readTypeScript(src)
	if err == nil {
		err = w.check(m)
	}
	return asError(err)
}

// Python accepts the Python file of that tool only. The error is an *[Error].
func (w Wrapper) Python(src []byte) error {
	m, err := readPython(src)
	if err == nil {
		err = w.check(m)
	}
	return asError(err)
}

// TypeScript accepts the TypeScript index of those functions only. The error is an *[Error].
func (x Index) TypeScript(src []byte) error {
	m, err := readTypeScript(src)
	if err == nil {
		err = x.check(m)
	}
	return asError(err)
}

// Python accepts the Python index of those functions only. The error is an *[Error].
func (x Index) Python(src []byte) error {
	m, err := readPython(src)
	if err == nil {
		err = x.check(m)
	}
	return asError(err)
}

// Offer is what the file of a server's resources or prompts must do: export the one name, for the one folder.
type Offer struct {
	// Name is resources or prompts, Server the folder.
	Name, Server string
}

// TypeScript accepts the TypeScript file of that offer only. The error is an *[Error].
func (o Offer) TypeScript(src []byte) error {
	m, err := readTypeScript(src)
	if err == nil {
		err = o.check(m)
	}
	return asError(err)
}

// Python accepts the Python file of that offer only. The error is an *[Error].
func (o Offer) Python(src []byte) error {
	m, err := readPython(src)
	if err == nil {
		err = o.check(m)
	}
	return asError(err)
}

func (o Offer) check(m *module) *Error {
	switch {
	case m.offer == "" || m.function != "" || len(m.exports) > 0:
		return fail(1, "", "the "+o.Name+" of "+o.Server)
	case m.offer != o.Name || (o.Name == "resources" && m.declared > 0):
		return fail(m.offerLine, m.offer, o.Name)
	case m.server != o.Server:
		return fail(m.offerLine, m.server, "those of "+o.Server)
	}
	return nil
}

// asError keeps a nil *Error from becoming an error that is not nil.
func asError(err *Error) error {
	if err == nil {
		return nil
	}
	return err
}

// module is what a file was found to do.
type module struct {
	function, id string // of the wrapper, "" for none
	functionLine int
	exports      []string // of an index
	exportLines  []int
	declared     int // types
	// offer is resources or prompts, "" for none, and server the folder whose they are.
	offer, server string
	offerLine     int
}

func (w Wrapper) check(m *module) *Error {
	switch {
	case m.function == "" || m.offer != "":
		return fail(1, "", "a wrapper of "+w.ID)
	case m.function != w.Function:
		return fail(m.functionLine, m.function, "the function "+w.Function)
	case m.id != w.ID:
		return fail(m.functionLine, m.id, "a call of "+w.ID)
	}
	return nil
}

func (x Index) check(m *module) *Error {
	if m.function != "" || m.declared > 0 || m.offer != "" {
		return fail(1, "", "an index")
	}
	if slices.Equal(m.exports, x.Functions) {
		return nil
	}
	for i, name := range m.exports {
		if i >= len(x.Functions) || x.Functions[i] != name {
			return fail(m.exportLines[i], name, "the exports of this folder's tools, in order")
		}
	}
	return fail(1, "", fmt.Sprintf("%d exports, not %d", len(x.Functions), len(m.exports)))
}

// header is the rest of a generated file's first line.
const header = " Code generated by mcpgen. DO NOT EDIT."

// begin checks the first line, after mark, and the characters of the whole file.
func begin(src []byte, mark string) *Error {
	first, _, _ := bytes.Cut(src, []byte("\n"))
	if string(first) != mark+header {
		return fail(1, string(first), strconv.Quote(mark+header))
	}
	return checkText(src)
}
