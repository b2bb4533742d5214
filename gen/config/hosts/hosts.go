// Package hosts returns where MCP hosts keep their lists of servers, in a project and in a user's home folder, on Linux, macOS and Windows.
// Paths depend only on a [Person]. [Person.Find] checks whether files exist; package config reads them.
package hosts

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpgen/mcpgen/gen/config"
)

// Person is a user, with the machine and the project for which to find files.
type Person struct {
	// OS is a value of runtime.GOOS. Everything except "windows" and "darwin" counts as Linux.
	OS string
	// Home is the user's home folder. If it is empty, there are no files outside the project.
	Home string
	// Env looks up the variables that move a host's files: APPDATA, XDG_CONFIG_HOME, CLAUDE_CONFIG_DIR and CODEX_HOME. Nil: no variable is
	// set.
	Env config.Lookup
	// Project is the absolute folder of the project.
	Project string
}

// Scope says whether a file belongs to a project or to a user.
type Scope string

const (
	InProject Scope = "project"
	OfPerson  Scope = "user"
)

// Place is where a host may keep servers.
type Place struct {
	Host  config.Host
	Scope Scope
	Path  string
	// Named reports whether a person named the file, rather than the host.
	Named bool
}

// Places returns the places where a host keeps its servers, in order of precedence, whether or not there is a file.
func (p Person) Places(host config.Host) []Place {
	var places []Place
	for _, f := range host.Files() {
		scope, dir, parts := OfPerson, p.folder(f.In), strings.Split(f.Path, "/")
		if f.In == config.InProject {
			scope = InProject
		}
		if moved := p.env(f.DirEnv, ""); f.DirEnv != "" && moved != "" {
			dir, parts = moved, parts[len(parts)-1:]
		}
		if dir != "" {
			places = append(places, Place{Host: host, Scope: scope, Path: p.join(append([]string{dir}, parts...)...)})
		}
	}
	return places
}

// Name returns the place of a file that a person named. A file outside the project is the user's.
func (p Person) Name(host config.Host, path string) Place {
	place := Place{Host: host, Scope: OfPerson, Path: path, Named: true}
	if rel, err := filepath.Rel(p.Project, path); err == nil && filepath.IsLocal(rel) {
		place.Scope = InProject
	}
	for _, known := range p.Places(host) {
		if known.Path == path { // the project may be the home folder
			place.Scope = known.Scope
		}
	}
	return place
}

// Own reads the file in which a host keeps servers for the project alone: the first that exists. If none exists, the result is the
// preferred one, without text and servers. The result is nil if the host has no such file.
func (p Person) Own(host config.Host) (*config.File, error) {
	var own *config.File
	for _, place := range p.Places(host) {
		if place.Scope != InProject {
			continue
		}
		f, err := config.ReadFile(place.Path, &config.ReadOptions{Host: host, Project: p.Project})
		if f != nil || !errors.Is(err, fs.ErrNotExist) {
			if f != nil { // the host deals with mistakes in a server
				err = nil
			}
			return f, err
		}
		if own == nil {
			own = &config.File{Path: place.Path, Host: host, Dir: p.Project}
		}
	}
	return own, nil
}

// folder returns a folder, or "" if it is unknown.
func (p Person) folder(f config.Folder) string {
	switch f {
	case config.InProject:
		return p.Project
	case config.InHome:
		return p.Home
	case config.InSettings:
		return p.configDir()
	case config.InXDGOrSettings:
		if p.OS == "windows" {
			return p.configDir()
		}
	}
	return p.xdg()
}

// Find returns the places of a host that contain a regular file.
func (p Person) Find(host config.Host) []Place {
	var found []Place
	for _, place := range p.Places(host) {
		if info, err := os.Stat(place.Path); err == nil && info.Mode().IsRegular() {
			found = append(found, place)
		}
	}
	return found
}

// configDir returns the folder in which programs keep a user's settings.
func (p Person) configDir() string {
	switch p.OS {
	case "windows":
		return p.env("APPDATA", p.under("AppData", "Roaming"))
	case "darwin":
		return p.under("Library", "Application Support")
	}
	return p.xdg()
}

// xdg is configDir for programs that use the Linux folder on every system.
func (p Person) xdg() string { return p.env("XDG_CONFIG_HOME", p.under(".config")) }

// under returns a folder in the home folder, or "" if there is no home folder.
func (p Person) under(parts ...string) string {
	if p.Home == "" {
		return ""
	}
	return p.join(append([]string{p.Home}, parts...)...)
}

func (p Person) env(name, otherwise string) string {
	if p.Env != nil {
		if value, ok := p.Env(name); ok && value != "" {
			return value
		}
	}
	return otherwise
}

// join joins a path with the separator of p.OS, which may differ from this machine's.
func (p Person) join(parts ...string) string {
	sep := "/"
	if p.OS == "windows" {
		sep = `\`
	}
	return strings.TrimRight(parts[0], `/\`) + sep + strings.Join(parts[1:], sep)
}
