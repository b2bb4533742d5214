// Package config reads what a person configured: .mcp.json (the servers) and mcpgen.yaml (our own settings).
// Variables stay unexpanded until [Server.Expand]. The package reads files it is told to read and nothing else: no
// environment, no home folder. Start with [Find] and [Load].
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
)

// FileName is the file that lists the servers of a project.
const FileName = ".mcp.json"

// SettingsName is the file with our own settings; it lies beside [FileName] and may be missing.
const SettingsName = "mcpgen.yaml"

// maxFileSize bounds every file this package reads, in bytes.
const maxFileSize = 4 << 20

// Config is one .mcp.json together with the settings beside it.
type Config struct {
	// Path is the .mcp.json as it was given to [Load].
	Path string
	// Servers are in the order of the file.
	Servers []Server
	// Settings are those of the mcpgen.yaml in the same folder, or the defaults.
	Settings Settings
}

// Server returns the server with that name.
func (c *Config) Server(key string) (Server, bool) {
	for _, s := range c.Servers {
		if s.Key == key {
			return s, true
		}
	}
	return Server{}, false
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
	return "create one with \"mcpgen init\", or name a file with --config"
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

// Load reads the .mcp.json at path and the mcpgen.yaml beside it, if there is one.
func Load(path string) (*Config, error) {
	text, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	dir := filepath.Dir(abs)
	servers, err := parseServers(path, dir, text)
	if err != nil {
		return nil, err
	}
	settings, err := loadSettings(filepath.Join(filepath.Dir(path), SettingsName), servers)
	if err != nil {
		return nil, err
	}
	return &Config{Path: path, Servers: servers, Settings: settings}, nil
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
