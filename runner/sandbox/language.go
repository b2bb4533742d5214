package sandbox

import (
	"path"
	"slices"
	"strings"
)

// Language is the language of a script.
type Language string

const (
	LangTypeScript Language = "typescript" // TypeScript and JavaScript
	LangPython     Language = "python"
)

// Languages returns the languages of scripts, the usual one first.
func Languages() []Language { return []Language{LangTypeScript, LangPython} }

// Named returns the language that people and models call so, in any case: "typescript", "ts", "javascript", "js", "python", "python3" or "py".
func Named(name string) (lang Language, ok bool) {
	switch strings.ToLower(name) {
	case "typescript", "ts", "javascript", "js":
		return LangTypeScript, true
	case "python", "python3", "py":
		return LangPython, true
	}
	return "", false
}

// Extensions returns the extensions of a language's files with their dots, the usual one first.
func (l Language) Extensions() []string {
	switch l {
	case LangTypeScript:
		return []string{".ts", ".tsx", ".mts", ".cts", ".js", ".mjs", ".cjs", ".jsx"}
	case LangPython:
		return []string{".py"}
	}
	return nil
}

// LanguageOf returns the language of a file by its extension, in any case. It is empty for files that are no scripts, such as declarations of
// TypeScript (.d.ts).
func LanguageOf(file string) Language {
	file = strings.ToLower(file)
	for _, l := range Languages() {
		if slices.Contains(l.Extensions(), path.Ext(file)) && !strings.HasSuffix(file, ".d.ts") {
			return l
		}
	}
	return ""
}

// JavaScript reports whether a file is a script in plain JavaScript, without types, by its extension in any case.
func JavaScript(file string) bool {
	return LanguageOf(file) == LangTypeScript && strings.Contains(strings.ToLower(path.Ext(file)), "js")
}
