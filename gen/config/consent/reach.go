package consent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpgen/mcpgen/gen/config"
)

// Reach warns about servers whose arguments or working directory name a folder that contains the project's configuration, or one of its
// files: a script that may write there through such a server can change what is started and decided. lookup finds variables of the
// environment; nil is an empty environment.
func Reach(cfg *config.Config, lookup config.Lookup) []config.Note {
	var notes []config.Note
	files := append([]string{filepath.Join(cfg.Dir, config.SettingsName), filepath.Join(cfg.Dir, config.DotEnvName)}, cfg.Paths...)
	for _, s := range cfg.Servers {
		if s.Transport != config.TransportStdio {
			continue
		}
		written := s.Cwd
		if dotenv, err := s.DotEnv(); err == nil {
			if expanded, err := s.Expand(config.WithDotEnv(lookup, dotenv)); err == nil {
				s = expanded
			}
		}
		base := s.Cwd
		if !filepath.IsAbs(base) {
			base = filepath.Join(s.Dir, base)
		}
		for _, name := range append([]string{"cwd"}, s.Args...) {
			place := "an argument"
			paths := argumentPaths(name, base)
			if name == "cwd" && written != "" {
				place, paths = "its working directory", []string{base}
			}
			if held := firstHeld(paths, files); held != "" {
				notes = append(notes, config.Note{File: s.Source, Server: s.Key, Message: fmt.Sprintf(
					"%s names a place that holds the project's configuration (%s). If the server writes files there, a script can change what is started and decided; give it a folder below, such as ./data", place, held)})
				break
			}
		}
	}
	return notes
}

// argumentPaths returns the absolute paths that an argument may name: the argument itself, or a part of it between the marks = , and :.
func argumentPaths(arg, base string) []string {
	var out []string
	parts := append([]string{arg, strings.TrimPrefix(arg, "file://")}, strings.FieldsFunc(arg, func(r rune) bool { return strings.ContainsRune("=,:", r) })...)
	for _, part := range parts {
		switch slashed := filepath.ToSlash(part); {
		case filepath.IsAbs(part):
			out = append(out, part)
		case part == "." || part == ".." || strings.HasPrefix(slashed, "./") || strings.HasPrefix(slashed, "../"):
			out = append(out, filepath.Join(base, part))
		}
	}
	return out
}

// firstHeld returns the first file that is one of the paths or is below one of them.
func firstHeld(paths, files []string) string {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		path = real(path)
		for _, file := range files {
			rel, err := filepath.Rel(path, real(file))
			if err == nil && filepath.IsLocal(rel) && (info.IsDir() || rel == ".") {
				return filepath.Base(file)
			}
		}
	}
	return ""
}
