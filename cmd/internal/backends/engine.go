package backends

import (
	"os"
	"path/filepath"
	"runtime"
)

// engineHost returns the address of the Docker Engine: DOCKER_HOST, else the first socket that exists, or "" for the system's default.
func engineHost(lookup func(string) (string, bool)) string {
	if host := env(lookup, "DOCKER_HOST", ""); host != "" || runtime.GOOS == "windows" {
		return host
	}
	sockets := []string{"/var/run/docker.sock"}
	if dir, ok := lookup("XDG_RUNTIME_DIR"); ok && filepath.IsAbs(dir) {
		sockets = append(sockets, filepath.Join(dir, "docker.sock")) // a rootless engine
	}
	if home := homeDir(lookup); home != "" { // Docker Desktop
		sockets = append(sockets, filepath.Join(home, ".docker/run/docker.sock"), filepath.Join(home, ".docker/desktop/docker.sock"))
	}
	for _, name := range sockets {
		if st, err := os.Stat(name); err == nil && st.Mode()&os.ModeSocket != 0 {
			return "unix://" + name
		}
	}
	return ""
}

// certDir returns the folder with the certificates for an engine behind TCP, or "" for no TLS. Unlike the docker command, mcprun
// verifies the engine even if DOCKER_TLS_VERIFY is not set.
func certDir(lookup func(string) (string, bool)) string {
	dir := env(lookup, "DOCKER_CERT_PATH", "")
	if dir == "" && env(lookup, "DOCKER_TLS_VERIFY", "") != "" {
		if home := homeDir(lookup); home != "" {
			dir = filepath.Join(home, ".docker")
		}
	}
	return dir
}

func homeDir(lookup func(string) (string, bool)) string {
	if runtime.GOOS == "windows" {
		return env(lookup, "USERPROFILE", "")
	}
	return env(lookup, "HOME", "")
}
