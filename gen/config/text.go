package config

import (
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Text returns the policy as YAML, or "" if nothing is configured. Comments, and where in the file something is, are not in it.
func (p *Policy) Text() (string, error) {
	if p.File == "" {
		return "", nil
	}
	return textOf(p)
}

// Text returns the rules as YAML, or "" if the key is missing. Secrets are not in it, only where they are kept.
func (n *Network) Text() (string, error) {
	if !n.Present {
		return "", nil
	}
	return textOf(n)
}

// Text returns the settings as YAML, or "" if nothing is configured.
func (p *PII) Text() (string, error) { return textOf(p) }

// Text returns the settings as YAML, or "" if nothing is configured. The key is not in it, only where it is kept.
func (a *Audit) Text() (string, error) { return textOf(a) }

// PluginsText returns the plugins and the guardrails as YAML, with the digests of the plugins' files, or "" without either key. dir is the folder
// of mcpgen.yaml.
func (s *Settings) PluginsText(dir string) (string, error) {
	if s.Plugins == nil && !s.Guardrails.Present {
		return "", nil
	}
	files := map[string]string{}
	for i := range s.Plugins {
		for _, file := range s.Plugins[i].Files(dir) {
			rel, err := filepath.Rel(dir, file)
			if err != nil || !filepath.IsLocal(rel) {
				rel = file
			}
			files[filepath.ToSlash(rel)] = FileDigest(file)
		}
	}
	return textOf(&struct {
		Plugins    []Plugin
		Guardrails Guardrails
		Files      map[string]string
	}{s.Plugins, s.Guardrails, files})
}

// FileDigest returns the SHA-256 of a regular file's content, in hexadecimal. For any other file, and one that cannot be read, it is empty.
func FileDigest(file string) string {
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() { // a pipe of a hostile project would never end
		return ""
	}
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return ""
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// textOf returns a value as YAML, or "" if it is zero.
func textOf(v any) (string, error) {
	if reflect.ValueOf(v).Elem().IsZero() {
		return "", nil
	}
	text, err := yaml.Marshal(v)
	return string(text), err
}

// ServersText returns what decides which programs and addresses are reached, and what is believed about them, as YAML. Of variables and
// headers, only the names are in it. conceal removes secrets from the rest; see package redact.
func ServersText(servers []Server, conceal func(string) string) (string, error) {
	type text struct {
		Command   string   `yaml:",omitempty"`
		Args      []string `yaml:",omitempty"`
		Cwd       string   `yaml:",omitempty"`
		URL       string   `yaml:",omitempty"`
		EnvFile   string   `yaml:"env_file,omitempty"`
		Variables []string `yaml:",omitempty"`
		Headers   []string `yaml:",omitempty"`
		Disabled  bool     `yaml:",omitempty"`
		Trusted   bool     `yaml:",omitempty"`
		// Globs of tools.
		ReadOnly, Idempotent, Include, Exclude []string `yaml:",omitempty"`
		Arguments, Results                     string   `yaml:",omitempty"`
	}
	all := map[string]text{}
	for _, s := range servers {
		one := text{
			Command: conceal(s.Command), Cwd: s.Cwd, URL: conceal(s.URL), EnvFile: s.EnvFile, Headers: slices.Sorted(maps.Keys(s.Headers)),
			Variables: append(slices.Sorted(maps.Keys(s.Env)), s.PassEnv...), Disabled: s.Disabled, Trusted: s.Trusted,
			ReadOnly: s.ReadOnly, Idempotent: s.Idempotent, Include: s.Include, Exclude: s.Exclude, Arguments: s.Arguments, Results: s.Results,
		}
		for _, arg := range s.Args {
			one.Args = append(one.Args, conceal(arg))
		}
		all[s.Key] = one
	}
	if len(all) == 0 {
		return "", nil
	}
	return textOf(&all)
}
