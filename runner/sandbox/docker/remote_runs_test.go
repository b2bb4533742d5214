package docker_test

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	dc "github.com/ory/dockertest/v3/docker"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/docker"
)

// overTCP reaches the tests' engine over TCP on the loopback interface, as one on another machine.
func overTCP(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	forwardAll(t, l, host())
	return "tcp://" + l.Addr().String()
}

// forwardAll connects whoever connects with the engine.
func forwardAll(t testing.TB, l net.Listener, engine string) {
	t.Helper()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go forward(conn.(halfCloser), engine)
		}
	}()
	t.Cleanup(func() { l.Close() })
}

// forward connects a connection with the engine, and passes on that one side has nothing more to say.
func forward(conn halfCloser, engine string) {
	defer conn.Close()
	network, address, _ := strings.Cut(engine, "://")
	up, err := net.Dial(network, address)
	if err != nil {
		return
	}
	defer up.Close()
	var both sync.WaitGroup
	for _, pair := range [][2]halfCloser{{conn, up.(halfCloser)}, {up.(halfCloser), conn}} {
		both.Go(func() {
			io.Copy(pair[0], pair[1])
			pair[0].CloseWrite()
		})
	}
	both.Wait()
}

type halfCloser interface {
	net.Conn
	CloseWrite() error
}

// remoteBackend is one whose engine is apart.
func remoteBackend(t testing.TB, change ...func(*docker.Options)) *docker.Backend {
	t.Helper()
	return newBackend(t, append([]func(*docker.Options){func(o *docker.Options) { o.Host = overTCP(t) }}, change...)...)
}

func TestRemoteRunsBothLanguages(t *testing.T) {
	b := remoteBackend(t)
	for rt, code := range map[sandbox.Runtime]string{
		sandbox.Node:   `const fs = await import("node:fs"); console.log(process.cwd(), fs.readFileSync("servers/a.txt", "utf8"), fs.readFileSync("in.txt", "utf8")); fs.writeFileSync("out.txt", "made"); process.exit(3)`,
		sandbox.Python: `import os, sys; print(os.getcwd(), open("servers/a.txt").read(), open("in.txt").read()); open("out.txt", "w").write("made"); sys.exit(3)`,
	} {
		t.Run(string(rt), func(t *testing.T) {
			g := newGuest(t, rt, waiting[rt]) // a guest that does not wait for its job is not promised its workspace
			g.Workspace, g.Tree = openDir(t), openDir(t)
			write(t, filepath.Join(g.Workspace, "in.txt"), "before")
			write(t, filepath.Join(g.Tree, "a.txt"), "tree")
			p, err := b.Start(t.Context(), g.Spec)
			if err != nil {
				t.Fatal(err)
			}
			conn, err := p.Bridge(t.Context())
			if err == nil {
				defer conn.Close()
				_, err = conn.Write([]byte(code))
			}
			exit, waited := p.Wait()
			if err = errors.Join(err, waited); err != nil {
				t.Fatal(err)
			}
			if exit.Code != 3 || exit.Killed != "" || g.out.String() != "/workspace tree before\n" {
				t.Errorf("%+v, want Code 3, Killed \"\" and g.out.String() %q\n%s%s", exit, "/workspace tree before\n", &g.out, &g.err)
			}
			if got, err := os.ReadFile(filepath.Join(g.Workspace, "out.txt")); err != nil || string(got) != "made" {
				t.Errorf(`the file on the host: %q, %v, want "made" and no error`, got, err)
			}
			if exit.MaxMemory == 0 {
				t.Error("no memory was measured")
			}
		})
	}
}

func write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// volumes lists those of a run.
func volumes(t testing.TB, id string) []string {
	t.Helper()
	all, err := pool(t).Client.ListVolumes(dc.ListVolumesOptions{Filters: map[string][]string{"label": {"mcprun.run=" + id}}})
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, v := range all {
		left = append(left, "volume "+v.Name)
	}
	return left
}

// A remote container tells nothing about where it is.
func TestRemoteContainerTellsNothing(t *testing.T) {
	b := remoteBackend(t)
	g := newGuest(t, sandbox.Python, `
import os
print(open("/etc/resolv.conf").read())
print([m for m in open("/proc/mounts").read().splitlines() if "resolv" in m and "ro," not in m] and "")
print(os.getpid() != 1, os.getuid(), os.path.exists("/proc/1/fd/0") or "closed")
for name in ("/proc/1/mem", "/proc/1/environ", "/proc/1/fd"):
    try:
        if name.endswith("fd"): os.listdir(name)
        elif os.fstat(open(name, "rb").fileno()).st_rdev == os.makedev(1, 3): continue  # hidden: it is the null device
        print("LEAK", name)
    except OSError: pass
`)
	out := g.ok(t, b)
	engine, err := os.ReadFile("/etc/resolv.conf")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(engine)) {
		if fields := strings.Fields(line); len(fields) > 1 && !strings.HasPrefix(line, "#") && fields[1] != "127.0.0.1" && strings.Contains(out, fields[1]) {
			t.Errorf("the container knows %q", line)
		}
	}
	if strings.Contains(out, "LEAK") || !strings.Contains(out, "True 65534 closed") {
		t.Errorf(`%s, want no "LEAK" in it and "True 65534 closed" in it`, out)
	}
	t.Log(out)
}
