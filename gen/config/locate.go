package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"

	"github.com/mcpgen/mcpgen/gen/config/node"
)

// Locate returns the named files; relative ones start at dir. A folder means the file found in it. If none is named, Locate looks in dir
// and, in a git repository, in each folder above it up to the repository's root. It uses the first folder that has one of these, in this
// order: an mcpgen.yaml whose key config names a file, mcpgen.json, .mcp.json. Outside a repository it looks only in dir, because a file
// further up, which names commands to run, could be anybody's. A file in the workspace of a project further up is refused, because a script
// could have written it.
func Locate(dir string, named []string) (Location, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Location{}, fmt.Errorf("find the configuration: %w", err)
	}
	var l Location
	for _, path := range named {
		if !filepath.IsAbs(path) {
			path = filepath.Join(abs, path)
		}
		l.Paths = append(l.Paths, filepath.Clean(path))
	}
	if len(l.Paths) == 1 {
		if info, err := os.Stat(l.Paths[0]); err == nil && info.IsDir() {
			if l, err = locateIn(l.Paths[0]); err == nil && len(l.Paths) == 0 {
				err = &FileError{File: named[0], Problem: "the folder has no " + OwnName + " or " + FileName, Remedy: "name the file that lists the servers, or its folder"}
			}
			return l, err
		}
	}
	if len(l.Paths) > 0 {
		return l, nil
	}
	root, idle, idleKey := gitRoot(abs), "", ""
	for d := abs; ; d = filepath.Dir(d) {
		l, err := locateIn(d)
		if settings := filepath.Join(d, SettingsName); err == nil && len(l.Paths) == 0 && idle == "" {
			if idleKey = decidingKey(settings); idleKey != "" {
				idle = settings
			}
		}
		l.Idle, l.IdleKey = idle, idleKey
		if err == nil && len(l.Paths) > 0 {
			err = refuseWorkspace(d, l.Paths[0])
		}
		if err != nil || len(l.Paths) > 0 {
			return l, err
		}
		if d == root || d == filepath.Dir(d) {
			return Location{}, &NotFoundError{Dir: abs, Root: d, Idle: idle, IdleKey: idleKey}
		}
	}
}

// locateIn looks in one folder. The location has no path if nothing was found.
func locateIn(dir string) (Location, error) {
	named, err := configKey(filepath.Join(dir, SettingsName))
	if err != nil {
		return Location{}, err
	}
	if named != "" {
		return Location{Paths: []string{named}, Project: dir}, nil
	}
	for _, name := range []string{OwnName, FileName} {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err == nil && info.Mode().IsRegular() {
			return Location{Paths: []string{path}}, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return Location{}, fmt.Errorf("find the configuration: %w", err)
		}
	}
	return Location{}, nil
}

// refuseWorkspace returns an error if dir, in which file was found, is in a folder that scripts of a project above may write to.
func refuseWorkspace(dir, file string) error {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return fmt.Errorf("find the configuration: %w", err)
	}
	for above := filepath.Dir(dir); ; above = filepath.Dir(above) {
		if l, err := locateIn(above); err == nil && len(l.Paths) > 0 { // a folder that cannot be read is no project
			for _, folder := range workspaces(l.Dir()) {
				if rel, err := filepath.Rel(folder, dir); err == nil && filepath.IsLocal(rel) {
					return &FileError{File: file, Problem: fmt.Sprintf("it is in %s, where scripts of the project in %s may write: one of them could have made it", folder, l.Dir()),
						Remedy: "start in " + l.Dir() + "; if the file is yours, name it with --config"}
				}
			}
		}
		if above == filepath.Dir(above) {
			return nil
		}
	}
}

// workspaces returns the absolute folders of a project that scripts write to, unless flags name others.
func workspaces(project string) []string {
	var folders []string
	var run *yaml.Node
	settings := filepath.Join(project, SettingsName)
	if text, err := readFile(settings); err == nil {
		if root, err := newSettingsFile(settings, text).ParseYAML(); err == nil {
			run = node.Value(root, "run")
		}
	}
	for _, key := range []string{"workspace", "workspaces"} { // also their defaults
		folder := key
		if value := node.Value(run, key); value != nil {
			folder = filepath.FromSlash(value.Value)
		}
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(project, folder)
		}
		if real, err := filepath.EvalSymlinks(folder); err == nil {
			folder = real
		}
		folders = append(folders, folder)
	}
	return folders
}

// configKey returns the file that a mcpgen.yaml names with its key config, or "". The file may be missing.
func configKey(settings string) (string, error) {
	text, err := readFile(settings)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read settings: %w", err)
	}
	file := newSettingsFile(settings, text)
	root, err := file.ParseYAML()
	if err != nil {
		return "", err
	}
	value := node.Value(root, "config")
	if value == nil {
		return "", nil
	}
	if err := checkSettings(file, settingsSchema().Properties["config"], value, "config"); err != nil {
		return "", err
	}
	path := filepath.FromSlash(value.Value)
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(settings), path)
	}
	return path, nil
}

// decidingKey returns the first key of a mcpgen.yaml that decides what scripts may do, or "".
func decidingKey(settings string) string {
	text, err := readFile(settings)
	if err != nil {
		return ""
	}
	root, err := newSettingsFile(settings, text).ParseYAML()
	if err != nil {
		return ""
	}
	for _, key := range []string{"policy", "network", "run", "pii"} {
		if node.Value(root, key) != nil {
			return key
		}
	}
	return ""
}

// gitRoot returns the nearest folder at or above dir that contains .git (a folder, or a file in a worktree), or dir if there is none.
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
