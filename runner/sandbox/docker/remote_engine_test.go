package docker

import (
	"errors"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/system"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

func TestAddresses(t *testing.T) {
	for host, ok := range map[string]bool{
		"unix:///var/run/docker.sock": true, "tcp://10.1.2.3:2376": true, "tcp://engine.example:2376": true, "tcp://[::1]:2375": true,
		"tcp://127.0.0.1:2375/": true, "npipe:////./pipe/docker_engine": true,
		"": false, "/var/run/docker.sock": false, "unix://": false, "tcp://engine": false, "ssh://me@engine": false, "https://engine:2376": false, "fd://": false,
	} {
		err := checkHost(host)
		if (err == nil) != ok {
			t.Errorf("%q: %v", host, err)
		}
		var engine *EngineError
		if err != nil && (!errors.As(err, &engine) || engine.Hint() == "" || engine.ExitCode() != 127) {
			t.Errorf("%q: %v has no hint", host, err)
		}
	}
	if err := checkHost("ssh://me@engine"); err == nil || !strings.Contains(err.(*EngineError).Hint(), "ssh -nNT -L") {
		t.Errorf(`an address with ssh is refused with %v, want an error and "ssh -nNT -L" in it`, err)
	}
	for host, want := range map[string]bool{
		"tcp://10.1.2.3:2375": true, "tcp://engine:2375": true, "tcp://127.0.0.1:2375": false, "tcp://[::1]:2375/": false,
		"tcp://localhost:2375": false, "unix:///x": false,
	} {
		if got := (&Backend{opt: Options{Host: host}}).plainTCP(); got != want {
			t.Errorf("%s is open to those on the way: %v, want %v", host, got, want)
		}
	}
	if (&Backend{opt: Options{Host: "tcp://engine:2376", CertDir: "/certs"}}).plainTCP() {
		t.Error("an engine behind TLS is taken to be open")
	}
}

func TestMissingCertificatesAreNamed(t *testing.T) {
	b := New(Options{Host: "tcp://127.0.0.1:2376", CertDir: t.TempDir()})
	defer b.Close()
	st := b.Probe(t.Context())
	if st.Usable || !strings.Contains(st.Detail, "ca.pem") || !strings.Contains(st.Remedy, "DOCKER_CERT_PATH") {
		t.Errorf("%+v", st)
	}
}

// here is what an engine of this machine says of itself.
func here(t *testing.T) system.Info {
	t.Helper()
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	return system.Info{Name: name, OperatingSystem: "Debian GNU/Linux 12 (bookworm)"}
}

func TestRemoteEngines(t *testing.T) {
	unix := &Backend{opt: Options{Host: "unix:///var/run/docker.sock"}}
	desktop := here(t)
	desktop.OperatingSystem = "Docker Desktop"
	cases := map[string]struct {
		b    *Backend
		info system.Info
		want string
	}{
		"TCP":            {&Backend{opt: Options{Host: "tcp://127.0.0.1:2375"}}, here(t), "over tcp"},
		"a pipe":         {&Backend{opt: Options{Host: "npipe:////./pipe/x"}}, here(t), "over npipe"},
		"Docker Desktop": {unix, desktop, map[bool]string{true: "virtual machine", false: "containers do not run"}[runtime.GOOS == "linux"]},
	}
	if runtime.GOOS == "linux" {
		other := here(t)
		other.Name += "-not"
		cases["another name"] = struct {
			b    *Backend
			info system.Info
			want string
		}{unix, other, "host name"}
	}
	for name, c := range cases {
		if got := c.b.whyRemote(c.info); !strings.Contains(got, c.want) {
			t.Errorf("%s: apart because %q, want %q", name, got, c.want)
		}
	}
	for text, want := range map[string]bool{
		`invalid mount config for type "bind": bind source path does not exist: /run/mcprun/docker-0a`: true,
		`statfs /run/mcprun/docker-0a/g: no such file or directory`:                                    true,
		`exec: "python3": executable file not found`:                                                   false,
	} {
		if got := isFolderUnseen(errors.New(text)); got != want {
			t.Errorf("%q means that folders are not seen: %v, want %v", text, got, want)
		}
	}
	if isFolderUnseen(nil) {
		t.Error("no error is taken for one")
	}
}

// A remote container is told everything that a local one is told, and nothing of this machine.
func TestRemoteContainersAreHardened(t *testing.T) {
	b := New(Options{Host: "tcp://127.0.0.1:2375"})
	defer b.Close()
	spec := sandbox.Spec{ID: "x", Runtime: sandbox.Python, Tree: "/host/tree", Skills: "/host/skills", Workspace: "/host/work"}
	lim := spec.Limits.WithDefaults()
	got := b.remoteOptions(t.Context(), spec, &engine{remapped: true, rootless: true, remote: "it is"}, image{id: "img"}, "name")
	h := got.HostConfig
	if !h.ReadonlyRootfs || h.NetworkMode != "none" || len(h.CapDrop) != 1 || h.IpcMode != container.IPCModeNone || *h.Init || h.UsernsMode != "" ||
		got.Config.User != "65534:65534" || !h.AutoRemove || len(h.SecurityOpt) != 2 {
		t.Errorf("%+v", h)
	}
	if want := lim.Memory + relayMemory; h.Memory != want || h.MemorySwap != want {
		t.Errorf("memory %d, want %d", h.Memory, want)
	}
	if len(h.DNS) != 1 || h.DNS[0] != netip.MustParseAddr("127.0.0.1") {
		t.Errorf("name servers %v", h.DNS)
	}
	targets := map[string]bool{}
	for _, m := range h.Mounts {
		if m.Type != "volume" || m.Source != "" || m.VolumeOptions == nil || !m.VolumeOptions.NoCopy {
			t.Errorf("%+v", m)
		}
		targets[m.Target] = true
	}
	for _, want := range []string{"/mcp", "/workspace", "/workspace/servers", "/workspace/skills"} {
		if !targets[want] {
			t.Errorf("nothing is shown at %s", want)
		}
	}
	for _, arg := range append(got.Config.Cmd, got.Config.Env...) {
		if strings.Contains(arg, "/host/") {
			t.Errorf(`the container is told %q, want no "/host/" in it`, arg)
		}
	}
}

// Podman would run guests with a filter of its own.
func TestRemotePodmanIsRefused(t *testing.T) {
	b := New(Options{Host: "tcp://127.0.0.1:2375"})
	defer b.Close()
	for _, c := range []struct {
		engine engine
		ok     bool
	}{{engine{podman: true}, true}, {engine{remote: "it is"}, true}, {engine{podman: true, remote: "it is"}, false}} {
		if err := b.checkRemote(&c.engine); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.engine, err)
		}
	}
	_, err := b.startRemote(t.Context(), sandbox.Spec{ID: "x", Runtime: sandbox.Python}, &engine{podman: true, remote: "it is"}, image{})
	var refused *EngineError
	if !errors.As(err, &refused) || refused.Hint() == "" {
		t.Errorf("started: %v", err)
	}
}
