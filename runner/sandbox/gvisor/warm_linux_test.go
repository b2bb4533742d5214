package gvisor_test

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/gvisor"
)

// waiting is a guest that says hello, and does its work when it receives something.
const waiting = `
import os, socket, sys
conn = socket.socket(fileno=3)
conn.sendall(b"hello")
conn.recv(1)
os.chdir("/workspace")
`

func warm(t testing.TB, b *gvisor.Backend, s sandbox.Spec) (sandbox.Idle, net.Conn) {
	t.Helper()
	idle, err := b.Warm(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := idle.Bridge(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := conn.Read(make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	return idle, conn
}

func TestWaitingGuestIsAdopted(t *testing.T) {
	each(t, func(t *testing.T, b *gvisor.Backend) {
		first := spec(sandbox.Python, waiting+`
print(sorted(os.listdir("/workspace")), open("servers/a.py").read(), open("/mcp/skills/b.py").read(), open("skills/b.py").read())
open("out.txt", "w").write("kept")
for f in ["servers/a.py", "servers/new", "/mcp/servers/a.py", "/mcp/guest/guest.py", "/mcp/new", "/new", "/etc/passwd", "/usr/bin/new", "skills/b.py"]:
    try: open(f, "w"); print("wrote", f)
    except OSError: pass
print(sys.stdin.read())
a = []
while True: a.append(bytearray(1 << 20))
`)
		first.Args = []string{"-I", "-B", "-u"}
		second := first
		second.Workspace, second.Tree, second.Skills = workspace(t), workspace(t), workspace(t)
		if os.Geteuid() != 0 {
			first.Workspace, first.Tree, first.Skills = second.Workspace, second.Tree, second.Skills
		}
		for file, text := range map[string]string{filepath.Join(second.Tree, "a.py"): "tree", filepath.Join(second.Skills, "b.py"): "skill"} {
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if b.Shape(first) != b.Shape(second) {
			t.Errorf("%+v does not fit %+v", b.Shape(first), b.Shape(second))
		}
		idle, conn := warm(t, b, first)
		var stdout, stderr bytes.Buffer
		second.ID, second.Stdout, second.Stderr, second.Stdin = "second", &stdout, &stderr, bytes.NewReader([]byte("input"))
		second.Limits.Memory = 150_000_000
		p, err := idle.Adopt(t.Context(), second)
		if err != nil {
			t.Fatal(err)
		}
		if p.Secret() != first.Secret {
			t.Errorf("secret %q", p.Secret())
		}
		if _, err := p.Bridge(t.Context()); err == nil {
			t.Error("the bridge is given out twice: got no error, want an error")
		}
		if _, err := conn.Write([]byte("x")); err != nil {
			t.Error(err)
		}
		exit, err := p.Wait()
		if want := "['servers', 'skills'] tree skill skill\ninput\n"; err != nil || stdout.String() != want || exit.Killed != "memory" {
			t.Errorf("%+v %v %q, want %q\n%s", exit, err, stdout.String(), want, stderr.String())
		}
		if got, err := os.ReadFile(filepath.Join(second.Workspace, "out.txt")); err != nil || string(got) != "kept" {
			t.Errorf(`%q %v, want "kept" and no error`, got, err)
		}
		if left, _ := os.ReadDir(second.Workspace); !slices.ContainsFunc(left, func(e os.DirEntry) bool { return e.Name() == "servers" }) {
			t.Error("the place of the tree is gone")
		}
	})
}

func TestAdoptedWithoutWorkspace(t *testing.T) {
	each(t, func(t *testing.T, b *gvisor.Backend) {
		s := spec(sandbox.Python, waiting+`
try:
    with open("x", "wb") as f:
        for i in range(100): f.write(bytes(1 << 20))
except OSError as e: print(e.errno, sorted(os.listdir(".")))
`)
		s.Args = []string{"-I", "-B", "-u"}
		s.Limits.Tmp = 8 << 20
		idle, conn := warm(t, b, s)
		var stdout, stderr bytes.Buffer
		s.Stdout, s.Stderr = &stdout, &stderr
		p, err := idle.Adopt(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write([]byte("x"))
		if exit, err := p.Wait(); err != nil || exit.Code != 0 || stdout.String() != "28 ['x']\n" {
			t.Errorf("%+v %v %q %s, want Code 0, %q and no error", exit, err, stdout.String(), stderr.String(), "28 ['x']\n")
		}
	})
}

func TestWaitingGuestIsClosed(t *testing.T) {
	each(t, func(t *testing.T, b *gvisor.Backend) {
		idle, conn := warm(t, b, spec(sandbox.Python, waiting))
		select {
		case <-idle.Done():
			t.Error("it has ended")
		default:
		}
		if err := idle.Close(); err != nil {
			t.Error(err)
		}
		<-idle.Done()
		if _, err := conn.Read(make([]byte, 1)); err == nil {
			t.Error("it speaks: got no error, want an error")
		}
	})
}

func TestGuestThatEndedIsNotAdopted(t *testing.T) {
	each(t, func(t *testing.T, b *gvisor.Backend) {
		idle, conn := warm(t, b, spec(sandbox.Python, waiting))
		_, _ = conn.Write([]byte("x"))
		<-idle.Done()
		if p, err := idle.Adopt(t.Context(), spec(sandbox.Python, waiting)); err == nil {
			p.Kill()
			_, _ = p.Wait()
			t.Error("adopted")
		}
	})
}

func BenchmarkWarm(b *testing.B) {
	be := backend(b, "module")
	s := spec(sandbox.Python, waiting+`print(1)`)
	s.Args = []string{"-I", "-B", "-u"}
	s.Workspace = b.TempDir()
	for b.Loop() {
		b.StopTimer()
		idle, conn := warm(b, be, s)
		w := make(first, 1)
		s.Stdout = w
		b.StartTimer()
		p, err := idle.Adopt(b.Context(), s)
		if err != nil {
			b.Fatal(err)
		}
		_, _ = conn.Write([]byte("x"))
		<-w
		b.StopTimer()
		_, _ = p.Wait()
		b.StartTimer()
	}
}

// first is closed by the first write.
type first chan struct{}

func (f first) Write(p []byte) (int, error) {
	select {
	case f <- struct{}{}:
	default:
	}
	return len(p), nil
}
