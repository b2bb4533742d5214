package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// DotEnvName is the file of variables in the folder of a project.
const DotEnvName = ".env"

// DotEnv reads the .env in dir. If there is none, it returns an empty map. The environment takes precedence: see [WithDotEnv].
//
// A line is NAME=value, with an optional "export " before it. A value in single quotes is literal, one in double quotes has the escapes
// \n, \t, \r, \" and \\, and a bare one ends at " #". Values are single lines and contain no variables.
func DotEnv(dir string) (map[string]string, error) {
	vars, err := readDotEnv(filepath.Join(dir, DotEnvName))
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]string{}, nil
	}
	return vars, err
}

func readDotEnv(path string) (map[string]string, error) {
	text, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("read variables: %w", err)
	}
	if !utf8.Valid(text) {
		return nil, &FileError{File: path, Problem: "the file is not UTF-8", Remedy: "save it as UTF-8"}
	}
	vars := make(map[string]string)
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, raw, found := strings.Cut(line, "=")
		name = strings.TrimSpace(strings.TrimPrefix(name, "export "))
		if !found || !IsVariableName(name) {
			return nil, &FileError{File: path, Line: i + 1, Problem: "the line is not NAME=value", Remedy: "correct it, or start it with #"}
		}
		value, ok := dotEnvValue(strings.TrimSpace(raw))
		if !ok {
			return nil, &FileError{File: path, Line: i + 1, Key: name, Problem: "the quoted value does not end on its line", Remedy: `close the quote; write a line break as \n in double quotes`}
		}
		vars[name] = value
	}
	return vars, nil
}

func dotEnvValue(raw string) (string, bool) {
	switch {
	case strings.HasPrefix(raw, "'"):
		value, rest, closed := strings.Cut(raw[1:], "'")
		return value, closed && isComment(rest)
	case strings.HasPrefix(raw, `"`):
		return doubleQuoted(raw[1:])
	}
	for i := range raw {
		if raw[i] == '#' && (i == 0 || raw[i-1] == ' ' || raw[i-1] == '\t') {
			raw = raw[:i]
			break
		}
	}
	return strings.TrimSpace(raw), true
}

func doubleQuoted(s string) (string, bool) {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return out.String(), isComment(s[i+1:])
		case c == '\\' && i+1 < len(s):
			i++
			if j := strings.IndexByte(`nrt"\`, s[i]); j >= 0 {
				out.WriteByte("\n\r\t\"\\"[j])
			} else {
				out.WriteByte('\\')
				out.WriteByte(s[i])
			}
		default:
			out.WriteByte(c)
		}
	}
	return "", false
}

// isComment reports whether rest, which follows a closing quote, is empty or a comment.
func isComment(rest string) bool {
	rest = strings.TrimSpace(rest)
	return rest == "" || strings.HasPrefix(rest, "#")
}

// WithDotEnv returns a lookup in env and, for variables that env does not have, in vars. env may be nil.
func WithDotEnv(env Lookup, vars map[string]string) Lookup {
	return func(name string) (string, bool) {
		if env != nil {
			if value, ok := env(name); ok {
				return value, true
			}
		}
		value, ok := vars[name]
		return value, ok
	}
}
