package config

import (
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// Lookup finds a variable, as os.LookupEnv does.
type Lookup = func(name string) (value string, ok bool)

// Expand returns the server with its variables replaced and its paths made absolute: ready to connect to, and not to
// be kept, written or printed. The forms are ${VAR}, ${VAR:-default} (for an unset or empty VAR) and ${env:VAR},
// in command, args, env, url, headers and cwd; $VAR and every other text stay as they are. A default is plain text. A
// nil lookup knows no variable.
//
// A relative cwd, and a relative command that contains a slash, are taken from the folder of the configuration file,
// which is also the working directory where none is given.
//
// The error is an [*ExpandError]; it names the server and the field and never holds a value.
func (s Server) Expand(lookup Lookup) (Server, error) {
	if lookup == nil {
		lookup = func(string) (string, bool) { return "", false }
	}
	e := expander{server: s.Key, lookup: lookup}
	out := s
	out.Command = e.text("command", s.Command)
	out.Cwd = e.text("cwd", s.Cwd)
	out.URL = e.text("url", s.URL)
	out.Args = slices.Clone(s.Args)
	for i, arg := range s.Args {
		out.Args[i] = e.text(fmt.Sprintf("args[%d]", i), arg)
	}
	out.Env = e.mapping("env", s.Env)
	out.Headers = e.mapping("headers", s.Headers)
	if e.err != nil {
		return Server{}, e.err
	}
	if s.Transport == TransportStdio {
		return out.resolve()
	}
	return out, out.checkURL()
}

// resolve makes the paths of a stdio server absolute.
func (s Server) resolve() (Server, error) {
	if s.Command == "" {
		return Server{}, &ExpandError{Server: s.Key, Field: "command", Problem: "it is empty once its variables are replaced", Remedy: "set them to the program to start"}
	}
	if strings.ContainsRune(filepath.ToSlash(s.Command), '/') && !filepath.IsAbs(s.Command) {
		s.Command = filepath.Join(s.Dir, s.Command)
	}
	if !filepath.IsAbs(s.Cwd) {
		s.Cwd = filepath.Join(s.Dir, s.Cwd)
	}
	return s, nil
}

// checkURL refuses addresses that no HTTP client could use; the address itself may be secret and is not shown.
func (s Server) checkURL() error {
	u, err := url.Parse(s.URL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return &ExpandError{Server: s.Key, Field: "url", Problem: "it is not an http or https address", Remedy: "write it as https://host/path"}
	}
	return nil
}

// expander replaces variables and keeps the first error.
type expander struct {
	server string
	lookup Lookup
	err    error
}

func (e *expander) mapping(field string, values map[string]string) map[string]string {
	out := make(map[string]string, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) { // sorted: the same error each time
		out[name] = e.text(field+"."+name, values[name])
	}
	return out
}

func (e *expander) text(field, s string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(s, "${")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		body, after, closed := strings.Cut(rest, "}")
		if !closed { // no reference, just text
			out.WriteString("${" + rest)
			return out.String()
		}
		name, def, hasDefault := parseReference(body)
		if !isName(name) {
			// Another program's form, such as ${input:token}: it would reach the server as it stands.
			e.fail(field, fmt.Sprintf("${%s…} is not a variable", prefixOf(body)), "use ${VAR}, ${VAR:-default} or ${env:VAR}")
			return ""
		}
		value, ok := e.lookup(name)
		switch {
		case ok && (value != "" || !hasDefault):
			out.WriteString(value)
		case hasDefault:
			out.WriteString(def)
		default:
			e.fail(field, fmt.Sprintf("the variable %s is not set", name), fmt.Sprintf("set it in the environment or in .env, or write ${%s:-default}", name))
			return ""
		}
		s = after
	}
}

func (e *expander) fail(field, problem, remedy string) {
	if e.err == nil {
		e.err = &ExpandError{Server: e.server, Field: field, Problem: problem, Remedy: remedy}
	}
}

// parseReference splits the inside of ${…}.
func parseReference(body string) (name, def string, hasDefault bool) {
	name, def, hasDefault = strings.Cut(body, ":-")
	return strings.TrimPrefix(name, "env:"), def, hasDefault
}

func isName(s string) bool {
	for i, r := range s {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// prefixOf returns the leading letters of a reference that is not one of ours: enough to recognise it by.
func prefixOf(body string) string {
	for i, r := range body {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') || i >= 20 {
			return body[:i]
		}
	}
	return body
}
