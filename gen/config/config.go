// Package config reads what a person configured: .mcp.json or the file of another MCP host (the servers) and
// mcpgen.yaml (our own settings). The files of ten hosts are understood, each with its own keys and variables; what is
// special about a host is in its dialect, and everything behind [ReadFile] knows one form only, [Server].
//
// Variables stay unexpanded until [Server.Expand]. The package reads files it is told to read and nothing else: no
// environment, no home folder. Start with [Find] and [Load]; package hosts knows where other programs keep their files.
//
// It refuses what it cannot understand rather than guess: every error names the file, the line, the key and what to
// do about it. Text that may hold a secret (a value of env, headers, args or url) never appears in an error or in a
// printed [Server].
package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// FileName is the file that lists the servers of a project.
const FileName = ".mcp.json"

// SettingsName is the file with our own settings; it lies beside [FileName] and may be missing.
const SettingsName = "mcpgen.yaml"

// maxFileSize bounds every file this package reads, in bytes.
const maxFileSize = 4 << 20

// Config is what one or several files of servers say, together with the settings beside the first.
type Config struct {
	// Path is the first file as it was given to [Load], Paths are all of them.
	Path  string
	Paths []string
	// Dir is the absolute folder of the first file's project: where the settings, a .env and, unless they say
	// otherwise, the tree are.
	Dir string
	// Servers are those to use, in the order of the files. What the settings say about one is in it already.
	Servers []Server
	// Disabled are those that are switched off. They have no place in the tree.
	Disabled []Server
	// Settings are those of the mcpgen.yaml in Dir, or the defaults.
	Settings Settings
	// Notes are what the files hold that a person should know, or may want to.
	Notes []Note
}

// Server returns the server with that name, unless it is disabled.
func (c *Config) Server(key string) (Server, bool) {
	for _, s := range c.Servers {
		if s.Key == key {
			return s, true
		}
	}
	return Server{}, false
}

// Allows reports whether a server's tool passes the filters of both the server's own file and the settings.
func (c *Config) Allows(key, tool string) bool {
	s, _ := c.Server(key)
	own := ServerSettings{Include: s.Include, Exclude: s.Exclude}
	return own.Allows(tool) && c.Settings.Servers[key].Allows(tool)
}

// NotFoundError says that there is no .mcp.json where [Find] looked. It is an [fs.ErrNotExist].
type NotFoundError struct {
	// Dir is where the search began, Root where it ended.
	Dir, Root string
}

func (e *NotFoundError) Error() string {
	if e.Dir == e.Root {
		return fmt.Sprintf("no %s in %s", FileName, e.Dir)
	}
	return fmt.Sprintf("no %s in %s or above it, up to %s", FileName, e.Dir, e.Root)
}

// Hint says what to do about it.
func (e *NotFoundError) Hint() string {
	return "create one with \"mcpgen init\", take over what an editor has with \"mcpgen init --from cursor\", or name a file with --config"
}

// Is makes the error an [fs.ErrNotExist].
func (e *NotFoundError) Is(target error) bool { return target == fs.ErrNotExist }

// Find looks for [FileName] in dir and, inside a git repository, in each folder above it up to the repository's root.
// Outside of one only dir itself counts: a file further up could be anybody's, and it names commands to run.
func Find(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", FileName, err)
	}
	root := gitRoot(abs)
	for d := abs; ; d = filepath.Dir(d) {
		path := filepath.Join(d, FileName)
		info, err := os.Stat(path)
		if err == nil && info.Mode().IsRegular() {
			return path, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("find %s: %w", FileName, err)
		}
		if d == root || d == filepath.Dir(d) {
			return "", &NotFoundError{Dir: abs, Root: d}
		}
	}
}

// gitRoot returns the nearest folder at or above dir that holds .git (a folder, or a file in a worktree), else dir.
func gitRoot(dir string) string {
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(filepath.Join(d, ".git")); err == nil {
			return d
		}
		if d == filepath.Dir(d) {
			return dir
		}
	}
}

// Load reads files of servers, at least one, each as [ReadFile] does, and the mcpgen.yaml in the first one's project,
// if there is one. Of two servers of the same name in different files the later counts.
func Load(paths ...string) (*Config, error) {
	if len(paths) == 0 {
		return nil, errors.New("read configuration: no file is named")
	}
	c := &Config{Path: paths[0], Paths: paths}
	var errs []error
	var all []Server
	for i, path := range paths {
		f, err := ReadFile(path, nil)
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
	for _, s := range all {
		ours := !s.Disabled && servesTrees(&s)
		s.Disabled = s.Disabled || ours
		s = c.Settings.apply(s)
		s.VarsDir = c.Dir
		if s.Disabled {
			c.Disabled = append(c.Disabled, s)
			note := Note{File: s.Source, Server: s.Key, Message: "it is disabled, and left out of the tree", Minor: true}
			if ours {
				note.Minor = false
				note.Message = "it is mcprun serve, which serves a tree itself, and is left out: a tree would hold its own tools again. Keep it in another file than the servers, or say disabled: true for it in " + SettingsName + " (false, if it is to be in the tree all the same)"
				if own := c.Settings.Servers[s.Key].Disabled; own != nil { // a person has said it
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

// servesTrees tells whether a server is mcprun serve, started directly or by another program such as env, npx or go run.
func servesTrees(s *Server) bool {
	words := append([]string{s.Command}, s.Args...)
	for i, word := range words[:len(words)-1] {
		name := word[strings.LastIndexAny(word, `/\`)+1:]
		name, _, _ = strings.Cut(name, "@")
		if strings.EqualFold(strings.TrimSuffix(strings.ToLower(name), ".exe"), "mcprun") && words[i+1] == "serve" {
			return true
		}
	}
	return false
}

func (c *Config) merge(all []Server, s Server) []Server {
	for i, old := range all {
		if old.Key == s.Key {
			c.Notes = append(c.Notes, Note{File: s.Source, Server: s.Key, Message: "it goes before the one of that name in " + old.Source})
			all[i] = s
			return all
		}
	}
	return append(all, s)
}

// checkNames refuses an alias that is another server's name: the two could not be told apart in a script.
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

// readFile reads a file of at most maxFileSize bytes.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFileSize+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFileSize {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxFileSize)
	}
	return text, nil
}
