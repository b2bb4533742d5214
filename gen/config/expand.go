package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// Expand returns the server with its variables replaced and its paths made absolute, ready to connect to. The result contains secrets, and
// must not be written or printed. The forms are
//
//   - ${VAR}, ${VAR:-default} (for an unset or empty VAR) and ${env:VAR};
//   - ${input:ID}, for the variable that [InputVariable] returns;
//   - ${file:PATH}, the text of a file without the line break at its end; a relative PATH starts at Dir, and ~ is HOME;
//   - ${:-text}, the text itself: ${:-$}{A} writes a ${A} that is no variable.
//
// They are replaced in command, args, env, envFile, url, headers, cwd and the OAuth settings. $VAR and other text stay. A default is plain
// text. A nil lookup knows no variable.
//
// A relative cwd, and a relative command with a slash, start at Dir, which is also the default working directory. The variables of EnvFile
// and PassEnv are in the Env of the result.
//
// The error is an [*ExpandError].
func (s Server) Expand(lookup Lookup) (Server, error) { return s.ExpandNoting(lookup, nil) }

// ExpandNoting is Expand with a function that is called for each value from a variable or a file, so that these values can be removed from
// what is written or printed. note may be nil.
func (s Server) ExpandNoting(lookup Lookup, note func(name, value string)) (Server, error) {
	if lookup == nil {
		lookup = func(string) (string, bool) { return "", false }
	}
	if note == nil {
		note = func(string, string) {}
	}
	e := expander{server: s.Key, dir: s.Dir, lookup: lookup, note: note}
	out := s
	out.Command = e.text("command", s.Command)
	out.Cwd = e.text("cwd", s.Cwd)
	out.URL = e.text("url", s.URL)
	out.Args = slices.Clone(s.Args)
	for i, arg := range s.Args {
		out.Args[i] = e.text(fmt.Sprintf("args[%d]", i), arg)
	}
	out.Env = e.environment(s)
	out.EnvFile, out.PassEnv = "", nil
	out.Headers = e.mapping("headers", s.Headers)
	out.OAuth = e.oauth(s.OAuth)
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

// checkURL refuses addresses that no HTTP client can use. The error does not show the address, which may be a secret.
func (s Server) checkURL() error {
	u, err := url.Parse(s.URL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return &ExpandError{Server: s.Key, Field: "url", Problem: "it is not an http or https address", Remedy: "write it as https://host/path"}
	}
	return nil
}

// expander replaces variables and records the first error.
type expander struct {
	server, dir string
	lookup      Lookup
	note        func(name, value string)
	secret      bool // nobody is advised to write a default for it
	err         error
}

func (e *expander) mapping(field string, values map[string]string) map[string]string {
	out := make(map[string]string, len(values))
	for _, name := range sortedKeys(values) { // sorted, so that the first error is the same each time
		out[name] = e.text(field+"."+name, values[name])
	}
	return out
}

// environment returns the variables of a stdio server in addition to those that every server inherits: those from its file and those passed
// on, overridden by its env.
func (e *expander) environment(s Server) map[string]string {
	out := map[string]string{}
	if path := e.text("envFile", s.EnvFile); path != "" {
		vars, err := readDotEnv(e.path(path))
		if err != nil {
			var bad *FileError
			problem := "the file cannot be read"
			if errors.As(err, &bad) {
				problem = fmt.Sprintf("line %d of the file: %s", bad.Line, bad.Problem)
			} else if errors.Is(err, fs.ErrNotExist) {
				problem = "there is no such file"
			}
			e.fail("envFile", problem, "correct the file or its name")
			return nil
		}
		for name, value := range vars {
			if own, ok := e.lookup(name); ok { // the environment takes precedence, as with .env
				value = own
			}
			e.note(name, value)
			out[name] = value
		}
	}
	for _, name := range s.PassEnv {
		if value, ok := e.lookup(name); ok {
			e.note(name, value)
			out[name] = value
		}
	}
	maps.Copy(out, e.mapping("env", s.Env))
	return out
}

func (e *expander) oauth(o *OAuth) *OAuth {
	if o == nil {
		return nil
	}
	out := *o
	out.ClientID = e.text("oauth.clientId", o.ClientID)
	out.ClientSecret = e.text("oauth.clientSecret", o.ClientSecret)
	out.ClientMetadataURL = e.text("oauth.clientMetadataUrl", o.ClientMetadataURL)
	out.Resource = e.text("oauth.resource", o.Resource)
	out.TokenEndpoint = e.text("oauth.tokenEndpoint", o.TokenEndpoint)
	return &out
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
		if !closed { // not a reference
			out.WriteString("${" + rest)
			return out.String()
		}
		value, ok := e.reference(field, body)
		if !ok {
			return ""
		}
		out.WriteString(value)
		s = after
	}
}

// reference returns what ${body} stands for.
func (e *expander) reference(field, body string) (string, bool) {
	if path, ok := strings.CutPrefix(body, "file:"); ok {
		return e.file(field, path)
	}
	name, def, hasDefault := strings.Cut(body, ":-")
	if name == "" && hasDefault {
		return def, true
	}
	if id, ok := strings.CutPrefix(name, "input:"); ok && variableName(id) != "" {
		name = InputVariable(id)
	}
	name = strings.TrimPrefix(name, "env:")
	if !IsVariableName(name) {
		// Another program's form would reach the server unchanged.
		e.fail(field, fmt.Sprintf("${%s…} is not a variable", prefixOf(body)), "use ${VAR}, ${VAR:-default}, ${env:VAR}, ${input:ID} or ${file:PATH}")
		return "", false
	}
	value, ok := e.lookup(name)
	switch {
	case ok && (value != "" || !hasDefault):
		e.note(name, value)
		return value, true
	case hasDefault:
		return def, true
	}
	remedy := "set it in the environment or in .env"
	if !e.secret {
		remedy += fmt.Sprintf(", or write ${%s:-default}", name)
	}
	e.fail(field, fmt.Sprintf("the variable %s is not set", name), remedy)
	return "", false
}

// file returns the text of a file, for ${file:PATH}.
func (e *expander) file(field, path string) (string, bool) {
	text, err := readFile(e.path(path))
	if err != nil {
		e.fail(field, fmt.Sprintf("the file %q cannot be read", path), "create it, or correct its path")
		return "", false
	}
	value := strings.TrimRight(string(text), "\r\n")
	e.note(filepath.Base(path), value)
	return value, true
}

// path makes a file's path absolute.
func (e *expander) path(path string) string {
	if rest, ok := strings.CutPrefix(filepath.ToSlash(path), "~/"); ok {
		if home, known := e.lookup(homeVariable()); known {
			return filepath.Join(home, filepath.FromSlash(rest))
		}
	}
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(e.dir, path)
}

func (e *expander) fail(field, problem, remedy string) {
	if e.err == nil {
		e.err = &ExpandError{Server: e.server, Field: field, Problem: problem, Remedy: remedy}
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// prefixOf returns the first letters of a reference that is not one of ours, by which to recognise it.
func prefixOf(body string) string {
	for i, r := range body {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') || i >= 20 {
			return body[:i]
		}
	}
	return body
}

// ExpandError reports a variable that could not be expanded. It never contains a value.
type ExpandError struct {
	// Server is the server's name, and Field the place in it, such as headers.Authorization or args[2].
	Server, Field string
	// Problem is what is wrong, and Remedy what to do about it.
	Problem, Remedy string
}

func (e *ExpandError) Error() string {
	return fmt.Sprintf("server %q: %s: %s; %s", e.Server, e.Field, e.Problem, e.Remedy)
}
