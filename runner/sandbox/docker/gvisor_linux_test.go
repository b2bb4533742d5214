package docker_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/docker"
)

// TestGVisorRuntime runs guests by an engine that has gVisor as a runtime: one built from the Go module, and Debian's of 2022,
// which is too old for it.
func TestGVisorRuntime(t *testing.T) {
	t.Parallel()
	module, err := filepath.Abs("../../../build/runsc/runsc")
	if err != nil {
		t.Fatal(err)
	}
	debian, err := exec.LookPath("runsc")
	if err != nil {
		cannotRun(t, err.Error())
	}
	if _, err := os.Stat(module); err != nil {
		cannotRun(t, err.Error())
	}
	dir := shortDir(t)
	var flags []string
	for name, program := range map[string]string{"debian": debian, "module": module} {
		wrapper := filepath.Join(dir, name)
		if err := os.WriteFile(wrapper, fmt.Appendf(nil, "#!/bin/sh\nexec %q --network=none \"$@\"\n", program), 0o755); err != nil {
			t.Fatal(err)
		}
		flags = append(flags, "--add-runtime="+name+"="+wrapper)
	}
	engine := newEngine(t, flags...)
	for _, name := range []string{"debian", "module"} {
		t.Run(name, func(t *testing.T) {
			b := docker.New(docker.Options{Host: engine.host(), Name: "gvisor", Runtime: name, RuntimeDir: shortDir(t)})
			defer b.Close()
			if st := b.Probe(t.Context()); !st.Usable || !strings.Contains(st.Detail, "runtime "+name) {
				t.Fatalf("Probe() = %+v, want a usable engine and its runtime %s", st, name)
			}
			if name == "debian" {
				g := newGuest(t, sandbox.Python, "input()")
				g.Limits.CPU = time.Second
				p, err := b.Start(t.Context(), g.Spec)
				if err == nil {
					_, err = p.Wait()
				}
				if err == nil || !strings.Contains(err.Error(), "2023") {
					t.Errorf("error of an old release = %v, want one that names the first that will do", err)
				}
				return
			}
			g := newGuest(t, sandbox.Python, `
import os, socket
s = socket.socket(fileno=3); s.sendall(b"x"); s.recv(1)  # the job comes when the workspace is there
print(os.uname().release.endswith("gvisor") or os.uname().release == "4.4.0", open("in").read(), open("out", "w").write("kept"))
`)
			g.Workspace = shortDir(t)
			if err := os.WriteFile(filepath.Join(g.Workspace, "in"), []byte("given"), 0o644); err != nil {
				t.Fatal(err)
			}
			p, err := b.Start(t.Context(), g.Spec)
			if err != nil {
				t.Fatal(err)
			}
			conn, err := p.Bridge(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := conn.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			if exit, err := p.Wait(); err != nil || g.out.String() != "True given 4\n" {
				t.Errorf("exit = %+v, %v, stdout = %q, want %q\n%s", exit, err, &g.out, "True given 4\n", &g.err)
			}
			if text, err := os.ReadFile(filepath.Join(g.Workspace, "out")); string(text) != "kept" {
				t.Errorf("out = %q, %v, want %q", text, err, "kept")
			}
			if got := newGuest(t, sandbox.Node, `console.log(process.cwd())`).ok(t, b); got != "/workspace\n" {
				t.Errorf("stdout = %q, want /workspace", got)
			}
			g = newGuest(t, sandbox.Python, `
import os, time
n = 0
try:
    while n < 1000:
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
        n += 1
except BlockingIOError:
    print("refused", n <= 32)
`)
			g.Limits.Processes = 32
			if got := g.ok(t, b); got != "refused True\n" {
				t.Errorf("stdout = %q, want refused True", got)
			}
			for _, c := range []struct {
				code, limit string
				limits      sandbox.Limits
			}{
				{"a=[]\nwhile True: a.append(bytearray(1<<20))", sandbox.LimitMemory, sandbox.Limits{Memory: 200_000_000}},
				{"while True: pass", sandbox.LimitCPU, sandbox.Limits{CPU: 1e9}},
				{"import os\nos.fork()\nos.fork()\nwhile True: pass", sandbox.LimitCPU, sandbox.Limits{CPU: 1e9}},
				{"n=0\nwhile True: open(str(n),'wb').write(bytes(1<<20)); n+=1", sandbox.LimitDisk, sandbox.Limits{Disk: 20 << 20}},
			} {
				g := newGuest(t, sandbox.Python, c.code)
				g.Limits, g.Workspace = c.limits, shortDir(t)
				if exit := g.run(t, b); exit.Killed != c.limit {
					t.Errorf("%q: exit = %+v, want killed for %s\n%s", c.code, exit, c.limit, &g.err)
				}
			}
		})
	}
}
