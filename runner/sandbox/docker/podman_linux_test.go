package docker_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/docker"
)

// newPodman starts a Podman service with a store of its own and the pinned image, and returns its address.
func newPodman(t *testing.T) (host string) {
	t.Helper()
	program, err := exec.LookPath("podman")
	if err != nil || os.Geteuid() != 0 {
		cannotRun(t, "the test takes root and podman")
	}
	reaper, err := exec.LookPath("docker-init")
	if err != nil {
		reaper, err = exec.LookPath("tini")
	}
	if err != nil {
		cannotRun(t, "the test takes docker-init or tini")
	}
	dir := shortDir(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	config := fmt.Sprintf("[containers]\ninit_path = %q\ndefault_ulimits = [\"nofile=1024:1024\", \"nproc=1024:1024\"]\n"+
		"[engine]\ninit_path = %q\ncgroup_manager = \"cgroupfs\"\nruntime = \"runc\"\nevents_logger = \"file\"\n", reaper, reaper)
	if err := os.WriteFile(at("containers.conf"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	host = "unix://" + at("s")
	cmd := exec.Command(program, "--root", at("root"), "--runroot", at("run"), "--tmpdir", at("tmp"), "system", "service", "--time=0", host)
	cmd.Dir = dir // where what it starts may leave a file
	cmd.Env = append(os.Environ(), "CONTAINERS_CONF="+at("containers.conf"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Cloneflags: syscall.CLONE_NEWNET}
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
		unmountBelow(dir)
	})
	c, err := client.New(client.WithHost(host))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ready := func() bool { _, err := c.Ping(t.Context(), client.PingOptions{}); return err == nil }
	for began := time.Now(); !ready(); time.Sleep(50 * time.Millisecond) {
		if time.Since(began) > 30*time.Second {
			t.Fatalf("podman does not come up: %s, want time.Since(began) at most %v", &log, 30*time.Second)
		}
	}
	copyImage(t, c)
	return host
}

// Podman speaks Docker's language with an accent: each of these failed once.
func TestPodman(t *testing.T) {
	host, dir := newPodman(t), shortDir(t)
	b := newBackend(t, func(o *docker.Options) { o.Host, o.RuntimeDir = host, dir })
	if st := b.Probe(t.Context()); !strings.HasPrefix(st.Detail, "Podman ") {
		t.Errorf(`status %+v, want "Podman " at its start`, st)
	}
	left := func(t *testing.T) {
		t.Helper()
		c, err := client.New(client.WithHost(host))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		list, err := c.ContainerList(t.Context(), client.ContainerListOptions{All: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range list.Items {
			t.Errorf("container %v is left: %s", item.Names, item.Status)
		}
		if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) > 0 {
			t.Errorf("%v are left, want len(files) at most 0", files)
		}
	}
	t.Run("exit code and output", func(t *testing.T) {
		for rt, code := range map[sandbox.Runtime]string{
			sandbox.Node: `console.log("hello"); process.exitCode = 7;`, sandbox.Python: `import sys; print("hello"); sys.exit(7)`,
		} {
			g := newGuest(t, rt, code)
			if exit := g.run(t, b); exit.Code != 7 || exit.Killed != "" || g.out.String() != "hello\n" {
				t.Errorf(`%s: exit %+v, printed %q %s, want Code 7, Killed "" and g.out.String() %q`, rt, exit, &g.out, &g.err, "hello\n")
			}
		}
		left(t)
	})
	t.Run("surface", func(t *testing.T) {
		got := report[map[string]any](t, newGuest(t, sandbox.Python, `
import ctypes, json, os
st = dict(l.rstrip("\n").split(":\t", 1) for l in open("/proc/self/status") if ":\t" in l)
libc = ctypes.CDLL(None, use_errno=True)
def call(*args):
    ctypes.set_errno(0)
    return ctypes.get_errno() if libc.syscall(*args) == -1 else 0
writable = []
for d, dirs, files in os.walk("/"):
    if d.startswith(("/proc", "/sys")): dirs.clear(); continue
    if os.access(d, os.W_OK): writable.append(d)
print(json.dumps({"caps": st["CapBnd"], "uid": os.getuid(), "new": st["NoNewPrivs"], "uring": call(425, 8, 0), "keyctl": call(250, 0, -3, 0), "interfaces": open("/proc/net/dev").read().count(":"), "writable": writable}))`), b)
		if got["caps"] != "0000000000000000" || got["uid"] == 0.0 || got["new"] != "1" || got["uring"] != 1.0 || got["keyctl"] != 1.0 || got["interfaces"] != 1.0 {
			t.Errorf("inside: %v", got)
		}
		for _, dir := range got["writable"].([]any) {
			if !slices.Contains([]any{"/tmp", "/workspace"}, dir) {
				t.Errorf("%v can be written to", dir)
			}
		}
	})
	t.Run("limits", func(t *testing.T) {
		g := newGuest(t, sandbox.Python, "b = []\nwhile True: b.append(bytearray(1 << 20))")
		g.Limits.Memory = 100 << 20
		if exit := g.run(t, b); exit.Code != 137 || exit.Killed != "memory" {
			t.Errorf(`exit %+v, want Code 137 and Killed "memory"`, exit)
		}
		g = newGuest(t, sandbox.Python, "while True: pass")
		g.Limits.CPU = time.Second
		if exit := g.run(t, b); exit.Killed != "cpu" {
			t.Errorf(`exit %+v, want Killed "cpu"`, exit)
		}
		left(t)
	})
	t.Run("kill", func(t *testing.T) {
		p, err := b.Start(t.Context(), newGuest(t, sandbox.Python, busy[sandbox.Python]).Spec)
		if err != nil {
			t.Fatal(err)
		}
		p.Kill()
		if exit, err := p.Wait(); err != nil || exit.Code != 137 || exit.Killed != "" {
			t.Errorf(`exit %+v, %v, want Code 137, Killed "" and no error`, exit, err)
		}
		left(t)
	})
	t.Run("warm", func(t *testing.T) {
		g := newGuest(t, sandbox.Python, waiting[sandbox.Python])
		folders(t, &g.Spec)
		if exit := runWarm(t, b, g, lookAround); exit.Code != 0 || g.out.String() != lookedAround {
			t.Errorf("exit %+v, printed %q %s, want Code 0 and g.out.String() %v", exit, &g.out, &g.err, lookedAround)
		}
		left(t)
	})
	t.Run("does not start", func(t *testing.T) {
		g := newGuest(t, sandbox.Python, "pass")
		g.Limits.Files = 1
		if p, err := b.Start(t.Context(), g.Spec); err == nil {
			p.Kill()
			p.Wait()
			t.Error("it started")
		}
		left(t)
	})
	t.Run("dead host", func(t *testing.T) {
		t.Setenv("DOCKER_HOST", host)
		killedHost(t, "podman-dead", dir, polite)
		goneWithin(t, goneTime, func() bool { return isLeft(t, "podman-dead", dir) })
		left(t)
	})
}
