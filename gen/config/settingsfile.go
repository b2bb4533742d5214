package config

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/gen/config/node"
)

//go:embed mcpgen.schema.json
var settingsSchema string

// SettingsSchema returns the JSON Schema (2020-12) of mcpgen.yaml, for editors and other checks.
func SettingsSchema() string { return settingsSchema }

// StarterSettings is the mcpgen.yaml that mcpgen init writes.
const StarterSettings = `# yaml-language-server: $schema=https://raw.githubusercontent.com/mcpgen/mcpgen/main/gen/config/mcpgen.schema.json
# Settings of mcpgen. The servers themselves are in mcpgen.json or .mcp.json beside this file.
version: 1

# Languages to write wrappers in.
languages: [typescript, python]

# The folder of the tree, from here. Check it in.
out: servers

# What to take of single servers, by their names. In a glob, * is any text and ? any one character.
# servers:
#   drive:
#     include: ["get_*", "list_*"]
#     exclude: ["*_admin_*"]
`

// loadSettings reads mcpgen.yaml. Without the file it returns the defaults.
func loadSettings(path string, servers []Server) (Settings, error) {
	text, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		out := defaultSettings()
		out.Path = path
		return out, nil
	}
	if err != nil {
		return Settings{}, fmt.Errorf("read settings: %w", err)
	}
	return parseSettings(path, text, servers)
}

func defaultSettings() Settings {
	return Settings{Languages: Languages(), Out: DefaultOut, Servers: map[string]ServerSettings{}}
}

// field reads one key of an object.
type field func(n node.Node, key string) error

func parseSettings(path string, text []byte, servers []Server) (Settings, error) {
	y := &settingsFile{File: node.File{Name: path, Text: bytes.TrimPrefix(text, []byte("\ufeff"))}, known: servers, out: defaultSettings()}
	y.out.Path = path
	root, err := y.ParseYAML()
	if err != nil {
		return Settings{}, err
	}
	if root.Kind != node.KindObject {
		return Settings{}, y.ErrorAt(root.Line, "", "the file holds "+root.Kind.String()+", not settings", "write version: 1 at the top")
	}
	if _, ok := root.Get("version"); !ok {
		return Settings{}, y.ErrorAt(1, "version", "it is missing", "write version: 1 at the top")
	}
	if err := y.object(root, "", y.top()); err != nil {
		return Settings{}, err
	}
	return y.out, nil
}

// settingsFile is a mcpgen.yaml that is being read.
type settingsFile struct {
	node.File
	known []Server
	out   Settings
}

// object reads each key with its field, and refuses keys without one.
func (y *settingsFile) object(n node.Node, path string, fields map[string]field) error {
	if n.Kind == node.KindNull {
		return nil
	}
	if n.Kind != node.KindObject {
		return y.ErrorAt(n.Line, path, "it is "+n.Kind.String()+", not a mapping", "write it as key: value, one to a line")
	}
	for _, m := range n.Members {
		read, ok := fields[m.Name]
		if !ok {
			return y.ErrorAt(m.Line, path, fmt.Sprintf("the key %q is not known", m.Name), "known here: "+strings.Join(sortedKeys(fields), ", "))
		}
		if m.Value.Line == 0 {
			m.Value.Line = m.Line
		}
		if err := read(m.Value, node.Join(path, m.Name)); err != nil {
			return err
		}
	}
	return nil
}

// top returns the keys of the file.
func (y *settingsFile) top() map[string]field {
	return map[string]field{
		"version":   y.version,
		"config":    y.word(new(string)), // Locate has read it
		"languages": y.languages,
		"out":       y.folder(&y.out.Out),
		"defaults":  func(n node.Node, key string) error { return y.object(n, key, y.defaults(&y.out.Defaults)) },
		"servers":   y.servers,
		"search":    func(n node.Node, key string) error { return y.object(n, key, y.search(&y.out.Search)) },
		"run":       y.run,
	}
}

func (y *settingsFile) defaults(d *ServerDefaults) map[string]field {
	return map[string]field{"timeout": y.duration(&d.Timeout), "startup_timeout": y.duration(&d.StartupTimeout), "closed_inputs": y.flag(&d.ClosedInputs)}
}

func (y *settingsFile) server(s *ServerSettings) map[string]field {
	return map[string]field{
		"alias": y.word(&s.Alias), "category": y.word(&s.Category),
		"include": y.globs(&s.Include), "exclude": y.globs(&s.Exclude),
		"timeout": y.duration(&s.Timeout), "startup_timeout": y.duration(&s.StartupTimeout),
		"max_time": y.duration(&s.MaxTime), "parallel": y.count(&s.Parallel),
		"idempotent": y.globs(&s.Idempotent), "read_only": y.globs(&s.ReadOnly),
		"trusted": y.flag(&s.Trusted), "disabled": y.flag(&s.Disabled), "closed_inputs": y.flag(&s.ClosedInputs),
		"protocol": func(n node.Node, key string) error {
			return y.oneOf((*string)(&s.Protocol), "auto", string(ProtocolModern), string(ProtocolLegacy))(n, key)
		},
		"pass_env": y.names(&s.PassEnv), "env_file": y.word(&s.EnvFile),
		"allow_text": y.allowed(&s.AllowText),
		"oauth": func(n node.Node, key string) error {
			s.OAuth = &OAuth{}
			return y.object(n, key, y.oauth(s.OAuth))
		},
	}
}

func (y *settingsFile) oauth(o *OAuth) map[string]field {
	return map[string]field{
		"client_id": y.word(&o.ClientID), "client_secret": y.secret(&o.ClientSecret),
		"scopes":              func(n node.Node, key string) (err error) { o.Scopes, err = y.Words(n, key); return err },
		"client_metadata_url": y.word(&o.ClientMetadataURL), "resource": y.word(&o.Resource),
		"callback_port": func(n node.Node, key string) (err error) { o.CallbackPort, err = y.Port(n, key); return err },
	}
}

// runKeys returns the keys of run:, with checks of their values, as the schema lists them. A key is the name of a flag of
// mcprun, with _ for -.
func (y *settingsFile) runKeys() map[string]field {
	keys := map[string]field{}
	for name, k := range readSchema().Run.Properties {
		keys[name] = y.runKey(k)
	}
	return keys
}

func (y *settingsFile) runKey(k runKey) field {
	switch {
	case k.Enum != nil:
		return y.oneOf(new(string), k.Enum...)
	case k.Ref == "#/$defs/size":
		return y.size(new(string))
	case k.Ref == "#/$defs/count":
		return y.count(new(int))
	case k.Ref == "#/$defs/duration":
		return y.duration(new(time.Duration))
	case k.Type == "boolean":
		return y.flag(new(*bool))
	case k.Format == "folder":
		return y.folder(new(string))
	}
	return y.word(new(string))
}

// run reads run:. Its paths are relative to the file's folder.
func (y *settingsFile) run(n node.Node, key string) error {
	if err := y.object(n, key, y.runKeys()); err != nil {
		return err
	}
	y.out.Run = RunSettings{}
	for _, m := range n.Members {
		value, k := m.Value.Text, readSchema().Run.Properties[m.Name]
		switch {
		case slices.Contains(k.Examples, value): // a word that is no path
		case k.Format == "folder" || k.Format == "file",
			k.Format == "program" && strings.ContainsRune(filepath.ToSlash(value), '/'): // a bare name is searched for on PATH
			value = y.resolve(value)
		}
		y.out.Run[m.Name] = RunSetting{Value: value, Line: m.Line}
	}
	return nil
}

// resolve returns a path in the file, which is relative to the file's folder, as one relative to the working directory.
func (y *settingsFile) resolve(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(y.out.Path), path)
}

// size reads a size as it is written for a flag. mcprun checks it.
func (y *settingsFile) size(p *string) field {
	return func(n node.Node, key string) error {
		if n.Kind != node.KindNumber && (n.Kind != node.KindString || n.Text == "") {
			return y.ErrorAt(n.Line, key, "it is "+emptyOr(n)+", not a size", "write it as a number of megabytes, or with its unit: 512MiB")
		}
		*p = n.Text
		return nil
	}
}

func (y *settingsFile) count(p *int) field {
	return func(n node.Node, key string) error {
		v, err := strconv.ParseUint(n.Text, 10, 31)
		if n.Kind != node.KindNumber || err != nil || v == 0 {
			return y.ErrorAt(n.Line, key, "it is not a number above zero", "write it as a whole number")
		}
		*p = int(v)
		return nil
	}
}

func (y *settingsFile) version(n node.Node, key string) error {
	if n.Kind != node.KindNumber || n.Text != "1" {
		return y.ErrorAt(n.Line, key, "only version 1 is known", "write version: 1, or use a newer mcpgen")
	}
	return nil
}

func (y *settingsFile) languages(n node.Node, key string) error {
	var names []string
	for _, l := range Languages() {
		names = append(names, string(l))
	}
	remedy := "write languages: [" + strings.Join(names, ", ") + "], or one of them"
	if n.Kind != node.KindList || len(n.Items) == 0 {
		return y.ErrorAt(n.Line, key, "it is not a list of languages", remedy)
	}
	y.out.Languages = nil
	for _, item := range n.Items {
		lang := Language(item.Text)
		if !slices.Contains(Languages(), lang) {
			return y.ErrorAt(item.Line, key, fmt.Sprintf("%q is not known", item.Text), remedy)
		}
		if slices.Contains(y.out.Languages, lang) {
			return y.ErrorAt(item.Line, key, fmt.Sprintf("%q is there twice", item.Text), remedy)
		}
		y.out.Languages = append(y.out.Languages, lang)
	}
	return nil
}

func (y *settingsFile) servers(n node.Node, key string) error {
	if n.Kind == node.KindNull {
		return nil
	}
	if n.Kind != node.KindObject {
		return y.ErrorAt(n.Line, key, "it is not a mapping", "write each server's name, and its settings below it")
	}
	for _, m := range n.Members {
		place := node.Join(key, m.Name)
		known := slices.ContainsFunc(y.known, func(s Server) bool { return s.Key == m.Name })
		if off, ok := m.Value.Get("disabled"); !known && (!ok || off.Text != "true") { // an unwanted server may be missing
			return y.ErrorAt(m.Line, place, "no such server is configured", "correct the name, or remove the entry")
		}
		var s ServerSettings
		if err := y.object(m.Value, place, y.server(&s)); err != nil {
			return err
		}
		y.out.Servers[m.Name] = s
	}
	return nil
}

func (y *settingsFile) folder(p *string) field {
	return func(n node.Node, key string) error {
		if n.Kind != node.KindString || strings.TrimSpace(n.Text) == "" {
			return y.ErrorAt(n.Line, key, "it is not the name of a folder", "write "+key[strings.LastIndex(key, ".")+1:]+": a folder")
		}
		*p = n.Text
		return nil
	}
}

func (y *settingsFile) word(p *string) field {
	return func(n node.Node, key string) error {
		if n.Kind != node.KindString || strings.TrimSpace(n.Text) == "" {
			return y.ErrorAt(n.Line, key, "it is "+emptyOr(n)+", not a text", "write it as a text, in quotes if need be")
		}
		*p = n.Text
		return nil
	}
}

func emptyOr(n node.Node) string {
	if n.Kind == node.KindString {
		return "empty"
	}
	return n.Kind.String()
}

// secret reads a reference to a variable, because a secret must not be in a file that is checked in.
func (y *settingsFile) secret(p *string) field {
	return func(n node.Node, key string) error {
		if err := y.word(p)(n, key); err != nil {
			return err
		}
		if !strings.Contains(*p, "${") {
			return y.ErrorAt(n.Line, key, "a secret must not be in this file", "write ${NAME}, and set that variable in the environment or in .env")
		}
		return nil
	}
}

func (y *settingsFile) oneOf(p *string, words ...string) field {
	return func(n node.Node, key string) error {
		if n.Kind != node.KindString || !slices.Contains(words, n.Text) {
			return y.ErrorAt(n.Line, key, "it is not known", "write one of "+strings.Join(words, ", "))
		}
		if *p = n.Text; n.Text == words[0] { // the first word is the default
			*p = ""
		}
		return nil
	}
}

func (y *settingsFile) flag(p **bool) field {
	return func(n node.Node, key string) error {
		v, err := y.Boolean(n, key)
		*p = &v
		return err
	}
}

func (y *settingsFile) globs(p *[]string) field {
	return func(n node.Node, key string) error {
		list, err := y.List(n, key)
		if err == nil && slices.Contains(list, "") {
			err = y.ErrorAt(n.Line, key, "a glob is empty", `remove it, or write "*"`)
		}
		*p = list
		return err
	}
}

func (y *settingsFile) names(p *[]string) field {
	return func(n node.Node, key string) error {
		list, err := y.List(n, key)
		if err == nil && slices.ContainsFunc(list, func(s string) bool { return !IsVariableName(s) }) {
			err = y.ErrorAt(n.Line, key, "an entry does not name a variable", "write it as [NAME, OTHER]")
		}
		*p = list
		return err
	}
}

func (y *settingsFile) allowed(p *[]AllowedRule) field {
	return func(n node.Node, key string) error {
		if _, err := y.List(n, key); err != nil {
			return err
		}
		*p = nil
		for i, item := range n.Items {
			rule := AllowedRule{Line: item.Line}
			if err := y.word(&rule.Rule)(item, fmt.Sprintf("%s[%d]", key, i)); err != nil {
				return err
			}
			*p = append(*p, rule)
		}
		return nil
	}
}

func (y *settingsFile) duration(p *time.Duration) field {
	return func(n node.Node, key string) error {
		d, err := time.ParseDuration(n.Text)
		if err != nil || d <= 0 {
			return y.ErrorAt(n.Line, key, "it is not a time above zero", "write it as 30s or 2m")
		}
		*p = d
		return nil
	}
}
