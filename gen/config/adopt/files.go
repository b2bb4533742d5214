package adopt

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// EnvLine returns a line of .env, in the form that package config reads.
func EnvLine(name, value string) string { return name + "=" + quoteEnv(value) + "\n" }

func quoteEnv(value string) string {
	if !strings.ContainsAny(value, "'\n\r") {
		return "'" + value + "'"
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(value) + `"`
}

// ReplaceFile writes a file atomically. It follows a symbolic link, and keeps the permissions of a file that exists; mode is
// for a new one.
func ReplaceFile(path string, content []byte, mode fs.FileMode) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".mcpgen-*")
	if errors.Is(err, fs.ErrNotExist) { // the error names a file that nobody asked for
		return fmt.Errorf("write %s: there is no folder %s", path, filepath.Dir(path))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() { _ = os.Remove(f.Name()) }() // it is gone when all went well
	_, err = f.Write(content)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// IgnoredByGit reports whether the .gitignore files from the repository's root down to dir ignore a file of that name,
// and whether there is a repository. It reads the common patterns; any other pattern ignores nothing.
func IgnoredByGit(dir, name string) (ignored, inGit bool) {
	var dirs []string
	for d := dir; ; d = filepath.Dir(d) {
		dirs = append(dirs, d)
		if _, err := os.Stat(filepath.Join(d, ".git")); err == nil {
			inGit = true
			break
		}
		if d == filepath.Dir(d) {
			return false, false
		}
	}
	for i := len(dirs) - 1; i >= 0; i-- { // a file further down has the last word
		text, err := os.ReadFile(filepath.Join(dirs[i], ".gitignore"))
		if err != nil {
			continue
		}
		below, err := filepath.Rel(dirs[i], filepath.Join(dir, name))
		if err != nil {
			continue
		}
		for _, line := range strings.Split(string(text), "\n") {
			pattern := strings.TrimSpace(line)
			keep, again := strings.CutPrefix(pattern, "!")
			if again {
				pattern = keep
			}
			if pattern == "" || strings.HasPrefix(pattern, "#") || strings.HasSuffix(pattern, "/") {
				continue
			}
			pattern = strings.TrimPrefix(pattern, "**/")
			subject := name
			if strings.Contains(pattern, "/") {
				pattern, subject = strings.TrimPrefix(pattern, "/"), filepath.ToSlash(below)
			}
			if fits, err := path.Match(pattern, subject); err == nil && fits {
				ignored = !again
			}
		}
	}
	return ignored, inGit
}
