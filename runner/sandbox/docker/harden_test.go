package docker_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	dc "github.com/ory/dockertest/v3/docker"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/docker"
)

// report runs a guest that prints one JSON object.
func report[T any](t *testing.T, g *guest, b *docker.Backend) T {
	t.Helper()
	var v T
	out := g.ok(t, b)
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatalf("%v: %s%s", err, out, &g.err)
	}
	return v
}

func TestNoPrivileges(t *testing.T) {
	b := newBackend(t)
	got := report[map[string]string](t, newGuest(t, sandbox.Python, `
import json
st = dict(l.rstrip("\n").split(":\t", 1) for l in open("/proc/self/status") if ":\t" in l)
print(json.dumps({k: st[k] for k in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "Uid", "Gid", "Groups")}))
`), b)
	for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
		if strings.Trim(got[set], "0") != "" {
			t.Errorf("%s is %s", set, got[set])
		}
	}
	if got["NoNewPrivs"] != "1" || got["Seccomp"] != "2" {
		t.Errorf(`NoNewPrivs %s, Seccomp %s, want "1" and "2"`, got["NoNewPrivs"], got["Seccomp"])
	}
	for _, ids := range []string{"Uid", "Gid", "Groups"} {
		if slices.Contains(strings.Fields(got[ids]), "0") {
			t.Errorf(`%s: %s, want no "0" in it`, ids, got[ids])
		}
	}
}

// TestNoTerminals: one guest could take all that the kernel has for the containers of a machine, some three thousand.
func TestNoTerminals(t *testing.T) {
	b := newBackend(t)
	out := newGuest(t, sandbox.Python, `
import os
for path in ("/dev/ptmx", "/dev/pts/ptmx"):
    fd = os.open(path, os.O_RDWR | os.O_NOCTTY)
    print(os.isatty(fd), os.major(os.fstat(fd).st_rdev))
try: print(os.openpty())
except OSError: print("none")
`).ok(t, b)
	if out != "False 1\nFalse 1\nnone\n" {
		t.Errorf("%q, want %q", out, "False 1\nFalse 1\nnone\n")
	}
}

func TestNoNetwork(t *testing.T) {
	b := newBackend(t)
	got := report[map[string]string](t, newGuest(t, sandbox.Python, `
import json, os, socket
out = {}
def attempt(name, f):
    try:
        f(); out[name] = "ok"
    except OSError as e:
        out[name] = type(e).__name__ + " " + str(e.errno)
attempt("inet", lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM))
attempt("inet6", lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM))
attempt("netlink", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW))
attempt("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
attempt("vsock", lambda: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM))
attempt("unix datagram", lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
attempt("pair of datagrams", lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))
attempt("bind", lambda: socket.socket(socket.AF_UNIX).bind("/tmp/s"))
attempt("connect", lambda: socket.socket(socket.AF_UNIX).connect("/workspace/host.sock"))
attempt("dns", lambda: socket.getaddrinfo("example.com", 80))
attempt("localhost", lambda: socket.create_connection(("localhost", 80)))
out["interfaces"] = ",".join(sorted(l.split(":")[0].strip() for l in open("/proc/net/dev") if ":" in l))
out["routes"] = str(len(open("/proc/net/route").readlines()) - 1)
out["resolv"] = open("/etc/resolv.conf").read()
print(json.dumps(out))
`), b)
	for _, family := range []string{"inet", "inet6", "netlink", "packet", "vsock"} {
		if got[family] != "OSError 97" { // EAFNOSUPPORT
			t.Errorf(`a socket of family %s: %s, want "OSError 97"`, family, got[family])
		}
	}
	for _, what := range []string{"unix datagram", "pair of datagrams", "bind", "connect"} {
		if got[what] != "PermissionError 1" {
			t.Errorf(`%s: %s, want "PermissionError 1"`, what, got[what])
		}
	}
	if got["dns"] == "ok" || got["localhost"] == "ok" {
		t.Errorf("names and addresses are reached: %v", got)
	}
	// Without the system call filter there would be no way out either.
	if got["interfaces"] != "lo" || got["routes"] != "0" {
		t.Errorf(`interfaces %q, routes %s, want "lo" and "0"`, got["interfaces"], got["routes"])
	}
	if got["resolv"] != "" {
		t.Errorf(`the machine's name servers are told: %q, want ""`, got["resolv"])
	}
	node := newGuest(t, sandbox.Node, `
const out = {};
for (const u of ["http://127.0.0.1:80", "http://example.com", "http://169.254.169.254"]) out[u] = await fetch(u).then(() => "ok", e => String(e.cause?.code));
console.log(JSON.stringify(out));`)
	for url, result := range report[map[string]string](t, node, b) {
		if result == "ok" {
			t.Errorf("node reached %s", url)
		}
	}
}

// Everything a script could write to is its workspace and /tmp; both vanish or stay as promised.
func TestWritableFolders(t *testing.T) {
	b := newBackend(t)
	work, tree := openDir(t), openDir(t)
	if err := os.WriteFile(filepath.Join(tree, "client.py"), []byte("pass\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	const code = `
import json, os
found, skip = [], ("/proc", "/sys")
for d, dirs, files in os.walk("/"):
    if d.startswith(skip):
        dirs.clear(); continue
    try:
        p = os.path.join(d, ".written")
        open(p, "w").close(); os.unlink(p); found.append(d)
    except OSError:
        pass
    for f in files:
        p = os.path.join(d, f)
        if d.startswith("/dev") or os.path.islink(p): continue
        try:
            os.close(os.open(p, os.O_WRONLY)); found.append(p)
        except OSError:
            pass
for p in ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/sys/kernel/uevent_helper", "/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/memory/cgroup.procs"):
    try:
        os.close(os.open(p, os.O_WRONLY)); found.append(p)
    except OSError:
        pass
found += [p for p in ("/dev/shm", "/dev/mqueue") if os.access(p, os.W_OK)]
print(json.dumps(found))
`
	g := newGuest(t, sandbox.Python, code)
	g.Workspace, g.Tree = work, tree
	if got, want := report[[]string](t, g, b), []string{"/tmp", "/workspace"}; !slices.Equal(sorted(got), want) {
		t.Errorf("with a workspace, writable: %v, want %v", got, want)
	}
	g = newGuest(t, sandbox.Python, code)
	if got, want := report[[]string](t, g, b), []string{"/tmp", "/workspace"}; !slices.Equal(sorted(got), want) {
		t.Errorf("without a workspace, writable: %v, want %v", got, want)
	}
}

func sorted(s []string) []string { slices.Sort(s); return s }

// openDir is a folder as a user has it: readable for others, writable for its owner.
func openDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestFoldersAppearWhereTheyShould(t *testing.T) {
	b := newBackend(t)
	work, tree := openDir(t), openDir(t)
	for name, text := range map[string]string{filepath.Join(tree, "client.py"): "x = 1\n", filepath.Join(work, "in.txt"): "from the host"} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	g := newGuest(t, sandbox.Python, `
import json, os
os.mkdir("made"); open("made/out.txt", "w").write("from the guest")
def refused(f):
    try:
        f(); return False
    except OSError:
        return True
print(json.dumps({
  "cwd": os.getcwd(), "in": open("in.txt").read(), "tree": open("servers/client.py").read() + open("/mcp/servers/client.py").read(),
  "guest": sorted(os.listdir("/mcp/guest")), "guest2": open("/mcp/guest/extra.txt").read(),
  "refused": [refused(lambda: open("servers/new.py", "w")), refused(lambda: open("/mcp/servers/client.py", "a")), refused(lambda: os.rmdir("servers")),
    refused(lambda: os.rename("servers", "gone")), refused(lambda: open("/mcp/guest/guest.py", "a"))],
  "exec": refused(lambda: (open("/tmp/x", "w").write("#!/usr/bin/python3\n"), os.chmod("/tmp/x", 0o755), os.execv("/tmp/x", ["x"]))),
}))`)
	g.Workspace, g.Tree = work, tree
	g.Guest["extra.txt"] = []byte("beside")
	type result struct {
		CWD, In, Tree, Guest2 string
		Guest                 []string
		Refused               []bool
		Exec                  bool
	}
	got := report[result](t, g, b)
	if got.CWD != "/workspace" || got.In != "from the host" || got.Tree != "x = 1\nx = 1\n" || got.Guest2 != "beside" ||
		!slices.Equal(got.Guest, []string{"extra.txt", "guest.py"}) || !got.Exec {
		t.Errorf("inside: %+v", got)
	}
	if slices.Contains(got.Refused, false) {
		t.Errorf("the tree or the guest program can be changed: %v, want no false in it", got.Refused)
	}
	if out, err := os.ReadFile(filepath.Join(work, "made", "out.txt")); err != nil || string(out) != "from the guest" {
		t.Errorf(`the workspace holds %q, %v, want "from the guest" and no error`, out, err)
	}
}

func TestEnvironmentIsOurs(t *testing.T) {
	t.Setenv("MCPGEN_TEST_SECRET", "of the host")
	b := newBackend(t)
	for rt, code := range map[sandbox.Runtime]string{
		sandbox.Python: `import json; print(json.dumps(dict(pair.split("=", 1) for pair in open("/proc/self/environ").read().split("\0") if pair)))`,
		sandbox.Node: `import fs from "node:fs";
console.log(JSON.stringify(Object.fromEntries(fs.readFileSync("/proc/self/environ", "utf8").split("\0").filter(Boolean).map((pair) => pair.split(/=(.*)/s)))));`,
	} {
		got := report[map[string]string](t, newGuest(t, rt, code), b)
		want := map[string]string{"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8"}
		delete(got, "LC_CTYPE") // Python's own
		if !maps.Equal(got, want) {
			t.Errorf("%s: %q, want %q", rt, got, want)
		}
	}
}

func TestNothingOfTheHostIsSeen(t *testing.T) {
	b := newBackend(t)
	g := newGuest(t, sandbox.Python, `
import json, os
print(json.dumps({
  "root": sorted(os.listdir("/")), "run": sorted(os.listdir("/run")), "secret": any("not to be guessed" in open(f"/proc/{pid}/{name}").read() for pid in (1, "self") for name in ("environ", "cmdline")), "procs": len([p for p in os.listdir("/proc") if p.isdigit()]),
  "dev": sorted(os.listdir("/dev")), "host": os.uname().nodename, "fds": sorted(int(f) for f in os.listdir("/proc/self/fd"))[:-1],
  "bin": sorted(os.listdir("/usr/bin") + os.listdir("/usr/local/bin") + os.listdir("/usr/sbin")),
}))`)
	type result struct {
		Root, Run, Dev, Bin []string
		Procs               int
		Host                string
		Fds                 []int
		Secret              bool
	}
	got := report[result](t, g, b)
	if want := []string{".dockerenv", "bin", "dev", "etc", "lib", "lib64", "mcp", "proc", "run", "sbin", "sys", "tmp", "usr", "workspace"}; !slices.Equal(got.Root, want) {
		t.Errorf("/ holds %v, want %v", got.Root, want)
	}
	if !slices.Equal(got.Run, []string{"mcprun"}) {
		t.Errorf("/run holds %v", got.Run)
	}
	if want := []string{"docker-init", "node", "python3", "python3.11"}; !slices.Equal(got.Bin, want) {
		t.Errorf("programs: %v, want %v", got.Bin, want)
	}
	if got.Procs != 2 { // init and the guest
		t.Errorf("%d processes are seen, want 2", got.Procs)
	}
	if got.Secret {
		t.Error("the secret is in an environment or a command line")
	}
	if got.Host != "sandbox" {
		t.Errorf(`the host name is %q, want "sandbox"`, got.Host)
	}
	// The last are the bridge and the pipe with the secret, which this guest has not closed.
	if !slices.Equal(got.Fds, []int{0, 1, 2, 3, 4}) {
		t.Errorf("open descriptors: %v", got.Fds)
	}
	for _, d := range got.Dev {
		if !slices.Contains([]string{"fd", "full", "mqueue", "null", "ptmx", "pts", "random", "stderr", "stdin", "stdout", "tty", "urandom", "zero", "core"}, d) {
			t.Errorf("/dev holds %s", d)
		}
	}
}

// What the engine was told, seen through another client.
func TestContainerSettings(t *testing.T) {
	b := newBackend(t)
	g := newGuest(t, sandbox.Python, `import socket; s = socket.socket(fileno=3); s.recv(1)`)
	g.Workspace, g.Tree = openDir(t), openDir(t)
	p, err := b.Start(t.Context(), g.Spec)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Wait()
	defer p.Kill()
	conn, err := p.Bridge(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client := pool(t).Client
	list, err := client.ListContainers(dc.ListContainersOptions{Filters: map[string][]string{"label": {"mcprun.run=" + g.ID}}})
	if err != nil || len(list) != 1 {
		t.Fatalf("%d containers, %v, want 1 and no error", len(list), err)
	}
	c, err := client.InspectContainer(list[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	h := c.HostConfig
	for what, ok := range map[string]bool{
		"network none":       h.NetworkMode == "none",
		"read-only root":     h.ReadonlyRootfs,
		"no capabilities":    slices.Equal(h.CapDrop, []string{"ALL"}) && len(h.CapAdd) == 0,
		"not privileged":     !h.Privileged,
		"no new privileges":  slices.Contains(h.SecurityOpt, "no-new-privileges"),
		"own seccomp":        slices.ContainsFunc(h.SecurityOpt, func(s string) bool { return strings.HasPrefix(s, `seccomp={`) }),
		"memory":             h.Memory == 500_000_000 && h.MemorySwap == h.Memory,
		"processes":          h.PidsLimit == 128,
		"processors":         h.CPUPeriod == 100_000 && h.CPUQuota == 200_000,
		"no log":             h.LogConfig.Type == "none",
		"no ipc":             h.IpcMode == "none",
		"removes itself":     h.AutoRemove,
		"not the host's pid": h.PidMode == "" && h.UTSMode == "",
		"not root":           c.Config.User != "" && !strings.HasPrefix(c.Config.User, "0"),
		"owner":              c.Config.Labels["mcprun.owner"] != "",
	} {
		if !ok {
			t.Errorf("not so: %s", what)
		}
	}
	for _, m := range c.Mounts {
		if m.RW && m.Destination != "/workspace" {
			t.Errorf("%s is mounted writable at %s", m.Source, m.Destination)
		}
	}
}

// The same image in a container without the backend's settings can do what the tests above find refused: they test
// the settings, not the image.
func TestPlainContainerAsControl(t *testing.T) {
	newBackend(t) // is there an engine and the image
	client := pool(t).Client
	images, err := client.ListImages(dc.ListImagesOptions{Filters: map[string][]string{"reference": {"mcpgen/sandbox"}}})
	if err != nil || len(images) == 0 {
		t.Fatalf("%d images, %v", len(images), err)
	}
	c, err := client.CreateContainer(dc.CreateContainerOptions{
		Config: &dc.Config{Image: images[0].ID, User: "0:0", Cmd: []string{"python3", "-c", `
import os, socket
socket.socket(socket.AF_INET); open("/made", "w"); open("/dev/shm/made", "w"); os.setuid(1)
`}},
		HostConfig: &dc.HostConfig{},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer client.RemoveContainer(dc.RemoveContainerOptions{ID: c.ID, Force: true})
	if err := client.StartContainer(c.ID, nil); err != nil {
		t.Fatal(err)
	}
	if code, err := client.WaitContainer(c.ID); err != nil || code != 0 {
		t.Errorf("exit %d, %v, want 0 and no error", code, err)
	}
}
