package backends

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

func TestEngineIsFound(t *testing.T) {
	home, err := os.MkdirTemp("", "home-") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	certs := func(set map[string]string) string {
		return certDir(func(name string) (string, bool) { v, ok := set[name]; return v, ok })
	}
	for want, set := range map[string]map[string]string{
		"":                             {"HOME": home},
		"/certs":                       {"HOME": home, "DOCKER_CERT_PATH": "/certs"},
		filepath.Join(home, ".docker"): {"HOME": home, "DOCKER_TLS_VERIFY": "1"},
	} {
		if got := certs(set); got != want {
			t.Errorf("certificates for %v are in %q, want %q", set, got, want)
		}
	}
	host := func(set map[string]string) string {
		return engineHost(func(name string) (string, bool) { v, ok := set[name]; return v, ok })
	}
	if got := host(map[string]string{"HOME": home, "DOCKER_HOST": "tcp://x:1"}); got != "tcp://x:1" {
		t.Errorf(`DOCKER_HOST is not what counts: %q, want "tcp://x:1"`, got)
	}
	if _, err := os.Stat("/var/run/docker.sock"); err == nil {
		if got := host(map[string]string{"HOME": home}); got != "unix:///var/run/docker.sock" {
			t.Errorf(`the machine's engine is not found: %q, want "unix:///var/run/docker.sock"`, got)
		}
		return
	}
	name := filepath.Join(home, ".docker", "run", "docker.sock")
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", name)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got := host(map[string]string{"HOME": home}); got != "unix://"+name {
		t.Errorf("Docker Desktop's engine is not found: %q, want %q", got, "unix://"+name)
	}
}
