package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
)

// CacheDir returns the absolute folder for data that can be recreated at some cost: the folder mcpgen in the system's cache
// folder. Both programs use it. It may not exist. It is "" if the environment names no cache folder, and then nothing is cached.
func (a *App) CacheDir() string {
	return a.userDir("XDG_CACHE_HOME", "mcpgen", "mcpgen/cache", "Library/Caches/mcpgen", ".cache/mcpgen")
}

// StateDir returns the absolute folder for data that outlives a command, such as logins: the folder mcpgen in the system's state
// folder. Both programs use it. It may not exist.
func (a *App) StateDir() (string, error) {
	dir := a.userDir("XDG_STATE_HOME", "mcpgen", "mcpgen", "Library/Application Support/mcpgen", ".local/state/mcpgen")
	switch {
	case dir != "":
		return dir, nil
	case runtime.GOOS == "windows":
		return "", errors.New("LOCALAPPDATA is not set, so there is no place to keep logins")
	}
	return "", errors.New("neither XDG_STATE_HOME nor HOME is set, so there is no place to keep logins")
}

// ProjectState returns a path in the state folder for data about the project in the folder base. All paths to that folder give
// the same result. It may not exist. what names the kind of data in one word.
func (a *App) ProjectState(what, base string) (string, error) {
	state, err := a.StateDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(state, what, ProjectName(base)), nil
}

// StatePlace returns the database with the state of the project in the folder base: the one that is named, a URL or a path, or else a file in
// the state folder. It may not exist.
func (a *App) StatePlace(named, base string) (string, error) {
	switch {
	case IsURL(named):
		return named, nil
	case named != "":
		return a.Path(named), nil
	}
	path, err := a.ProjectState("state", base)
	return path + ".db", err
}

// IsURL reports whether a place for the state is a URL; otherwise it is a path.
func IsURL(place string) bool { return strings.Contains(place, "://") }

// ShownPlace returns a place for the state for people: a URL without its passwords.
func ShownPlace(place string) string {
	if !IsURL(place) {
		return place
	}
	u, err := url.Parse(place)
	if err != nil {
		return "postgres://…"
	}
	query := u.Query()
	for name := range query {
		if strings.HasSuffix(name, "password") { // sslpassword too
			query.Set(name, "xxxxx")
			u.RawQuery = query.Encode()
		}
	}
	return u.Redacted()
}

// ProjectTraffic returns the file for the shapes of results in the project in the folder base. It may not exist.
func (a *App) ProjectTraffic(base string) (string, error) {
	dir, err := a.ProjectState("traffic", base)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "shapes.json"), nil
}

// ProjectName returns a name for the project in a folder, the same for every path to the folder.
func ProjectName(base string) string {
	sum := sha256.Sum256([]byte(RealPath(base)))
	return hex.EncodeToString(sum[:16])
}

// RealPath returns a path without symbolic links. Missing elements at its end stay as they are.
func RealPath(path string) string {
	for dir, rest := path, ""; ; dir, rest = filepath.Dir(dir), filepath.Join(filepath.Base(dir), rest) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		if filepath.Dir(dir) == dir {
			return path
		}
	}
}

// DataDir returns the absolute folder for the files and skills of mcprun serve without a project: the folder mcprun in the
// system's folder for user data. It may not exist. It is "" if the environment names no place.
func (a *App) DataDir() string {
	return a.userDir("XDG_DATA_HOME", "mcprun", "mcprun", "Library/Application Support/mcprun", ".local/share/mcprun")
}

// userDir returns the folder name below the folder that the variable xdg names, or else below the one that is usual on this
// system. It is "" if the environment names no place.
func (a *App) userDir(xdg, name, windows, darwin, other string) string {
	if base := a.Env(xdg); filepath.IsAbs(base) { // the XDG specification says to ignore relative paths
		return filepath.Join(base, name)
	}
	variable, below := "HOME", other
	switch runtime.GOOS {
	case "windows":
		variable, below = "LOCALAPPDATA", windows
	case "darwin":
		below = darwin
	}
	base := a.Env(variable)
	if !filepath.IsAbs(base) {
		return ""
	}
	return filepath.Join(base, filepath.FromSlash(below))
}

// KeyringVariable switches the system's keyring off when it is "off".
const KeyringVariable = "MCPGEN_KEYRING"

// Keyring reports whether the system's keyring is to be used.
func (a *App) Keyring() bool { return a.Env(KeyringVariable) != "off" }
