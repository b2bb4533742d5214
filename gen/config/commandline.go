package config

import (
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"github.com/google/shlex"
)

// IsServerText reports whether a text is a server for [FromCommandLine] and not the name of one: an address, a command with
// arguments, or the path of a program.
func IsServerText(text string) bool {
	return strings.Contains(text, "://") || strings.ContainsAny(text, " \t\n\\") || strings.HasPrefix(text, ".") || strings.HasPrefix(text, "/")
}

// FromCommandLine returns the server that a person gives as one text, without a file: its http(s) address, or the command that starts it,
// with arguments separated by blanks and optionally quoted. Relative paths start at dir, where the command is started. The server's name is
// derived from the text. Variables are not yet expanded.
func FromCommandLine(text, dir string) (Server, error) {
	s := Server{Transport: TransportStdio, Dir: dir, Source: "the command line", Host: Project}
	if strings.Contains(strings.SplitN(text, " ", 2)[0], "://") {
		at, err := url.Parse(text)
		if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
			return s, fmt.Errorf("the address of the server is not one of http or https")
		}
		s.Transport, s.Inferred, s.URL, s.Key = TransportHTTP, true, text, at.Hostname()
		return s, nil
	}
	words := strings.Fields(text)
	if strings.ContainsAny(text, `"'`) { // otherwise a backslash stands for itself, as in paths on Windows
		var err error
		if words, err = shlex.Split(text); err != nil {
			return s, fmt.Errorf("read the command of the server: a quote is not closed")
		}
	}
	if len(words) == 0 {
		return s, fmt.Errorf("the command of the server is empty")
	}
	s.Command, s.Args = words[0], words[1:]
	s.Key = nameOf(words)
	return s, nil
}

// nameOf names a server after the package that a command runs, or else after the program.
func nameOf(words []string) string {
	command, args := Program(words[0], words[1:])
	switch command {
	case "npx", "pnpx", "bunx", "uvx":
		for _, arg := range args {
			if name := path.Base(arg); !strings.HasPrefix(arg, "-") && name != "" {
				return name
			}
		}
	}
	return strings.TrimSuffix(filepath.Base(words[0]), filepath.Ext(words[0]))
}

// Program returns what a command runs: the name of the program in lower case, without its folder and without an extension of Windows, and
// its arguments. "cmd /c npx x" runs npx, as on Windows, where npx is a script that only the shell can start.
func Program(command string, args []string) (name string, rest []string) {
	if name = programName(command); name == "cmd" && len(args) > 1 && strings.EqualFold(args[0], "/c") {
		return programName(args[1]), args[2:]
	}
	return name, args
}

func programName(command string) string {
	name := strings.ToLower(filepath.Base(command))
	for _, ext := range []string{".cmd", ".exe", ".bat"} {
		name = strings.TrimSuffix(name, ext)
	}
	return name
}
