package cli

import "github.com/mcpgen/mcpgen/gen/ident"

// Escape makes foreign text safe to print: it keeps tabs and newlines, and escapes everything else that is not shown ([ident.Escape]).
func Escape(s string) string { return ident.Escape(s, "\t\n") }

// EscapeLine is Escape for text that must stay on one line: newlines and tabs are escaped too.
func EscapeLine(s string) string { return ident.Escape(s, "") }

// Shorten cuts s to at most n characters, the last being an ellipsis if something was cut.
func Shorten(s string, n int) string { return ident.Shorten(s, n) }
