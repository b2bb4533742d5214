package config

import "fmt"

// Note is something about a configuration that a person should know, or, when Minor, may want to. It never holds a
// value.
type Note struct {
	// File is the file as it was named, Line counts from 1; 0: none.
	File string
	Line int
	// Server and Key say what it is about; either may be empty.
	Server, Key string
	Message     string
	// Minor says that nothing is lost: the note is for those who ask for all.
	Minor bool
}

// String is the whole note on one line.
func (n Note) String() string { return n.Place() + ": " + n.Message }

// Place is the file, line, server and key.
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
