// Package verify reads generated source files back before they are written. Its lexer and parser are independent of the code that generates
// the files. It accepts only the kinds of files that mcpgen writes below servers/: one wrapper with its types, which passes its arguments
// on; the object for a server's resources or prompts; and the index of a folder. It rejects any other statement, call, import, decorator,
// template or operator, so that a server's text that escapes from its comment or string never reaches the disk.
//
// Statements must match a shape token by token. Types are not parsed: a type may hold strings, numbers, known names and the punctuation of
// types, brackets match, and no operand follows another, so nothing in a type can be called or assigned and no statement can begin in it.
// The contents of comments and strings are not checked, except that each must be closed, no comment may be a directive to a compiler or
// type checker, and the file must not contain invisible characters. The layout is free.
//
// Start with [Wrapper], [Offer] and [Index], which also check what a file calls or exports; [TypeScript] and [Python] accept any of the
// shapes.
package verify

import (
	"fmt"
)

// Wrapper is the file of one tool. It declares one function, which calls only this tool.
type Wrapper struct {
	// ID is the tool's id, and Function the exported name.
	ID, Function string
}

// Offer is the file of a server's resources or prompts. It exports one name, for one folder.
type Offer struct {
	// Name is resources or prompts, and Server the folder.
	Name, Server string
}

// Index is the index of a folder. It exports these functions in this order, each from the module with its name, and nothing else.
type Index struct {
	Functions []string
}

// TypeScript accepts a wrapper, an offer, an index, or a module of types. The error is an *[Error].
func TypeScript(src []byte) error { return read(src, readTypeScript, nil) }

// Python accepts a wrapper, an offer, an index, or types as in a wrapper. The error is an *[Error].
func Python(src []byte) error { return read(src, readPython, nil) }

// TypeScript accepts only the TypeScript file of that tool. The error is an *[Error].
func (w Wrapper) TypeScript(src []byte) error { return read(src, readTypeScript, w.check) }

// Python accepts only the Python file of that tool. The error is an *[Error].
func (w Wrapper) Python(src []byte) error { return read(src, readPython, w.check) }

// TypeScript accepts only the TypeScript file of that offer. The error is an *[Error].
func (o Offer) TypeScript(src []byte) error { return read(src, readTypeScript, o.check) }

// Python accepts only the Python file of that offer. The error is an *[Error].
func (o Offer) Python(src []byte) error { return read(src, readPython, o.check) }

// TypeScript accepts only the TypeScript index of these functions. The error is an *[Error].
func (x Index) TypeScript(src []byte) error { return read(src, readTypeScript, x.check) }

// Python accepts only the Python index of these functions. The error is an *[Error].
func (x Index) Python(src []byte) error { return read(src, readPython, x.check) }

// read reads a file with the parser of its language and applies check, which may be nil, to what the file does.
func read(src []byte, parse func([]byte) (*module, *Error), check func(*module) *Error) error {
	m, err := parse(src)
	if err == nil && check != nil {
		err = check(m)
	}
	if err != nil { // a nil *Error in an error would not be nil
		return err
	}
	return nil
}

func (w Wrapper) check(m *module) *Error {
	switch {
	case m.function.text == "" || m.offer.text != "":
		return fail(1, "", "a wrapper of "+w.ID)
	case m.function.text != w.Function:
		return fail(m.function.line, m.function.text, "the function "+w.Function)
	case m.id.text != w.ID:
		return fail(m.id.line, m.id.text, "a call of "+w.ID)
	}
	return nil
}

func (o Offer) check(m *module) *Error {
	switch {
	case m.offer.text == "" || m.function.text != "" || len(m.exports) > 0:
		return fail(1, "", "the "+o.Name+" of "+o.Server)
	case m.offer.text != o.Name || (o.Name == "resources" && len(m.types) > 0):
		return fail(m.offer.line, m.offer.text, o.Name)
	case m.server.text != o.Server:
		return fail(m.server.line, m.server.text, "those of "+o.Server)
	}
	return nil
}

func (x Index) check(m *module) *Error {
	if m.function.text != "" || len(m.types) > 0 || m.offer.text != "" {
		return fail(1, "", "an index")
	}
	for i, export := range m.exports {
		if i >= len(x.Functions) || x.Functions[i] != export.text {
			return fail(export.line, export.text, "the exports of this folder's tools, in order")
		}
	}
	if len(m.exports) != len(x.Functions) {
		return fail(1, "", fmt.Sprintf("%d exports, not %d", len(x.Functions), len(m.exports)))
	}
	return nil
}
