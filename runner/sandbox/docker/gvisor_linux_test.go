package docker_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/docker"
)

// TestOnGVisor runs guests of an engine that has gVisor as a runtime: Debian's, and one that .ci/tools has built from the
// Go module.
func TestOnGVisor(t *testing.T) {
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
		if err := os.WriteFile(wrapper, fmt.Appendf(nil, "#!/bin/sh\nexec %q --host-uds=open --network=none \"$@\"\n", program), 0o755); err != nil {
			t.Fatal(err)
		}
		flags = append(flags, "--add-runtime="+name+"="+wrapper)
	}
	// As most people have it: nothing about sockets.
	flags = append(flags, "--add-runtime=as-it-is="+module)
	engine := newEngine(t, flags...)
	for _, name := range []string{"debian", "module", "as-it-is"} {
		t.Run(name, func(t *testing.T) {
			b := docker.New(docker.Options{Host: engine.host(), Name: "gvisor", Runtime: name, RuntimeDir: shortDir(t)})
			defer b.Close()
			if st := b.Probe(t.Context()); !st.Usable {
				t.Fatalf("%+v", st)
			}
			g := newGuest(t, sandbox.Python, `
import os, socket
print(os.uname().release.endswith("gvisor") or os.uname().release == "4.4.0", os.getcwd())
`)
			if out := g.ok(t, b); out != "True /workspace\n" {
				t.Errorf("%q", out)
			}
			g = newGuest(t, sandbox.Node, `console.log(process.cwd())`)
			if out := g.ok(t, b); out != "/workspace\n" {
				t.Errorf("%q", out)
			}
			// gVisor knows no access control lists, through which root's folder is shared.
			g = newGuest(t, sandbox.Python, `print(open("in").read(), open("out", "w").write("kept"))`)
			g.Workspace = shortDir(t)
			if err := os.WriteFile(filepath.Join(g.Workspace, "in"), []byte("given"), 0o644); err != nil {
				t.Fatal(err)
			}
			if out := g.ok(t, b); out != "given 4\n" {
				t.Errorf("%q", out)
			}
			if text, err := os.ReadFile(filepath.Join(g.Workspace, "out")); string(text) != "kept" {
				t.Errorf("%q %v", text, err)
			}
			// Whoever runs out of processes gets an error: gVisor's kernel, which stands on the same machine, does not.
			g = newGuest(t, sandbox.Python, `
import os, time
print("running", flush=True)
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
			if out := g.ok(t, b); out != "running\nrefused True\n" {
				t.Errorf("%q", out)
			}
			g = newGuest(t, sandbox.Python, "a=[]\nwhile True: a.append(bytearray(1<<20))")
			g.Limits.Memory = 200_000_000
			if exit := g.run(t, b); exit.Killed != sandbox.LimitMemory || exit.Code != 137 {
				t.Errorf("%+v", exit)
			}
		})
	}
}
