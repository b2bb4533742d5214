package adopt

import (
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

// IgnoredByGit reports whether the .gitignore files from the repository's root down to dir ignore a file with that name, and whether there
// is a repository. It understands the common patterns; any other pattern is taken to ignore nothing.
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
	for i := len(dirs) - 1; i >= 0; i-- { // a file further down takes precedence
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
