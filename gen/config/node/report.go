package node

import "fmt"

// FileError is a mistake in a configuration file.
type FileError struct {
	// File is the file as it was named. Line and Column count from 1; 0 means unknown.
	File         string
	Line, Column int
	// Key is the place in the file, such as mcpServers.github.url. It may be empty.
	Key string
	// Problem is what is wrong, and Remedy what to do about it.
	Problem, Remedy string
}

func (e *FileError) Error() string {
	place := e.File
	if e.Line > 0 {
		place = fmt.Sprintf("%s:%d", e.File, e.Line)
	}
	if e.Line > 0 && e.Column > 0 {
		place += fmt.Sprintf(":%d", e.Column)
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

// Note is something about a configuration file that a person should know. It never contains a value from the file.
type Note struct {
	// File is the file as it was named. Line counts from 1; 0 means that there is none.
	File string
	Line int
	// Server and Key say what the note is about. Either may be empty.
	Server, Key string
	Message     string
	// Minor means that nothing is lost through what the note describes.
	Minor bool
}

// String returns the note on one line.
func (n Note) String() string { return n.Place() + ": " + n.Message }

// Place returns the file, line, server and key.
func (n Note) Place() string {
	place := n.File
	if n.Line > 0 {
		place = fmt.Sprintf("%s:%d", n.File, n.Line)
	}
	if n.Server != "" {
		place += fmt.Sprintf(": server %q", n.Server)
	}
	if n.Key != "" {
		place += ": " + n.Key
	}
	return place
}
