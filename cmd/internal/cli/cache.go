package cli

import (
	"path/filepath"
	"runtime"
)

// CacheDir is the folder for what can be made again at some cost: the system's place for such, absolute, and a folder
// mcpgen in it. Both programs use the same. It need not be there. Empty: the environment names no place, and nothing is
// kept.
func (a *App) CacheDir() string {
	if base := a.Env("XDG_CACHE_HOME"); filepath.IsAbs(base) { // the XDG specification wants others ignored
		return filepath.Join(base, "mcpgen")
	}
	if runtime.GOOS == "windows" {
		if base := a.Env("LOCALAPPDATA"); filepath.IsAbs(base) {
			return filepath.Join(base, "mcpgen", "cache")
		}
		return ""
	}
	home := a.Env("HOME")
	switch {
	case !filepath.IsAbs(home):
		return ""
	case runtime.GOOS == "darwin":
		return filepath.Join(home, "Library", "Caches", "mcpgen")
	}
	return filepath.Join(home, ".cache", "mcpgen")
}
