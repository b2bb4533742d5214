package docker_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ory/dockertest/v3"
	dc "github.com/ory/dockertest/v3/docker"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/docker"
)

// host is the engine the tests use, as the docker command would.
func host() string {
	if h := os.Getenv("DOCKER_HOST"); h != "" {
		return h
	}
	return docker.DefaultHost
}

// newBackend returns a backend with a folder of its own, in which it must leave nothing when the test ends, and the pinned
// image, or the one that MCPRUN_TEST_IMAGE names. A machine without engine or image is a failure in CI.
func newBackend(t testing.TB, change ...func(*docker.Options)) *docker.Backend {
	t.Helper()
	opt := docker.Options{Host: host(), RuntimeDir: shortDir(t), Image: os.Getenv("MCPRUN_TEST_IMAGE")}
	for _, f := range change {
		f(&opt)
	}
	b := docker.New(opt)
	t.Cleanup(func() { // not after each run: those at the same time share the folder, in which nothing says whose is what
		b.Close()
		nothingIn(t, opt.RuntimeDir)
	})
	if st := b.Probe(t.Context()); !st.Usable {
		cannotRun(t, fmt.Sprintf("docker is not usable: %s\n%s", st.Detail, st.Remedy))
	}
	return b
}

// shortDir is a private folder with a name that leaves room for a socket.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "mcprun-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// pool is dockertest's client: another look at the engine than the backend's own.
func pool(t testing.TB) *dockertest.Pool {
	t.Helper()
	p, err := dockertest.NewPool(host())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// guest is one run of a guest program that is nothing but a test's code.
type guest struct {
	sandbox.Spec
	out, err bytes.Buffer
}

func newGuest(t testing.TB, rt sandbox.Runtime, code string) *guest {
	t.Helper()
	g := &guest{Spec: sandbox.Spec{
		ID: "test-" + strings.Map(plain, t.Name()), Runtime: rt, Secret: "not to be guessed",
		Guest: map[string][]byte{sandbox.GuestMain(rt): []byte(code)},
	}}
	if rt == sandbox.Python {
		g.Args = []string{"-I", "-B", "-u"}
	}
	if len(g.ID) > 64 {
		g.ID = g.ID[:64]
	}
	g.Stdout, g.Stderr = &g.out, &g.err
	return g
}

func plain(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
		return r
	}
	return '-'
}

// run starts the guest and waits for its end.
func (g *guest) run(t testing.TB, b *docker.Backend) sandbox.Exit {
	t.Helper()
	p, err := b.Start(t.Context(), g.Spec)
	if err != nil {
		t.Fatal(err)
	}
	exit, err := p.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return exit
}

// ok also demands success and returns what was printed.
func (g *guest) ok(t testing.TB, b *docker.Backend) string {
	t.Helper()
	if exit := g.run(t, b); exit.Code != 0 {
		t.Fatalf("exit %+v, want Code 0\n%s%s", exit, &g.out, &g.err)
	}
	return g.out.String()
}

// nothingLeft fails when a container of the run or anything in the runtime folder is still there.
func nothingLeft(t testing.TB, id, runtimeDir string) {
	t.Helper()
	left, err := pool(t).Client.ListContainers(dc.ListContainersOptions{
		All: true, Filters: map[string][]string{"label": {"mcprun.run=" + id}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range left {
		t.Errorf("container %v is left: %s", c.Names, c.Status)
	}
	nothingIn(t, runtimeDir)
}

// nothingIn fails when anything is in a runtime folder.
func nothingIn(t testing.TB, runtimeDir string) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(runtimeDir, "*"))
	for _, f := range files {
		t.Errorf("%s is left", f)
	}
}

func TestRunsBothLanguages(t *testing.T) {
	b := newBackend(t)
	for rt, code := range map[sandbox.Runtime]string{
		sandbox.Node:   `console.log("hello from node"); console.error("beside"); process.exitCode = 7;`,
		sandbox.Python: `import sys; print("hello from python"); print("beside", file=sys.stderr); sys.exit(7)`,
	} {
		t.Run(string(rt), func(t *testing.T) {
			g := newGuest(t, rt, code)
			exit := g.run(t, b)
			if exit.Code != 7 || exit.Killed != "" {
				t.Errorf(`exit %+v, want Code 7 and Killed ""`, exit)
			}
			if got, want := g.out.String(), fmt.Sprintf("hello from %s\n", rt); got != want {
				t.Errorf("stdout %q, want %q", got, want)
			}
			if g.err.String() != "beside\n" {
				t.Errorf("stderr %q", &g.err)
			}
		})
	}
}

func TestStdinReachesTheGuest(t *testing.T) {
	b := newBackend(t)
	g := newGuest(t, sandbox.Python, `import sys, hashlib; d = sys.stdin.buffer.read(); print(len(d), d[:3], d[-3:])`)
	g.Stdin = strings.NewReader("abc" + strings.Repeat("x", 3<<20) + "xyz")
	if got, want := g.ok(t, b), fmt.Sprintf("%d b'abc' b'xyz'\n", 3<<20+6); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	g = newGuest(t, sandbox.Python, `import sys; print(repr(sys.stdin.read()))`)
	if got := g.ok(t, b); got != "''\n" {
		t.Errorf("no stdin reads as %q, want %q", got, "''\n")
	}
}

// A Stdin that never ends must not keep the run from ending.
func TestEndlessStdin(t *testing.T) {
	b := newBackend(t)
	r, w := io.Pipe()
	defer w.Close()
	g := newGuest(t, sandbox.Python, `print("done")`)
	g.Stdin = r
	if got := g.ok(t, b); got != "done\n" {
		t.Errorf("got %q, want %q", got, "done\n")
	}
}

func TestBridge(t *testing.T) {
	dir := shortDir(t)
	b := newBackend(t, func(o *docker.Options) { o.RuntimeDir = dir })
	g := newGuest(t, sandbox.Python, `
import os, socket
import sys
assert sys.argv[1:] == ["fd:3"], sys.argv
s = socket.socket(fileno=3)
s.sendall(os.read(4, 100))
assert os.read(4, 1) == b""
assert s.recv(100) == b"ping"
try:
    second = socket.socket(socket.AF_UNIX)
    second.connect("/run/mcprun/s"); print("connected twice")
except OSError as e:
    print("second:", type(e).__name__)
print(os.listdir("/run/mcprun"))
s.sendall(b"bye"); s.close()
`)
	p, err := b.Start(t.Context(), g.Spec)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := p.Bridge(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, len(g.Secret))
	if _, err := io.ReadFull(conn, buf); err != nil || string(buf) != g.Secret {
		t.Fatalf("read %q, %v, want %v and no error", buf, err, g.Secret)
	}
	if _, err := conn.Write([]byte("ping")); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(conn)
	if err != nil || string(rest) != "bye" {
		t.Errorf(`read %q, %v, want "bye" and no error`, rest, err)
	}
	conn.Close()
	if exit, err := p.Wait(); err != nil || exit.Code != 0 {
		t.Errorf("exit %+v, %v: %s, want Code 0 and no error", exit, err, &g.err)
	}
	if got := g.out.String(); got != "second: PermissionError\n['enter.py']\n" {
		t.Errorf("printed %q, want %q", got, "second: PermissionError\n['enter.py']\n")
	}
	nothingLeft(t, g.ID, dir)
}

func TestBridgeFailsWhenTheGuestEnds(t *testing.T) {
	b := newBackend(t)
	p, err := b.Start(t.Context(), newGuest(t, sandbox.Python, `pass`).Spec)
	if err != nil {
		t.Fatal(err)
	}
	p.Kill()
	if _, err := p.Wait(); err != nil {
		t.Error(err)
	}
	if conn, err := p.Bridge(t.Context()); err == nil {
		conn.Close()
		t.Error("a connection from a guest that is gone")
	}
}

// Output is what a run is for: none of it may be lost, and a lot of it must not block.
func TestMuchOutput(t *testing.T) {
	b := newBackend(t)
	var n counter
	g := newGuest(t, sandbox.Python, `
import os
line = b"0123456789abcde\n" * 4096
for _ in range(1600): 
    m = memoryview(line)
    while m: m = m[os.write(1, m):]
`)
	g.Stdout = &n
	g.ok(t, b)
	if n != 1600*65536 {
		t.Errorf("%d bytes came, %d were written", n, 1600*65536)
	}
}

// The engine forgets output two seconds after a container's end; a writer may be slower.
func TestSlowWriterLosesNothing(t *testing.T) {
	b := newBackend(t)
	g := newGuest(t, sandbox.Python, `
import os
m = memoryview(b"x" * (4 << 20))
while m: m = m[os.write(1, m):]
`)
	w := &slowWriter{delay: 3 * time.Second}
	g.Stdout = w
	g.ok(t, b)
	if w.n != 4<<20 {
		t.Errorf("%d bytes came, %d were written", w.n, 4<<20)
	}
}

type slowWriter struct {
	delay time.Duration
	n     int
}

func (w *slowWriter) Write(p []byte) (int, error) {
	if w.n == 0 {
		time.Sleep(w.delay) // the slowness is the test
	}
	w.n += len(p)
	return len(p), nil
}

func TestBrokenWriterDoesNotStopTheGuest(t *testing.T) {
	b := newBackend(t)
	g := newGuest(t, sandbox.Python, `
import sys
for _ in range(1000): print("x" * 10000)
print("end", file=sys.stderr)
`)
	r, w := io.Pipe()
	r.Close()
	g.Stdout = w
	g.ok(t, b)
	if g.err.String() != "end\n" {
		t.Errorf("stderr %q", &g.err)
	}
}

type counter int

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

func TestManyAtOnce(t *testing.T) {
	dir := shortDir(t)
	b := newBackend(t, func(o *docker.Options) { o.RuntimeDir = dir })
	var wg sync.WaitGroup
	g := newGuest(t, sandbox.Python, `print(open(4).read())`)
	for i := range 10 {
		wg.Go(func() {
			spec, out := g.Spec, new(bytes.Buffer)
			spec.Secret, spec.Stdout, spec.Stderr = fmt.Sprint("secret ", i), out, out
			p, err := b.Start(t.Context(), spec)
			if err != nil {
				t.Error(err)
				return
			}
			if exit, err := p.Wait(); err != nil || exit.Code != 0 {
				t.Errorf("run %d: exit %+v, %v, want Code 0 and no error", i, exit, err)
			}
			if got := out.String(); got != spec.Secret+"\n" {
				t.Errorf("run %d printed %q, want %q", i, got, spec.Secret+"\n")
			}
		})
	}
	wg.Wait()
	nothingLeft(t, g.ID, dir)
}

func BenchmarkColdStart(b *testing.B) {
	backend := newBackend(b)
	for rt, code := range map[sandbox.Runtime]string{
		sandbox.Node: `import net from "node:net"; new net.Socket({ fd: 3 }).end("x");`,
		sandbox.Python: `import socket
s = socket.socket(fileno=3); s.sendall(b"x")`,
	} {
		b.Run(string(rt), func(b *testing.B) {
			var first, whole time.Duration
			for b.Loop() {
				began := time.Now()
				p, err := backend.Start(b.Context(), newGuest(b, rt, code).Spec)
				if err != nil {
					b.Fatal(err)
				}
				conn, err := p.Bridge(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
					b.Fatal(err)
				}
				first += time.Since(began)
				conn.Close()
				if _, err := p.Wait(); err != nil {
					b.Fatal(err)
				}
				whole += time.Since(began)
			}
			b.ReportMetric(float64(first.Milliseconds())/float64(b.N), "ms/first-byte")
			b.ReportMetric(float64(whole.Milliseconds())/float64(b.N), "ms/all-gone")
		})
	}
}

// cannotRun ends a test that this machine cannot run: with a failure where CI is set, else skipped.
func cannotRun(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("the test cannot run: %s", why)
	}
	t.Skip(why)
}
