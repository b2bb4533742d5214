package config

import "fmt"

// FileError is a mistake in a configuration file.
type FileError struct {
	// File is the file as it was named, Line counts from 1; 0 when the mistake has no line.
	File string
	Line int
	// Key says where in the file, such as mcpServers.github.url; it may be empty.
	Key string
	// Problem says what is wrong, Remedy what to do about it.
	Problem, Remedy string
}

func (e *FileError) Error() string {
	place := e.File
	if e.Line > 0 {
		place = fmt.Sprintf("%s:%d", e.File, e.Line)
	}
	if e.Key != "" {
		place += ": " + e.Key
	}
	text := place + ": " + e.Problem
	if e.Remedy != "" {
		text += "; " + e.Remedy
	}
	return text
}

// ExpandError is a variable that could not be expanded. It never holds a value.
type ExpandError struct {
	// Server is the server's name, Field the place in it, such as headers.Authorization or args[2].
	Server, Field string
	// Problem says what is wrong, Remedy what to do about it.
	Problem, Remedy string
}

func (e *ExpandError) Error() string {
	return fmt.Sprintf("server %q: %s: %s; %s", e.Server, e.Field, e.Problem, e.Remedy)
}
