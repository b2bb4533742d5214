// Package config reads configuration: the servers, from .mcp.json or the file of another MCP host, and our own settings, from mcpgen.yaml.
// It understands the files of nine hosts, each with its own keys and variables. A dialect describes what is special about a host;
// [ReadFile] turns every form into [Server].
//
// Variables stay unexpanded until [Server.Expand]. The package reads only the files that it is given, and neither the environment nor the
// home folder. Start with [Locate] and [Location.Load]. Package hosts knows where other programs keep their files.
//
// What cannot be understood is an error that names the file, the line, the key and the remedy. Text that may hold a secret (a value of env,
// headers, args or url) never appears in an error or in a printed [Server].
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// Config is the content of one or several files of servers, with the settings beside the first.
type Config struct {
	// Path is the first file as given to [Load]. Paths are all of them.
	Path  string
	Paths []string
	// Dir is the absolute folder of the first file's project. It holds the settings, a .env and, unless the settings name
	// another folder, the tree.
	Dir string
	// Servers are the servers to use, in the order of the files, with the settings applied.
	Servers []Server
	// Disabled are the servers that are switched off and left out of the tree.
	Disabled []Server
	// Settings are those in the mcpgen.yaml in Dir, or the defaults.
	Settings Settings
	// Notes say what a person should know about the files.
	Notes []Note

	listed []Server // all servers, without the settings
}

// Files returns the files that the configuration is read from: the lists of servers, mcpgen.yaml and .env. They may be missing.
func (c *Config) Files() []string {
	return append(slices.Clone(c.Paths), filepath.Join(c.Dir, SettingsName), filepath.Join(c.Dir, DotEnvName))
}

// Server returns the server with the key, unless it is disabled.
func (c *Config) Server(key string) (Server, bool) {
	for _, s := range c.Servers {
		if s.Key == key {
			return s, true
		}
	}
	return Server{}, false
}

// ServersWith returns all servers that are listed or that the settings name, with these settings instead of the project's.
func (c *Config) ServersWith(settings *Settings) []Server {
	var out []Server
	for _, s := range c.listed {
		out = append(out, settings.apply(s))
	}
	for _, key := range sortedKeys(settings.Servers) {
		if !slices.ContainsFunc(out, func(s Server) bool { return s.Key == key }) {
			out = append(out, settings.apply(Server{Key: key}))
		}
	}
	return out
}

// Allows reports whether a server's tool passes the filters of both the server's own file and the settings.
func (c *Config) Allows(key, tool string) bool {
	s, _ := c.Server(key)
	own := ServerSettings{Include: s.Include, Exclude: s.Exclude}
	return own.Allows(tool) && c.Settings.Servers[key].Allows(tool)
}

// Load reads files of servers, at least one, with the settings of the first one's project; see [Location.Load].
func Load(paths ...string) (*Config, error) { return Location{Paths: paths}.Load() }

// Load reads the files, each as [ReadFile] does, and the project's mcpgen.yaml, if there is one. If two files have a server of the same
// name, the later one is used.
func (l Location) Load() (*Config, error) {
	paths := l.Paths
	if len(paths) == 0 {
		return nil, errors.New("read configuration: no file is named")
	}
	c := &Config{Path: paths[0], Paths: paths}
	var errs []error
	var all []Server
	for i, path := range paths {
		f, err := ReadFile(path, &ReadOptions{Project: l.Project})
		if l.Project != "" && errors.Is(err, fs.ErrNotExist) {
			err = &FileError{File: filepath.Join(l.Project, SettingsName), Key: "config", Problem: "there is no file " + path,
				Remedy: "create it, or correct the path, which starts at the folder of " + SettingsName}
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if i == 0 {
			c.Dir = f.Dir
		}
		c.Notes = append(c.Notes, f.Notes...)
		for _, s := range f.Servers {
			all = c.merge(all, s)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	var err error
	if c.Settings, err = loadSettings(filepath.Join(c.Dir, SettingsName), all); err != nil {
		return nil, err
	}
	c.Settings.takeDotEnv(c.Dir)
	c.listed = all
	for _, s := range all {
		ours := !s.Disabled && s.ServesTree()
		s.Disabled = s.Disabled || ours
		s = c.Settings.apply(s)
		s.VarsDir = c.Dir
		if s.Disabled {
			c.Disabled = append(c.Disabled, s)
			note := Note{File: s.Source, Server: s.Key, Message: "it is disabled, and left out of the tree", Minor: true}
			if ours {
				note.Minor = false
				note.Message = "it is mcprun serve, which serves a tree itself, and is left out: the tree would contain its own tools. Keep it in another file than the servers, or set disabled: true for it in " + SettingsName + " (false keeps it in the tree)"
				if own := c.Settings.Servers[s.Key].Disabled; own != nil { // the user decided it
					note.Minor = true
				}
			}
			c.Notes = append(c.Notes, note)
			continue
		}
		c.Servers = append(c.Servers, s)
	}
	return c, c.checkNames()
}

// ServesTree reports whether a server is mcprun serve, started directly or by another program such as env, npx or go run.
func (s *Server) ServesTree() bool {
	words := append([]string{s.Command}, s.Args...)
	for i, word := range words[:len(words)-1] {
		name := word[strings.LastIndexAny(word, `/\`)+1:]
		name, _, _ = strings.Cut(name, "@")
		if programName(name) == "mcprun" && words[i+1] == "serve" {
			return true
		}
	}
	return false
}

func (c *Config) merge(all []Server, s Server) []Server {
	for i, old := range all {
		if old.Key == s.Key {
			c.Notes = append(c.Notes, Note{File: s.Source, Server: s.Key, Message: "it takes precedence over the one of that name in " + old.Source})
			all[i] = s
			return all
		}
	}
	return append(all, s)
}

// checkNames refuses an alias that is another server's name, because scripts could not distinguish the two.
func (c *Config) checkNames() error {
	owner := map[string]Server{}
	for _, s := range c.Servers {
		other, taken := owner[s.Name()]
		if taken && (s.Alias != "" || other.Alias != "") {
			return &FileError{File: filepath.Join(c.Dir, SettingsName), Key: "servers", Problem: fmt.Sprintf("the servers %q and %q have the same name %q", other.Key, s.Key, s.Name()), Remedy: "give one of them another alias"}
		}
		owner[s.Name()] = s
	}
	return nil
}
