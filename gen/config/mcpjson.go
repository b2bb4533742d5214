package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
	"golang.org/x/net/http/httpguts"
)

// file is one parsed JSONC file; its methods make errors with a line.
type file struct {
	name string
	dir  string
	text []byte
}

func (f *file) line(offset int) int {
	return 1 + bytes.Count(f.text[:min(max(offset, 0), len(f.text))], []byte("\n"))
}

func (f *file) errorAt(v hujson.Value, key, problem, remedy string) error {
	return &FileError{File: f.name, Line: f.line(v.StartOffset), Key: key, Problem: problem, Remedy: remedy}
}

// parseServers reads the mcpServers object of a .mcp.json, JSONC accepted. Mistakes of different servers are joined.
func parseServers(name, dir string, text []byte) ([]Server, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	f := &file{name: name, dir: dir, text: text}
	root, err := f.parse()
	if err != nil {
		return nil, err
	}
	top, ok := root.Value.(*hujson.Object)
	if !ok {
		return nil, f.errorAt(root, "", "the file holds "+kindOf(root)+", not an object", `write {"mcpServers": {…}}`)
	}
	members, err := f.members(top, "")
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(members, func(m member) bool { return m.name == "mcpServers" })
	if i < 0 {
		return nil, f.errorAt(root, "", `there is no "mcpServers"`, `write {"mcpServers": {"name": {"command": …}}}`+foreignHint(members))
	}
	list, ok := members[i].value.Value.(*hujson.Object)
	if !ok {
		return nil, f.errorAt(members[i].value, "mcpServers", "it is "+kindOf(members[i].value)+", not an object", "map each server's name to its settings")
	}
	entries, err := f.members(list, "mcpServers")
	if err != nil {
		return nil, err
	}
	var servers []Server
	var errs []error
	for _, m := range entries {
		s, err := f.server(m)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		servers = append(servers, s)
	}
	return servers, errors.Join(errs...)
}

func (f *file) parse() (hujson.Value, error) {
	if !utf8.Valid(f.text) {
		return hujson.Value{}, &FileError{File: f.name, Problem: "the file is not UTF-8", Remedy: "save it as UTF-8"}
	}
	root, err := hujson.Parse(f.text)
	if err == nil {
		return root, nil
	}
	// The library says "hujson: line 3, column 5: what"; only what it says about the place is kept, since its text
	// quotes the file.
	var line, column int
	if _, scanErr := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column); scanErr != nil {
		line = 0
	}
	return hujson.Value{}, &FileError{File: f.name, Line: line, Problem: fmt.Sprintf("the JSON cannot be read at column %d", column),
		Remedy: "look for a missing comma, quote or brace there; comments and trailing commas are fine"}
}

// foreignHint names the key under which other programs keep their servers, if the file has it.
func foreignHint(members []member) string {
	for _, m := range members {
		switch m.name {
		case "servers", "mcp", "context_servers":
			return fmt.Sprintf("; this file has %q, which is another program's form", m.name)
		}
	}
	return ""
}

// member is one key of an object.
type member struct {
	name  string
	key   hujson.Value // where the key stands
	value hujson.Value
}

// members lists an object in the file's order and refuses a repeated key.
func (f *file) members(obj *hujson.Object, path string) ([]member, error) {
	seen := make(map[string]int, len(obj.Members))
	list := make([]member, 0, len(obj.Members))
	for _, m := range obj.Members {
		lit, _ := m.Name.Value.(hujson.Literal)
		name := lit.String()
		if first, dup := seen[name]; dup {
			return nil, f.errorAt(m.Name, join(path, name), fmt.Sprintf("the key is already on line %d", first), "remove or rename one of the two")
		}
		seen[name] = f.line(m.Name.StartOffset)
		list = append(list, member{name: name, key: m.Name, value: m.Value})
	}
	return list, nil
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// server reads one entry of mcpServers. Keys it does not know belong to other programs and are ignored.
func (f *file) server(entry member) (Server, error) {
	path := join("mcpServers", entry.name)
	s := Server{Key: entry.name, Dir: f.dir, Source: f.name}
	if strings.TrimSpace(entry.name) == "" {
		return s, f.errorAt(entry.key, "mcpServers", "a server has a blank name", "give it a name")
	}
	obj, ok := entry.value.Value.(*hujson.Object)
	if !ok {
		return s, f.errorAt(entry.value, path, "it is "+kindOf(entry.value)+", not an object", `write {"command": …} or {"url": …}`)
	}
	members, err := f.members(obj, path)
	if err != nil {
		return s, err
	}
	var kind string
	given := make(map[string]hujson.Value)
	for _, m := range members {
		given[m.name] = m.key
		key := join(path, m.name)
		switch m.name {
		case "type":
			kind, err = f.str(m.value, key)
		case "command":
			s.Command, err = f.str(m.value, key)
		case "args":
			s.Args, err = f.list(m.value, key)
		case "env":
			s.Env, err = f.mapping(m.value, key)
		case "cwd":
			s.Cwd, err = f.str(m.value, key)
		case "url":
			s.URL, err = f.str(m.value, key)
		case "headers":
			s.Headers, err = f.mapping(m.value, key)
		}
		if err != nil {
			return s, err
		}
	}
	if err := f.transport(&s, entry, path, kind, given); err != nil {
		return s, err
	}
	return s, f.checkNames(s, path, given)
}

// transport settles how the server is reached, and refuses entries that say two things or nothing.
func (f *file) transport(s *Server, entry member, path, kind string, given map[string]hujson.Value) error {
	_, hasCommand := given["command"]
	_, hasURL := given["url"]
	switch {
	case hasCommand && hasURL:
		return f.errorAt(given["url"], path, `it has both "command" and "url"`, "keep one: command for a program to start, url for a remote server")
	case !hasCommand && !hasURL:
		return f.errorAt(entry.key, path, `it has neither "command" nor "url"`, "give it one: command for a program to start, url for a remote server")
	case hasCommand && strings.TrimSpace(s.Command) == "":
		return f.errorAt(given["command"], join(path, "command"), "it is empty", "name the program to start")
	case hasURL && strings.TrimSpace(s.URL) == "":
		return f.errorAt(given["url"], join(path, "url"), "it is empty", "write the server's http(s) address")
	}
	_, hasType := given["type"]
	if !hasType {
		s.Transport = TransportStdio
		if hasURL {
			s.Transport, s.Inferred = TransportHTTP, true
		}
		return nil
	}
	switch strings.ToLower(kind) {
	case "stdio":
		s.Transport = TransportStdio
	case "http", "streamable-http", "streamablehttp", "streamable_http":
		s.Transport = TransportHTTP
	case "sse":
		s.Transport = TransportSSE
	default:
		return f.errorAt(given["type"], join(path, "type"), "the transport is not known", "use stdio, http (streamable HTTP) or sse")
	}
	if (s.Transport == TransportStdio) != hasCommand {
		return f.errorAt(given["type"], join(path, "type"), fmt.Sprintf("it is %s, but the server has %q", s.Transport, other(hasCommand)), "change the one or the other")
	}
	return nil
}

func other(hasCommand bool) string {
	if hasCommand {
		return "command"
	}
	return "url"
}

// checkNames refuses names of variables and headers that could not be sent.
func (f *file) checkNames(s Server, path string, given map[string]hujson.Value) error {
	for name := range s.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return f.errorAt(given["env"], join(path, "env"), fmt.Sprintf("%q cannot name a variable", name), "rename it")
		}
	}
	for name := range s.Headers {
		if !httpguts.ValidHeaderFieldName(name) {
			return f.errorAt(given["headers"], join(path, "headers"), fmt.Sprintf("%q cannot name a header", name), "rename it")
		}
	}
	return nil
}

// str reads a string.
func (f *file) str(v hujson.Value, key string) (string, error) {
	lit, ok := v.Value.(hujson.Literal)
	if !ok || lit.Kind() != '"' {
		return "", f.errorAt(v, key, "it is "+kindOf(v)+", not a string", "write it as one string"+commandHint(key))
	}
	return decodeString(lit), nil
}

func commandHint(key string) string {
	if strings.HasSuffix(key, ".command") {
		return ", and put arguments into args"
	}
	return ""
}

// scalar reads a string; a number or a boolean counts as its own text, since both are common in env and args.
func (f *file) scalar(v hujson.Value, key string) (string, error) {
	lit, ok := v.Value.(hujson.Literal)
	if ok {
		switch lit.Kind() {
		case '"':
			return decodeString(lit), nil
		case '0', 't', 'f':
			return string(lit), nil
		}
	}
	return "", f.errorAt(v, key, "it is "+kindOf(v)+", not a string", "write it as a string")
}

func decodeString(lit hujson.Literal) string {
	var s string
	if json.Unmarshal(lit, &s) != nil { // the parser accepted it, so this does not happen
		return ""
	}
	return s
}

func (f *file) list(v hujson.Value, key string) ([]string, error) {
	arr, ok := v.Value.(*hujson.Array)
	if !ok {
		return nil, f.errorAt(v, key, "it is "+kindOf(v)+", not a list", `write it as ["first", "second"]`)
	}
	list := make([]string, 0, len(arr.Elements))
	for i, e := range arr.Elements {
		s, err := f.scalar(e, fmt.Sprintf("%s[%d]", key, i))
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

func (f *file) mapping(v hujson.Value, key string) (map[string]string, error) {
	obj, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil, f.errorAt(v, key, "it is "+kindOf(v)+", not an object", `write it as {"NAME": "value"}`)
	}
	members, err := f.members(obj, key)
	if err != nil {
		return nil, err
	}
	values := make(map[string]string, len(members))
	for _, m := range members {
		if values[m.name], err = f.scalar(m.value, join(key, m.name)); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// kindOf names a value's kind, never the value.
func kindOf(v hujson.Value) string {
	switch v.Value.Kind() {
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 't', 'f':
		return "a boolean"
	case '{':
		return "an object"
	case '[':
		return "a list"
	}
	return "null"
}
