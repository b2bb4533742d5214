package cli

import (
	"errors"
	"path/filepath"
	"runtime"
)

// StateDir is the folder where what outlives a command is kept, logins among it: the system's place for such, absolute,
// and a folder mcpgen in it. Both programs use the same. It need not be there.
func (a *App) StateDir() (string, error) {
	base := a.Env("XDG_STATE_HOME")
	if filepath.IsAbs(base) { // the XDG specification wants others ignored
		return filepath.Join(base, "mcpgen"), nil
	}
	if runtime.GOOS == "windows" {
		if base = a.Env("LOCALAPPDATA"); filepath.IsAbs(base) {
			return filepath.Join(base, "mcpgen"), nil
		}
		return "", errors.New("LOCALAPPDATA is not set, so there is no place to keep logins")
	}
	home := a.Env("HOME")
	if !filepath.IsAbs(home) {
		return "", errors.New("neither XDG_STATE_HOME nor HOME is set, so there is no place to keep logins")
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Application Support", "mcpgen"), nil
	}
	return filepath.Join(home, ".local", "state", "mcpgen"), nil
}

// KeyringVariable switches the system's keyring off when it is "off".
const KeyringVariable = "MCPGEN_KEYRING"

// Keyring reports whether the system's keyring is to be used.
func (a *App) Keyring() bool { return a.Env(KeyringVariable) != "off" }
