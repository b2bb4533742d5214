package docker_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/docker"
)

// waiting guests say hello and then run the code that comes over the bridge, as the guest programs do with a job.
var waiting = map[sandbox.Runtime]string{
	sandbox.Python: `
import os, socket, sys
s = socket.socket(fileno=3); s.sendall(b"hello")
code = s.recv(1 << 20).decode()
os.chdir("/workspace")
exec(code)
`,
	sandbox.Node: `
import net from "node:net";
const s = new net.Socket({ fd: 3, readable: true, writable: true });
s.write("hello");
s.once("data", async (code) => { process.chdir("/workspace"); await eval("(async () => {" + code + "})()"); s.destroy(); });
`,
}

// warm starts a guest of g's shape and waits until it is ready.
func warm(t testing.TB, b *docker.Backend, g *guest) (sandbox.Idle, net.Conn) {
	t.Helper()
	idle, err := b.Warm(t.Context(), sandbox.Spec{
		ID: g.ID, Runtime: g.Runtime, Args: g.Args, Guest: g.Guest, Secret: g.Secret,
		Tree: g.Tree, Skills: g.Skills, Workspace: g.Workspace, Limits: b.Shape(g.Spec).Limits,
	})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := idle.Bridge(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	hello := make([]byte, 5)
	if _, err := conn.Read(hello); err != nil || string(hello) != "hello" {
		t.Fatalf(`the guest said %q, %v, want "hello" and no error`, hello, err)
	}
	return idle, conn
}

// runWarm runs code in a guest that was warm before.
func runWarm(t testing.TB, b *docker.Backend, g *guest, code string) sandbox.Exit {
	t.Helper()
	idle, conn := warm(t, b, g)
	defer conn.Close()
	p, err := idle.Adopt(t.Context(), g.Spec)
	if err != nil {
		t.Fatal(err)
	}
	if p.Secret() != g.Secret {
		t.Errorf("the guest's secret is %q", p.Secret())
	}
	if _, err := conn.Write([]byte(code)); err != nil {
		t.Fatal(err)
	}
	exit, err := p.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return exit
}

// folders gives a run all the folders that it can have.
func folders(t *testing.T, s *sandbox.Spec) {
	t.Helper()
	s.Workspace, s.Tree, s.Skills = openDir(t), openDir(t), openDir(t)
	for name, text := range map[string]string{
		filepath.Join(s.Workspace, "in.txt"): "workspace", filepath.Join(s.Tree, "t.txt"): "tree", filepath.Join(s.Skills, "s.txt"): "skills",
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const lookedAround = "workspace tree skills tree skills refused refused refused refused refused refused /workspace ['guest', 'servers', 'skills']\n"

const lookAround = `
import os
for name in ("in.txt", "servers/t.txt", "skills/s.txt", "/mcp/servers/t.txt", "/mcp/skills/s.txt"):
    print(open(name).read(), end=" ")
for name in ("servers/new", "/mcp/servers/t.txt", "skills/s.txt", "/mcp/skills/new", "/mcp/guest/new", "/proc/1/cwd/new"):
    try:
        open(name, "a"); print("WRITTEN", name)
    except OSError as error:
        print("refused", end=" ")
open("out.txt", "w").write("from the guest")
print(os.getcwd(), sorted(os.listdir("/mcp")))
`

func TestAdoptShowsTheFolders(t *testing.T) {
	dir := shortDir(t)
	b := newBackend(t, func(o *docker.Options) { o.RuntimeDir = dir })
	g := newGuest(t, sandbox.Python, waiting[sandbox.Python])
	folders(t, &g.Spec)
	if exit := runWarm(t, b, g, lookAround); exit.Code != 0 {
		t.Errorf("exit %+v %s, want Code 0", exit, &g.err)
	}
	if got, want := g.out.String(), lookedAround; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
	if out, err := os.ReadFile(filepath.Join(g.Workspace, "out.txt")); err != nil || string(out) != "from the guest" {
		t.Errorf(`the workspace holds %q, %v, want "from the guest" and no error`, out, err)
	}
	nothingLeft(t, g.ID, dir)
}

// A guest started for one run sees the same.
func TestFoldersOfAColdGuest(t *testing.T) {
	b := newBackend(t)
	g := newGuest(t, sandbox.Python, strings.ReplaceAll(lookAround, `"/proc/1/cwd/new"`, `"/mcp/new"`))
	folders(t, &g.Spec)
	if got, want := g.ok(t, b), lookedAround; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
}

func TestAdoptWithoutFolders(t *testing.T) {
	b := newBackend(t)
	for rt, code := range map[sandbox.Runtime]string{
		sandbox.Python: `import os; open("x", "w").write("y"); print(os.listdir("."), os.listdir("/mcp/servers"), sys.stdin.read() == "")`,
		sandbox.Node: `const fs = await import("node:fs"); fs.writeFileSync("x", "y");
console.log(JSON.stringify(fs.readdirSync(".")), JSON.stringify(fs.readdirSync("/mcp/servers")), fs.readFileSync(0).length === 0)`,
	} {
		g := newGuest(t, rt, waiting[rt])
		if exit := runWarm(t, b, g, code); exit.Code != 0 {
			t.Errorf("%s: exit %+v %s, want Code 0", rt, exit, &g.err)
		}
		if got := strings.NewReplacer("'", `"`, "True", "true").Replace(g.out.String()); got != "[\"x\"] [] true\n" {
			t.Errorf("%s printed %q, want %q", rt, got, "[\"x\"] [] true\n")
		}
	}
}

func TestAdoptConnectsStdin(t *testing.T) {
	b := newBackend(t)
	g := newGuest(t, sandbox.Python, waiting[sandbox.Python])
	g.Stdin = strings.NewReader("typed\n")
	if exit := runWarm(t, b, g, `print(sys.stdin.read() * 2)`); exit.Code != 0 || g.out.String() != "typed\ntyped\n\n" {
		t.Errorf("exit %+v, printed %q, want Code 0 and g.out.String() %q", exit, &g.out, "typed\ntyped\n\n")
	}
}

// Limits of the run count, not those that the guest was warmed with, be they less or more.
func TestAdoptSetsLimits(t *testing.T) {
	b := newBackend(t)
	for name, c := range map[string]struct {
		limits       sandbox.Limits
		code, out    string
		killed, hits string
	}{
		"less memory": {sandbox.Limits{Memory: 100 << 20}, `b = []
while True: b.append(bytearray(1 << 20))`, "", "memory", "memory"},
		"more memory": {sandbox.Limits{Memory: 900_000_000}, `b = bytearray(600_000_000)
for i in range(0, len(b), 4096): b[i] = 1
print("fine")`, "fine\n", "", ""},
		"processes": {sandbox.Limits{Processes: 10}, `import os, time
try:
    while True:
        if os.fork() == 0: time.sleep(60)
except OSError as e: print(e.errno, flush=True); time.sleep(3); os._exit(0)`, "11\n", "", "processes"}, // so long that the count is read before the end
		"processor time": {sandbox.Limits{CPU: time.Second}, "import os\nos.fork()\nos.fork()\nwhile True: pass", "", "cpu", "cpu"},
		"output":         {sandbox.Limits{Output: 10}, "while True: os.write(1, b'0123456')", "0123456012", "output", "output"},
		"file size, /tmp and descriptors": {sandbox.Limits{FileSize: 2 << 20, Tmp: 4 << 20, Files: 50}, `
def attempt(f):
    try:
        f(); print("ok", end=" ")
    except OSError as e:
        print(e.errno, end=" ")
def big(path, n):
    with open(path, "wb") as f:
        for _ in range(n): f.write(b"x" * (1 << 20))
attempt(lambda: big("/workspace/f", 3)); os.remove("/workspace/f")
attempt(lambda: big("/tmp/f", 1)); attempt(lambda: [big("/tmp/f%d" % i, 1) for i in range(10)])
attempt(lambda: [os.open("/dev/null", 0) for _ in range(100)])`, "27 ok 28 24 ", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGuest(t, sandbox.Python, waiting[sandbox.Python])
			g.Limits = c.limits
			exit := runWarm(t, b, g, c.code)
			if exit.Killed != c.killed || strings.Join(exit.Hit, " ") != c.hits || (exit.Code == 0) != (c.killed == "") {
				t.Errorf("exit %+v %s", exit, &g.err)
			}
			if g.out.String() != c.out {
				t.Errorf("printed %q, want g.out.String() %v", &g.out, c.out)
			}
		})
	}
}

// Nothing can be written before the run, and what the guest was started in stays out of reach.
func TestAnIdleGuestHasNothing(t *testing.T) {
	b := newBackend(t)
	g := newGuest(t, sandbox.Python, `
import socket
s = socket.socket(fileno=3); s.sendall(b"hello")
s.recv(100)
`)
	folders(t, &g.Spec)
	idle, conn := warm(t, b, g)
	defer conn.Close()
	if os.Geteuid() == 0 && b.Shape(g.Spec) != (sandbox.Shape{Runtime: sandbox.Python}) {
		t.Errorf("root cannot change a container: %+v", b.Shape(g.Spec))
	}
	if err := idle.Close(); err != nil {
		t.Error(err)
	}
}

func TestIdleGuestsEnd(t *testing.T) {
	dir := shortDir(t)
	b := newBackend(t, func(o *docker.Options) { o.RuntimeDir = dir })
	for name, end := range map[string]func(context.CancelFunc, net.Conn){
		"closed":              func(context.CancelFunc, net.Conn) {},
		"context":             func(cancel context.CancelFunc, _ net.Conn) { cancel() },
		"lost its connection": func(_ context.CancelFunc, conn net.Conn) { conn.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			g := newGuest(t, sandbox.Python, waiting[sandbox.Python])
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			idle, err := b.Warm(ctx, g.Spec)
			if err != nil {
				t.Fatal(err)
			}
			conn, err := idle.Bridge(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := conn.Read(make([]byte, 5)); err != nil {
				t.Fatal(err)
			}
			end(cancel, conn)
			if name != "closed" {
				select {
				case <-idle.Done():
				case <-time.After(30 * time.Second):
					t.Fatal("it has not ended")
				}
				p, err := idle.Adopt(t.Context(), g.Spec)
				if err == nil {
					p.Kill()
					p.Wait()
					t.Error("a dead guest was adopted")
				}
			} else if err := idle.Close(); err != nil {
				t.Error(err)
			}
			nothingLeft(t, g.ID, dir)
		})
	}
}

// After its adoption the guest belongs to the run's context alone.
func TestAdoptedGuestOutlivesItsWarmContext(t *testing.T) {
	dir := shortDir(t)
	b := newBackend(t, func(o *docker.Options) { o.RuntimeDir = dir })
	g := newGuest(t, sandbox.Python, waiting[sandbox.Python])
	warming, stopWarming := context.WithCancel(t.Context())
	defer stopWarming()
	idle, err := b.Warm(warming, g.Spec)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := idle.Bridge(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	up := newSignal()
	g.Stdout = up
	p, err := idle.Adopt(ctx, g.Spec)
	if err != nil {
		t.Fatal(err)
	}
	stopWarming()
	if _, err := fmt.Fprint(conn, "print('up', flush=True)\nwhile True: pass"); err != nil {
		t.Fatal(err)
	}
	<-up.seen
	cancel()
	if exit, err := p.Wait(); err != nil || exit.Code != 137 || exit.Killed != "" || len(exit.Hit) != 0 {
		t.Errorf(`exit %+v, %v, want Code 137, Killed "", len(exit.Hit) 0 and no error`, exit, err)
	}
	nothingLeft(t, g.ID, dir)
}

// Another run in the workspace may have put something in the place where the tree is to appear.
func TestAdoptFollowsNoLinks(t *testing.T) {
	dir := shortDir(t)
	b := newBackend(t, func(o *docker.Options) { o.RuntimeDir = dir })
	g := newGuest(t, sandbox.Python, waiting[sandbox.Python])
	folders(t, &g.Spec)
	if err := os.Symlink("/mcp/guest", filepath.Join(g.Workspace, "servers")); err != nil {
		t.Fatal(err)
	}
	spec := g.Spec
	spec.Workspace, spec.Tree, spec.Skills = "", "", ""
	if b.Shape(g.Spec) != b.Shape(spec) {
		return // the folder is looked at when the guest is started, which TestStartUndoesWhatItDid has
	}
	idle, err := b.Warm(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	p, err := idle.Adopt(t.Context(), g.Spec)
	if err == nil {
		p.Kill()
		p.Wait()
		t.Error("it was adopted")
	} else if !strings.Contains(err.Error(), "servers") {
		t.Error(err)
	}
	nothingLeft(t, g.ID, dir)
}

func BenchmarkWarm(b *testing.B) {
	backend := newBackend(b)
	for rt, code := range map[sandbox.Runtime]string{sandbox.Node: `console.log("x")`, sandbox.Python: `print("x", flush=True)`} {
		b.Run(string(rt), func(b *testing.B) {
			var all, adopting []time.Duration
			for b.Loop() {
				g := newGuest(b, rt, waiting[rt])
				up := newSignal()
				g.Stdout = up
				g.Workspace, g.Tree = b.TempDir(), b.TempDir()
				os.Chmod(g.Workspace, 0o755)
				os.Chmod(g.Tree, 0o755)
				idle, conn := warm(b, backend, g)
				time.Sleep(20 * time.Millisecond)
				began := time.Now()
				p, err := idle.Adopt(b.Context(), g.Spec)
				if err != nil {
					b.Fatal(err)
				}
				adopting = append(adopting, time.Since(began))
				if _, err := conn.Write([]byte(code)); err != nil {
					b.Fatal(err)
				}
				<-up.seen
				all = append(all, time.Since(began))
				conn.Close()
				if exit, err := p.Wait(); err != nil || exit.Code != 0 {
					b.Fatal(exit, err)
				}
			}
			slices.Sort(all)
			slices.Sort(adopting)
			b.ReportMetric(float64(all[len(all)/2].Microseconds()), "µs/first-line-p50")
			b.ReportMetric(float64(all[len(all)*95/100].Microseconds()), "µs/first-line-p95")
			b.ReportMetric(float64(adopting[len(all)/2].Microseconds()), "µs/adopt-p50")
		})
	}
}

// An engine that is slow for a moment says nothing about whether its containers can be entered.
func TestWarmByASlowEngine(t *testing.T) {
	var slow atomic.Bool
	path := front(t, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/json") && strings.Contains(r.URL.Path, "/containers/") && slow.Swap(false) {
			time.Sleep(3 * time.Second)
		}
		return false
	})
	b := newBackend(t, func(o *docker.Options) { o.Host = "unix://" + path })
	g := newGuest(t, sandbox.Python, waiting[sandbox.Python])
	before := b.Shape(g.Spec)
	slow.Store(true)
	if exit := runWarm(t, b, g, `open("f", "w").write("x")`); exit.Code != 0 {
		t.Errorf("exit %+v, want Code 0", exit)
	}
	if after := b.Shape(g.Spec); slow.Load() || after != before || after.Workspace != "" {
		t.Errorf("slow %t, shape %+v, before %+v", slow.Load(), after, before)
	}
}
