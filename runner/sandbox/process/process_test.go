//go:build linux

package process_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/process"
)

func TestMain(m *testing.M) {
	process.Init()
	os.Exit(m.Run())
}

func backend(t testing.TB) *process.Backend {
	t.Helper()
	b := process.New(&process.Options{LookPath: exec.LookPath})
	if st := b.Probe(t.Context()); !st.Usable {
		if os.Getenv("CI") == "" {
			t.Skip(st.Detail)
		}
		t.Fatalf("not usable: %s; %s", st.Detail, st.Remedy)
	}
	return b
}

// spec returns a run whose guest program is code itself.
func spec(rt sandbox.Runtime, code string) sandbox.Spec {
	return sandbox.Spec{ID: "test", Runtime: rt, Secret: "s3cret",
		Guest: map[string][]byte{sandbox.GuestMain(rt): []byte(code)}}
}

func run(t testing.TB, b sandbox.Backend, s sandbox.Spec) (sandbox.Exit, string, string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	s.Stdout, s.Stderr = &stdout, &stderr
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p, err := b.Start(ctx, s)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	exit, err := p.Wait()
	if err != nil {
		t.Fatalf("wait: %v", err)
	}
	return exit, stdout.String(), stderr.String()
}

func TestPythonStandardLibraryWorks(t *testing.T) {
	s := spec(sandbox.Python, `
import json, ssl, sqlite3, ctypes, hashlib, zlib, bz2, lzma, decimal, asyncio, subprocess, sys, os, socket, zoneinfo, getpass, multiprocessing, concurrent.futures
print(getpass.getuser(), os.path.expanduser("~"), os.getcwd(), sys.executable, sys.prefix)
print(subprocess.run([sys.executable, "-c", "print(6*7)"], capture_output=True, text=True).stdout.strip())
with concurrent.futures.ThreadPoolExecutor(8) as ex: print(sum(ex.map(lambda x: x*x, range(10))))
async def main():
    p = await asyncio.create_subprocess_exec(sys.executable, "-c", "print('sub')", stdout=asyncio.subprocess.PIPE)
    print((await p.communicate())[0])
asyncio.run(main())
conn = socket.socket(fileno=3)
conn.sendall(b"hello")
print(sys.argv[1:], os.read(4, 100), os.read(4, 1))
print(sorted(pair.split("=")[0] for pair in open("/proc/self/environ").read().split("\0")[:-1]))
`)
	s.Args = []string{"-I", "-B", "-u"}
	exit, stdout, stderr := run(t, backend(t), s)
	if exit.Code != 0 || stderr != "" {
		t.Fatalf(`%+v %s, want Code 0 and ""`, exit, stderr)
	}
	want := "sandbox /tmp /workspace /usr/bin/python3 /usr\n42\n285\nb'sub\\n'\n" +
		"['fd:3'] b's3cret' b''\n['HOME', 'LANG', 'PATH']\n"
	if strings.ReplaceAll(stdout, "'LC_CTYPE', ", "") != want {
		t.Errorf("got %q\nwant %q", stdout, want)
	}
}

func TestNodeWorks(t *testing.T) {
	s := spec(sandbox.Node, `
import { spawnSync } from "node:child_process";
import { Worker } from "node:worker_threads";
import net from "node:net";
import fs from "node:fs/promises";
import zlib from "node:zlib";
import os from "node:os";
console.log(os.userInfo().username, process.cwd(), process.execPath);
console.log(spawnSync(process.execPath, ["-p", "6*7"]).stdout.toString().trim());
await fs.writeFile("x.txt", "data"); console.log(await fs.readFile("x.txt", "utf8"));
console.log(zlib.gzipSync("x").length > 0, new Intl.NumberFormat("de").format(1234.5));
await new Promise((ok) => new Worker("console.log('worker')", { eval: true }).on("exit", ok));
const s = new net.Socket({ fd: 3 }); s.write("hello"); s.on("data", (d) => { console.log("data " + d); s.destroy(); });
`)
	var stdout, stderr bytes.Buffer
	s.Stdout, s.Stderr = &stdout, &stderr
	p, err := backend(t).Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := p.Bridge(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.ReadFull(conn, make([]byte, 5)); err != nil {
		t.Error(err)
	}
	_, _ = conn.Write([]byte("back"))
	exit, err := p.Wait()
	want := "sandbox /workspace /usr/bin/node\n42\ndata\ntrue 1.234,5\nworker\ndata back\n"
	if err != nil || exit.Code != 0 || stdout.String() != want {
		t.Errorf("%+v %v, want Code 0, %s and no error\n%s\n%s", exit, err, want, stdout.String(), stderr.String())
	}
}

func TestWorkspaceAndTree(t *testing.T) {
	ws, tree := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(tree, "a.py"), []byte("x = 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := spec(sandbox.Python, `
print(open("servers/a.py").read(), open("/mcp/servers/a.py").read())
open("out.txt", "w").write("kept")
for f in ["servers/a.py", "servers/new", "/mcp/servers/a.py", "/mcp/guest/guest.py", "/x", "/mcp/x"]:
    try: open(f, "w"); print("wrote", f)
    except OSError: pass
`)
	s.Workspace, s.Tree = ws, tree
	exit, stdout, stderr := run(t, backend(t), s)
	if exit.Code != 0 || stdout != "x = 1\n x = 1\n\n" {
		t.Fatalf("%+v %q %s, want Code 0 and %q", exit, stdout, stderr, "x = 1\n x = 1\n\n")
	}
	if got, err := os.ReadFile(filepath.Join(ws, "out.txt")); err != nil || string(got) != "kept" {
		t.Errorf(`%q %v, want "kept" and no error`, got, err)
	}
}

func TestPlantedLinkIsNotFollowed(t *testing.T) {
	ws := t.TempDir()
	if err := os.Symlink("/tmp", filepath.Join(ws, "servers")); err != nil {
		t.Fatal(err)
	}
	s := spec(sandbox.Python, "print(1)")
	s.Workspace, s.Tree = ws, t.TempDir()
	if p, err := backend(t).Start(t.Context(), s); err == nil {
		p.Kill()
		_, _ = p.Wait()
		t.Error("a link in place of servers was accepted")
	}
}

func TestLimits(t *testing.T) {
	b := backend(t)
	s := spec(sandbox.Python, "a=[]\nwhile True: a.append(bytearray(1<<20))")
	s.Limits.Memory = 100_000_000
	if exit, _, stderr := run(t, b, s); exit.Killed != "memory" || exit.Code != 137 {
		t.Errorf(`memory: %+v %s, want Killed "memory" and Code 137`, exit, stderr)
	}
	s = spec(sandbox.Python, "while True: pass")
	s.Limits.CPU = time.Second
	if exit, _, stderr := run(t, b, s); exit.Killed != "cpu" {
		t.Errorf(`cpu: %+v %s, want Killed "cpu"`, exit, stderr)
	}
	s = spec(sandbox.Python, `
import os
n = 0
try:
    while True:
        if os.fork() == 0:
            import time; time.sleep(60); os._exit(0)
        n += 1
except OSError as e: print(n < 200, e.errno)
`)
	if exit, stdout, stderr := run(t, b, s); stdout != "True 11\n" && exit.Killed != "processes" {
		t.Errorf("processes: %+v %q %s", exit, stdout, stderr)
	}
}

// TestMemoryThatIsNotUsed: no watchdog sees reserved memory, and node ends itself when the kernel gives it no more.
func TestMemoryThatIsNotUsed(t *testing.T) {
	s := spec(sandbox.Node, `const keep = []; for (;;) keep.push(new Uint8Array(1e6));`)
	s.Limits.Memory = 200_000_000
	exit, _, stderr := run(t, backend(t), s)
	if exit.Killed != sandbox.LimitMemory || !slices.Equal(exit.Hit, []string{sandbox.LimitMemory}) {
		t.Errorf("%+v %.300s", exit, stderr)
	}
	if exit, _, _ = run(t, backend(t), spec(sandbox.Node, `process.abort()`)); exit.Killed != "" || len(exit.Hit) > 0 {
		t.Errorf(`an abort of its own: %+v, want Killed "" and len(exit.Hit) at most 0`, exit)
	}
}

// heapLimit prints how large node's heap may become, in MiB.
const heapLimit = `import v8 from "node:v8"; console.log(Math.round(v8.getHeapStatistics().heap_size_limit / (1 << 20)))`

// TestHeapFollowsTheLimit: without a flag, node's own bound would follow the machine.
func TestHeapFollowsTheLimit(t *testing.T) {
	s := spec(sandbox.Node, heapLimit)
	s.Limits.Memory = 8_000_000_000
	_, out, stderr := run(t, backend(t), s)
	if n, err := strconv.Atoi(strings.TrimSpace(out)); err != nil || n < 5700 || n > 7600 {
		t.Errorf("the heap may get to %q MiB of 7629: %s, want at least 5700, at most 7600 and no error", out, stderr)
	}
	s = spec(sandbox.Node, `const keep = []; for (;;) keep.push({ a: keep.length, b: [keep.length] });`)
	s.Limits.Memory = 150_000_000
	exit, _, stderr := run(t, backend(t), s)
	if exit.Killed != sandbox.LimitMemory || !slices.Equal(exit.Hit, []string{sandbox.LimitMemory}) {
		t.Errorf("%+v %.300s", exit, stderr)
	}
}

func BenchmarkFirstLine(b *testing.B) {
	be := backend(b)
	for rt, code := range map[sandbox.Runtime]string{sandbox.Node: "console.log(1)", sandbox.Python: "print(1)"} {
		b.Run(string(rt), func(b *testing.B) {
			for b.Loop() {
				s := spec(rt, code)
				s.Args = map[sandbox.Runtime][]string{sandbox.Python: {"-I", "-B", "-u"}, sandbox.Node: {"--enable-source-maps"}}[rt]
				w := make(first, 1)
				s.Stdout = w
				p, err := be.Start(b.Context(), s)
				if err != nil {
					b.Fatal(err)
				}
				<-w
				b.StopTimer()
				_, _ = p.Wait()
				b.StartTimer()
			}
		})
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
