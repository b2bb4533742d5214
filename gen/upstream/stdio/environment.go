package stdio

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/ident"
)

// InheritedNames lists the variables that every started server inherits. It gets everything else, above all a person's
// tokens, only through the env block of its configuration. A program that keeps servers beyond the program that asked
// for them has to keep these variables too.
func InheritedNames() []string {
	return []string{
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TZ", "TMPDIR", "TMP", "TEMP",
		"LANG", "LANGUAGE", "LC_ALL", "LC_ADDRESS", "LC_COLLATE", "LC_CTYPE", "LC_IDENTIFICATION", "LC_MEASUREMENT",
		"LC_MESSAGES", "LC_MONETARY", "LC_NAME", "LC_NUMERIC", "LC_PAPER", "LC_TELEPHONE", "LC_TIME",
		"XDG_CACHE_HOME", "XDG_CONFIG_DIRS", "XDG_CONFIG_HOME", "XDG_DATA_DIRS", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO",
		// Package managers find servers by these, and cache them.
		"npm_config_cache", "npm_config_registry", "NPM_CONFIG_CACHE", "NPM_CONFIG_REGISTRY", "UV_CACHE_DIR",
		// Without these no program starts on Windows.
		"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA",
		"PROGRAMFILES", "USERPROFILE", "USERNAME", "HOMEDRIVE", "HOMEPATH",
	}
}

// environment returns the environment of a server: the inherited variables, its mark, and over them its env block.
func environment(srv config.Server, lookup config.Lookup, m mark) map[string]string {
	env := make(map[string]string)
	if m.owner != "" {
		env[OwnerVariable], env[serverVariable] = m.owner, m.server
	}
	for _, name := range InheritedNames() {
		if value, ok := lookup(name); ok {
			env[name] = value
		}
	}
	maps.Copy(env, srv.Env)
	return env
}

func environmentList(env map[string]string) []string {
	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}

// ErrNoProgram is matched by the error for a program that does not exist.
var ErrNoProgram = errors.New("there is no such program")

// noProgram is an [ErrNoProgram] with its own text.
type noProgram struct{ text string }

func (e *noProgram) Error() string { return e.text }

func (e *noProgram) Is(target error) bool { return target == ErrNoProgram }

// findProgram finds a command on the PATH of the child, not on ours.
func findProgram(command, path string) (string, error) {
	if filepath.IsAbs(command) {
		return command, nil
	}
	if runtime.GOOS == "windows" { // exec knows Windows' rules about extensions
		if file, err := exec.LookPath(command); !errors.Is(err, exec.ErrNotFound) {
			return file, err
		}
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) { // "" and "." would run a program in the working directory
			continue
		}
		file := filepath.Join(dir, command)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", &noProgram{fmt.Sprintf("the program %q is not on the PATH; install it, or write its full path", ident.Clip(strings.ToValidUTF8(command, "?"), 200))}
}
