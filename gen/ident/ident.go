// Package ident converts names from servers, which may contain any characters, to identifiers and file names that are safe in TypeScript,
// in Python and on every file system. The result is stable: the same set of names gives the same identifiers on every machine, in any
// order. Start with [Snake], [Camel], [Pascal] and [Unique].
//
// Nothing is transliterated. ASCII letters and digits are kept, and ASCII punctuation and spaces separate words. A name with any other
// character gets a short hash of the whole name as a suffix, so that two such names differ.
//
// The package also finds the names that a misspelt one may stand for ([Nearest]), removes invisible characters from untrusted text
// ([CleanText]) or escapes them ([Escape]), and cuts texts between characters ([Clip], [Shorten]).
package ident

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
)

const (
	// maxLength bounds an identifier in bytes, so that a file name with any extension fits every file system.
	maxLength = 80
	// hashLength is the number of hexadecimal digits of a short hash.
	hashLength = 6
	// placeholder begins identifiers that would otherwise begin with a digit or be empty. It is a letter and not an
	// underscore because a leading underscore means "private" in Python.
	placeholder = "n"
)

// Snake returns name in snake_case: [a-z][a-z0-9_]*, without a double underscore and without one at the end.
func Snake(name string) string {
	return assemble(name, func(parts []string) string { return strings.Join(parts, "_") })
}

// Camel returns name in camelCase: [a-z][A-Za-z0-9]*.
func Camel(name string) string {
	return assemble(name, func(parts []string) string {
		return parts[0] + titleAll(parts[1:])
	})
}

// Pascal returns name in PascalCase: [A-Z][A-Za-z0-9]*.
func Pascal(name string) string {
	return assemble(name, titleAll)
}

// Hash returns a short hash of name: 6 hexadecimal digits in lower case.
func Hash(name string) string { return hashOf(name, hashLength) }

func hashOf(name string, digits int) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])[:digits]
}

// assemble splits name into words, and joins them to an identifier with a valid beginning and length. join gets at least
// one part, and no empty ones.
func assemble(name string, join func(parts []string) string) string {
	parts, lost := words(name)
	if len(parts) == 0 {
		parts, lost = []string{placeholder}, true
	} else if c := parts[0][0]; c >= '0' && c <= '9' {
		parts[0] = placeholder + parts[0]
	}
	if lost {
		parts = append(parts, Hash(name))
	}
	out := join(parts)
	if len(out) <= maxLength {
		return out
	}
	return join([]string{strings.TrimRight(out[:maxLength-hashLength-1], "_"), Hash(name)})
}

// words splits name into lower-case ASCII words. lost reports whether it dropped a character other than a separator.
func words(name string) (parts []string, lost bool) {
	start := -1 // of the word being read
	flush := func(end int) {
		if start >= 0 {
			parts = append(parts, strings.ToLower(name[start:end]))
		}
		start = -1
	}
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case !isAlnum(c):
			flush(i)
			lost = lost || c < ' ' || c > '~'
		case start >= 0 && beginsWord(name, i):
			flush(i)
			start = i
		case start < 0:
			start = i
		}
	}
	flush(len(name))
	return parts, lost
}

// beginsWord reports whether a word begins at name[i] without a separator, as in getDocument and HTTPServer.
func beginsWord(name string, i int) bool {
	if !isUpper(name[i]) {
		return false
	}
	if !isUpper(name[i-1]) {
		return true
	}
	return i+1 < len(name) && isLower(name[i+1])
}

// IsIdentifier reports whether name has the form of an ECMAScript identifier: letters and digits of any script, _ and $,
// without a digit at the beginning, all of them [Visible]. Python's identifiers are the same without $. Keywords are
// accepted.
func IsIdentifier(name string) bool {
	for i, r := range name {
		first := r == '_' || r == '$' || unicode.In(r, unicode.L, unicode.Nl, unicode.Other_ID_Start)
		if !Visible(r) || !first && (i == 0 || !unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, unicode.Other_ID_Continue)) {
			return false
		}
	}
	return name != ""
}

func titleAll(parts []string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(strings.ToUpper(p[:1]))
		b.WriteString(p[1:])
	}
	return b.String()
}

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
func isLower(c byte) bool { return c >= 'a' && c <= 'z' }
func isAlnum(c byte) bool { return isUpper(c) || isLower(c) || (c >= '0' && c <= '9') }
