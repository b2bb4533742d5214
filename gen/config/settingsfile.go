package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/mcpgen/mcpgen/gen/config/node"
)

// StarterSettings is the mcpgen.yaml that mcpgen init writes.
const StarterSettings = `# yaml-language-server: $schema=https://raw.githubusercontent.com/mcpgen/mcpgen/main/gen/config/mcpgen.schema.json
# Settings of mcpgen. The servers themselves are in mcpgen.json beside this file.
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

// parseSettings reads the text of an mcpgen.yaml for a project with these servers. The schema decides what is valid.
func parseSettings(path string, text []byte, servers []Server) (Settings, error) {
	file := newSettingsFile(path, text)
	root, err := file.ParseYAML()
	if err != nil {
		return Settings{}, err
	}
	if err := checkSettings(file, &settingsSchema().Schema, root, ""); err != nil {
		return Settings{}, err
	}
	if err := checkServerNames(file, root, servers); err != nil {
		return Settings{}, err
	}
	out := defaultSettings()
	document := map[string]any{}
	if err := errors.Join(root.Decode(&out), root.Decode(&document)); err != nil {
		return Settings{}, file.YAMLError(err)
	}
	if out.document, err = withTextKeys(document); err != nil {
		return Settings{}, file.ErrorAt(0, "", err.Error(), "remove one of the two")
	}
	out.Path = path
	if err := out.takePackages(file, root); err != nil {
		return Settings{}, err
	}
	if err := out.completeCache(file, node.Value(root, "cache")); err != nil {
		return Settings{}, err
	}
	out.normalize()
	if err := out.checkCategories(file, root, servers); err != nil {
		return out, err
	}
	if err := out.Policy.complete(file, node.Value(root, "policy")); err != nil {
		return out, err
	}
	if err := out.PII.complete(file, node.Value(root, "pii"), servers); err != nil {
		return out, err
	}
	if err := out.Audit.complete(file, node.Value(root, "audit")); err != nil {
		return out, err
	}
	if err := out.Model.complete(file, node.Value(root, "model")); err != nil {
		return out, err
	}
	if err := completeSchedules(file, out.Schedules, node.Value(root, "schedules")); err != nil {
		return out, err
	}
	if err := completePlugins(file, out.Plugins, node.Value(root, "plugins")); err != nil {
		return out, err
	}
	if err := out.Guardrails.complete(file, node.Value(root, "guardrails")); err != nil {
		return out, err
	}
	return out, out.Network.complete(file, node.Value(root, "network"), &out.Policy)
}

// withTextKeys returns a mapping whose keys are texts at every depth.
func withTextKeys(in map[string]any) (map[string]any, error) {
	out, err := textKeys(in)
	if err != nil {
		return nil, err
	}
	return out.(map[string]any), nil
}

func textKeys(in any) (any, error) {
	pairs := map[any]any{}
	switch v := in.(type) {
	case []any:
		list := make([]any, len(v))
		for i := range v {
			var err error
			if list[i], err = textKeys(v[i]); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]any:
		for key, value := range v {
			pairs[key] = value
		}
	case map[any]any: // a key is a number, for example
		pairs = v
	default:
		return in, nil
	}
	out := map[string]any{}
	for key, value := range pairs {
		name := fmt.Sprint(key)
		if _, there := out[name]; there {
			return nil, fmt.Errorf("the key %q is there twice", name)
		}
		var err error
		if out[name], err = textKeys(value); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func newSettingsFile(path string, text []byte) *node.File {
	return &node.File{Name: path, Text: bytes.TrimPrefix(text, []byte("\ufeff"))}
}

// checkServerNames refuses settings of a server that is not configured. A server that the settings disable may be missing.
func checkServerNames(file *node.File, root *yaml.Node, servers []Server) error {
	for key, value := range node.Pairs(node.Value(root, "servers")) {
		known := slices.ContainsFunc(servers, func(s Server) bool { return s.Key == key.Value })
		if off := node.Value(value, "disabled"); !known && (off == nil || off.Value != "true") {
			return file.ErrorAt(key.Line, node.Join("servers", key.Value), "no such server is configured", "correct the name, or remove the entry")
		}
	}
	return nil
}

// normalize replaces words that stand for the default by the empty text, and makes the paths of run: relative to the working directory
// instead of the file's folder.
func (s *Settings) normalize() {
	if s.Servers == nil {
		s.Servers = map[string]ServerSettings{}
	}
	for name, server := range s.Servers {
		if server.Protocol == "auto" {
			server.Protocol = ""
			s.Servers[name] = server
		}
	}
	if e := s.Search.Embeddings; e != nil && e.API == "openai" {
		e.API = ""
	}
	for _, path := range []*string{&s.Packages.Python, &s.Packages.JavaScript} {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(filepath.Dir(s.Path), filepath.FromSlash(*path))
		}
	}
	for name, setting := range s.Run {
		setting.Value = settingPath(settingsSchema().Properties["run"].Properties[name], setting.Value, filepath.Dir(s.Path))
		s.Run[name] = setting
	}
}

// ReadPolicy reads a policy from an mcpgen.yaml, together with the settings of servers, of run, of personal data, of the network, and plugins and guardrails. It does not
// check the other settings. Alternatively, the file may contain just the value of the key policy; Servers is then nil.
func ReadPolicy(path string) (*Settings, error) {
	text, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("read policy: %w", err)
	}
	file := newSettingsFile(path, text)
	root, err := file.ParseYAML()
	if err != nil {
		return nil, err
	}
	out := &Settings{Path: path}
	policy, network := root, (*yaml.Node)(nil)
	if own := node.Value(root, "policy"); own != nil || node.Value(root, "version") != nil {
		policy, network = own, node.Value(root, "network")
		if network != nil {
			if err := checkSettings(file, settingsSchema().Properties["network"], network, "network"); err != nil {
				return nil, err
			}
		}
		rest := struct {
			Servers    map[string]ServerSettings
			Run        RunSettings
			PII        PII `yaml:"pii"`
			Network    Network
			Plugins    []Plugin
			Guardrails Guardrails
		}{Servers: map[string]ServerSettings{}}
		if err := root.Decode(&rest); err != nil {
			return nil, file.YAMLError(err)
		}
		out.Servers, out.Run, out.PII, out.Network, out.Plugins, out.Guardrails = rest.Servers, rest.Run, rest.PII, rest.Network, rest.Plugins, rest.Guardrails
		if err := errors.Join(completePlugins(file, out.Plugins, node.Value(root, "plugins")), out.Guardrails.complete(file, node.Value(root, "guardrails"))); err != nil {
			return nil, err
		}
		if err := out.takePackages(file, root); err != nil {
			return nil, err
		}
	}
	if policy != nil {
		if err := checkSettings(file, settingsSchema().Properties["policy"], policy, "policy"); err != nil {
			return nil, err
		}
		if err := policy.Decode(&out.Policy); err != nil {
			return nil, file.YAMLError(err)
		}
		if err := out.Policy.complete(file, policy); err != nil {
			return nil, err
		}
	}
	return out, out.Network.complete(file, network, &out.Policy)
}
