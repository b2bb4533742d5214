package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Language is a language wrappers are written in.
type Language string

const (
	TypeScript Language = "typescript"
	Python     Language = "python"
)

// DefaultOut is the folder the tree is written to when nothing else is said.
const DefaultOut = "servers"

// Settings are those of mcpgen.yaml.
type Settings struct {
	// Languages is never empty; without a setting it is both.
	Languages []Language
	// Out is the tree's folder, relative to the configuration file unless absolute; "servers" without a setting.
	Out string
	// Servers holds settings by server name; a server without an entry has the zero value.
	Servers map[string]ServerSettings
}

// ServerSettings are the settings of one server.
type ServerSettings struct {
	// Include and Exclude are globs over tool names: * is any text, ? any one character. A tool counts when it fits
	// an Include (or there is none) and no Exclude.
	Include, Exclude []string
	// Timeout bounds one tool call; 0 leaves it to the caller.
	Timeout time.Duration
}

// Allows reports whether a tool passes Include and Exclude.
func (s ServerSettings) Allows(tool string) bool {
	fits := func(glob string) bool { return matchGlob(glob, tool) }
	if slices.ContainsFunc(s.Exclude, fits) {
		return false
	}
	return len(s.Include) == 0 || slices.ContainsFunc(s.Include, fits)
}

// matchGlob matches the whole of s. Unlike path.Match, * also spans a slash: a tool name may hold anything, and an
// exclude rule must not be escaped by it.
func matchGlob(glob, s string) bool {
	g, t := []rune(glob), []rune(s)
	i, j := 0, 0
	star, mark := -1, 0 // where the last * stands, and how far it has eaten
	for j < len(t) {
		switch {
		case i < len(g) && g[i] == '*':
			star, mark = i, j
			i++
		case i < len(g) && (g[i] == '?' || g[i] == t[j]):
			i, j = i+1, j+1
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	for i < len(g) && g[i] == '*' {
		i++
	}
	return i == len(g)
}

// settingsFile is the form of mcpgen.yaml. Nodes are kept where an error needs a line.
type settingsFile struct {
	Version   yaml.Node `yaml:"version"`
	Languages yaml.Node `yaml:"languages"`
	Out       yaml.Node `yaml:"out"`
	Servers   yaml.Node `yaml:"servers"`
}

type serverFile struct {
	Include []string  `yaml:"include"`
	Exclude []string  `yaml:"exclude"`
	Timeout yaml.Node `yaml:"timeout"`
}

// loadSettings reads mcpgen.yaml; a missing file gives the defaults.
func loadSettings(path string, servers []Server) (Settings, error) {
	text, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return defaultSettings(), nil
	}
	if err != nil {
		return Settings{}, fmt.Errorf("read settings: %w", err)
	}
	return parseSettings(path, text, servers)
}

func defaultSettings() Settings {
	return Settings{Languages: []Language{TypeScript, Python}, Out: DefaultOut, Servers: map[string]ServerSettings{}}
}

func parseSettings(path string, text []byte, servers []Server) (Settings, error) {
	y := &yamlFile{name: path}
	out := defaultSettings()
	var f settingsFile
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(&f); err != nil && !errors.Is(err, io.EOF) {
		return Settings{}, y.decodeError(err, "version, languages, out, servers")
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return Settings{}, &FileError{File: path, Problem: "the file holds more than one document", Remedy: "keep one, without ---"}
	}
	if f.Version.IsZero() {
		return Settings{}, &FileError{File: path, Line: 1, Key: "version", Problem: "it is missing", Remedy: "write version: 1 at the top"}
	}
	if f.Version.Value != "1" || f.Version.Tag != "!!int" {
		return Settings{}, y.errorAt(&f.Version, "version", "only version 1 is known", "write version: 1, or use a newer mcpgen")
	}
	if err := y.languages(&f.Languages, &out); err != nil {
		return Settings{}, err
	}
	if !f.Out.IsZero() {
		if f.Out.Tag != "!!str" || strings.TrimSpace(f.Out.Value) == "" {
			return Settings{}, y.errorAt(&f.Out, "out", "it is not the name of a folder", "write out: servers")
		}
		out.Out = f.Out.Value
	}
	return out, y.servers(&f.Servers, servers, &out)
}

// yamlFile makes errors with a line.
type yamlFile struct{ name string }

func (y *yamlFile) errorAt(n *yaml.Node, key, problem, remedy string) error {
	return &FileError{File: y.name, Line: n.Line, Key: key, Problem: problem, Remedy: remedy}
}

func (y *yamlFile) languages(n *yaml.Node, out *Settings) error {
	if n.IsZero() {
		return nil
	}
	const remedy = "write languages: [typescript, python], or one of them"
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		return y.errorAt(n, "languages", "it is not a list of languages", remedy)
	}
	out.Languages = nil
	for _, item := range n.Content {
		lang := Language(item.Value)
		if lang != TypeScript && lang != Python {
			return y.errorAt(item, "languages", fmt.Sprintf("%q is not known", item.Value), remedy)
		}
		if slices.Contains(out.Languages, lang) {
			return y.errorAt(item, "languages", fmt.Sprintf("%q is there twice", item.Value), remedy)
		}
		out.Languages = append(out.Languages, lang)
	}
	return nil
}

func (y *yamlFile) servers(n *yaml.Node, known []Server, out *Settings) error {
	if n.IsZero() || n.Tag == "!!null" {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return y.errorAt(n, "servers", "it is not a mapping", "write each server's name, and its settings below it")
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, body := n.Content[i], n.Content[i+1]
		key := join("servers", name.Value)
		if !slices.ContainsFunc(known, func(s Server) bool { return s.Key == name.Value }) {
			return y.errorAt(name, key, "no such server is in "+FileName, "correct the name, or remove the entry")
		}
		if _, dup := out.Servers[name.Value]; dup {
			return y.errorAt(name, key, "the server is there twice", "join the two entries")
		}
		settings, err := y.server(key, body)
		if err != nil {
			return err
		}
		out.Servers[name.Value] = settings
	}
	return nil
}

func (y *yamlFile) server(key string, body *yaml.Node) (ServerSettings, error) {
	var f serverFile
	if body.Tag == "!!null" {
		return ServerSettings{}, nil
	}
	if err := y.decodeKnown(body, &f); err != nil {
		return ServerSettings{}, err
	}
	for _, glob := range slices.Concat(f.Include, f.Exclude) {
		if glob == "" {
			return ServerSettings{}, y.errorAt(body, key, "a glob is empty", `remove it, or write "*"`)
		}
	}
	out := ServerSettings{Include: f.Include, Exclude: f.Exclude}
	if !f.Timeout.IsZero() {
		d, err := time.ParseDuration(f.Timeout.Value)
		if err != nil || d <= 0 {
			return ServerSettings{}, y.errorAt(&f.Timeout, key+".timeout", "it is not a time above zero", "write it as 30s or 2m")
		}
		out.Timeout = d
	}
	return out, nil
}

// decodeKnown decodes one node and refuses unknown keys; yaml.Node.Decode has no such option.
func (y *yamlFile) decodeKnown(n *yaml.Node, out *serverFile) error {
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			switch name := n.Content[i]; name.Value {
			case "include", "exclude", "timeout":
			default:
				return y.errorAt(name, "", fmt.Sprintf("the key %q is not known", name.Value), "known here: include, exclude, timeout")
			}
		}
	}
	if err := n.Decode(out); err != nil {
		return y.decodeError(err, "include, exclude, timeout")
	}
	return nil
}

// yamlProblem matches the library's texts, which all hold a line: "line 3: field x not found in type y".
var yamlProblem = regexp.MustCompile(`line (\d+): (?:field (\S+) not found in type|(.*))`)

// decodeError turns the library's first complaint into ours, with known as the remedy for an unknown key.
func (y *yamlFile) decodeError(err error, known string) error {
	text := err.Error()
	var many *yaml.TypeError
	if errors.As(err, &many) && len(many.Errors) > 0 {
		text = many.Errors[0]
	}
	m := yamlProblem.FindStringSubmatch(text)
	if m == nil {
		return &FileError{File: y.name, Problem: strings.TrimPrefix(text, "yaml: "), Remedy: "correct the YAML"}
	}
	line, _ := strconv.Atoi(m[1]) // digits by the pattern; an absurd number of them leaves 0
	if m[2] != "" {
		return &FileError{File: y.name, Line: line, Problem: fmt.Sprintf("the key %q is not known", m[2]), Remedy: "known here: " + known}
	}
	return &FileError{File: y.name, Line: line, Problem: m[3], Remedy: "correct the YAML"}
}
